package table

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/schema"
)

// BenchmarkCSV reads 10000 rows of ten columns, of which three are parsed.
func BenchmarkCSV(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	var text strings.Builder
	text.WriteString("a,b,c,d,e,f,g,h,i,j\n")
	for range 10000 {
		for j := range 10 {
			if j > 0 {
				text.WriteByte(',')
			}
			fmt.Fprintf(&text, "%.3f", 100*rng.Float64())
		}
		text.WriteByte('\n')
	}
	column := func(name string) schema.Column { return schema.Column{Name: name, Lower: 0, Upper: 100} }
	d := &schema.Design{Response: column("j"), Covariates: []schema.Column{column("b"), column("e")}, Intercept: true}
	b.SetBytes(int64(text.Len()))
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range (Options{}).CSV(strings.NewReader(text.String()), "data.csv", d) {
			must.Do(b, err)
		}
	}
}
