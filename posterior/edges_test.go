package posterior

import (
	"encoding/json"
	"math"
	"os"
	"strconv"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
)

// special is a number, or one of the strings NaN, Inf and -Inf.
type special float64

func (s *special) UnmarshalJSON(text []byte) error {
	var word string
	if json.Unmarshal(text, &word) != nil {
		word = string(text)
	}
	v, err := strconv.ParseFloat(word, 64)
	*s = special(v)
	return err
}

// Discrete, short, constant, infinite, missing, stuck and antithetic draws,
// as R's posterior treats them; testdata/edges.R wrote the file.
func TestEdgesAgreeWithR(t *testing.T) {
	text := must.Get(os.ReadFile("testdata/edges.json"))(t)
	var file struct {
		Cases []struct {
			Name    string
			Draws   [][]special
			Results map[string]*special
		}
	}
	must.Do(t, json.Unmarshal(text, &file))
	diagnostics := map[string]func(*Column) float64{
		"rhat": (*Column).RHat, "ess_bulk": (*Column).ESSBulk, "ess_tail": (*Column).ESSTail, "ess_mean": (*Column).ESSMean, "ess_sd": (*Column).ESSSD,
		"mcse_mean": (*Column).MCSEMean, "mcse_sd": (*Column).MCSESD,
		"q0":        func(c *Column) float64 { return c.ESSQuantile(0) },
		"q0.3":      func(c *Column) float64 { return c.ESSQuantile(0.3) },
		"q1":        func(c *Column) float64 { return c.ESSQuantile(1) },
		"mcse_q0.3": func(c *Column) float64 { return c.MCSEQuantile(0.3) },
	}
	for _, c := range file.Cases {
		x := make([][]float64, len(c.Draws))
		for i, chain := range c.Draws {
			for _, v := range chain {
				x[i] = append(x[i], float64(v))
			}
		}
		for name, want := range c.Results {
			if got := diagnostics[name](Of(x)); !near(got, (*float64)(want)) {
				t.Errorf("%s: %s is %.15g, R has %v", c.Name, name, got, show((*float64)(want)))
			}
		}
	}
}

func TestTooLittleIsNaN(t *testing.T) {
	for _, x := range [][][]float64{nil, {{}}, {{1}, {2}}, {{1, 2}}, {{1, 2, 4}, {3, 1, 2}}} {
		for i, got := range []float64{Of(x).RHat(), Of(x).ESSBulk(), Of(x).ESSTail(), Of(x).ESSMean(), Of(x).ESSSD(), Of(x).MCSEMean(), Of(x).MCSESD(), Of(x).MCSEQuantile(0.5)} {
			if !math.IsNaN(got) {
				t.Errorf("%v: diagnostic %d is %v", x, i, got)
			}
		}
	}
}
