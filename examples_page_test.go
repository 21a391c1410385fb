package dpreg_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/release"
)

const examplesPage = "docs/examples.md"

// The examples of docs/examples.md, in its order.
var examples = []struct{ file, formula string }{
	{"pums", "income ~ age + educ + married"},
	{"pums10000", "income ~ age + educ + married"},
	{"diabetes", "progression ~ bmi + bp + s5"},
}

// TestPrintedExamples infers from each example without noise and from simulated
// releases, the k-th of the page with noise from PCG(2026, k), as dpreg infer does.
func TestPrintedExamples(t *testing.T) {
	testsize.Full(t, "whole runs")
	k := uint64(0)
	for _, x := range examples {
		e := open(t, x.file, x.formula, nil)
		exact := must.Get(dpreg.NonPrivate(context.Background(), e.statistics, e.design, dpreg.Options{}))(t)
		fits := []fitted{fittedOf("none | –", exact)}
		for _, p := range []release.Privacy{{Epsilon: 1}, {Epsilon: 1, Delta: 1e-6}} {
			k++
			p.Neighbours = release.ReplaceOne
			r := must.Get(e.publish(t.Context(), p, custody.AutoSteps, rand.NewPCG(2026, k)))(t)
			fit := must.Get(dpreg.Infer(context.Background(), dpreg.One(r), dpreg.Options{}))(t)
			if ok, reason := fit.Converged(); !ok {
				t.Errorf("%s, ε = %v: %s", x.file, p.Epsilon, reason)
			}
			label := fmt.Sprintf("ε = %v", p.Epsilon)
			if p.Delta > 0 {
				label += ", δ = 10⁻⁶"
			}
			fits = append(fits, fittedOf(fmt.Sprintf("%s | %d", label, len(r.Looks())), fit))
		}
		commands := fmt.Sprintf("```sh\ndpreg fit --eps 1 --formula '%s' testdata/%s.csv\n```\n\n", x.formula, x.file)
		generated(t, examplesPage, x.file, commands+exampleTable(fits))
	}
}

// fitted is a fit with what its lines of a table need.
type fitted struct {
	label    string
	original *posterior.Summary
}

func fittedOf(label string, f *dpreg.Fit) fitted {
	return fitted{label, f.Summary(dpreg.Original, 0.95)}
}

// exampleTable has a line for each coefficient but the intercept and each fit, the first
// of which is the yardstick of widths.
func exampleTable(fits []fitted) string {
	var b strings.Builder
	b.WriteString("| | noise | looks | Estimate | 95 % interval | its width | The release says |\n|---|---|---|---|---|---|---|\n")
	q := slices.IndexFunc(fits[0].original.Parameters, func(p posterior.Parameter) bool { return p.Name == "sigma2" })
	for j := 1; j < q; j++ {
		u := fits[0].original.Parameters[j]
		places := max(0, 1-int(math.Floor(math.Log10(u.SD)))) // two digits of the sd without noise
		for _, f := range fits {
			p := f.original.Parameters[j]
			fmt.Fprintf(&b, "| %s | %s | %.*f | %.*f…%.*f | %.1f | %s |\n", p.Label, f.label,
				places, p.Mean, places, p.Lower, places, p.Upper, (p.Upper-p.Lower)/(u.Upper-u.Lower), saysOf(p))
		}
	}
	return strings.ReplaceAll(b.String(), " -0.00 ", " 0.00 ")
}

// saysOf puts a slope into words: nothing, where its contraction is below a tenth; next to
// nothing, below a half and no sign.
func saysOf(p posterior.Parameter) string {
	switch {
	case *p.Contraction < 0.1:
		return "nothing"
	case p.Lower > 0:
		return "above 0"
	case p.Upper < 0:
		return "below 0"
	case *p.Contraction < 0.5:
		return "next to nothing"
	}
	return "sign open"
}
