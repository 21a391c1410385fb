package table

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/schema"
)

// colours describes testdata/modelmatrix.csv.
const colours = `{"fields":[
	{"name":"age","type":"number","constraints":{"minimum":0,"maximum":1}},
	{"name":"colour","type":"string","constraints":{"enum":["red","green","dark blue"]}},
	{"name":"size","type":"string","constraints":{"enum":["S","M","L","10"]}},
	{"name":"y","type":"number","constraints":{"minimum":-1,"maximum":1}}]}`

func coloursDesign(t *testing.T, formula string) *schema.Design {
	t.Helper()
	s := must.Get(schema.ReadSchema(strings.NewReader(colours), "colours"))(t)
	d, err := s.Design(formula)
	if err != nil {
		t.Fatalf("%s: %v", formula, err)
	}
	return d
}

// Names, order and values of the columns are those of R's model.matrix.
func TestModelMatrix(t *testing.T) {
	want := must.Get(os.ReadFile("testdata/modelmatrix.txt"))(t)
	data := must.Get(os.ReadFile("testdata/modelmatrix.csv"))(t)
	source, _, _ := strings.Cut(string(want), "\n")
	got := source + "\n"
	formulas := 0
	for line := range strings.Lines(string(want)) {
		if strings.HasPrefix(line, "y ~") {
			got += line + modelMatrix(t, data, coloursDesign(t, strings.TrimSpace(line)))
			formulas++
		}
	}
	if formulas == 0 || got != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// modelMatrix writes a model matrix as modelmatrix.R does.
func modelMatrix(t *testing.T, data []byte, d *schema.Design) string {
	t.Helper()
	var out strings.Builder
	var labels []string
	if d.Intercept {
		labels = append(labels, "(Intercept)")
	}
	for _, c := range d.Covariates {
		labels = append(labels, c.Name)
	}
	fmt.Fprintln(&out, strings.Join(labels, ","))
	frame, row := d.Frame(), make([]float64, len(d.Covariates)+1)
	for scaled, err := range (Options{}).CSV(bytes.NewReader(data), "modelmatrix.csv", d) {
		must.Do(t, err)
		for j, v := range scaled {
			row[j] = frame.Centre[j] + float64(frame.Half[j]*v)
		}
		var cells []string
		if d.Intercept {
			cells = append(cells, "1")
		}
		for _, v := range row[:len(row)-1] {
			cells = append(cells, fmt.Sprint(v))
		}
		fmt.Fprintln(&out, strings.Join(cells, ","))
	}
	return out.String()
}
