package dpreg_test

import (
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/ssp"
)

// The study of fit quality in docs/bounds-auto.md. It takes some minutes:
//
//	go test . -run BoundsQuality -bounds.releases 20 -v -timeout 2h
var boundsReleases = flag.Int("bounds.releases", 0, "releases in each line of the study of fit quality in docs/bounds-auto.md")

// TestBoundsQuality prints, for slopes of real data, what releases with public bounds
// and with private ones say beside what the rows say. The noise is simulated: release
// k of a line has that of PCG(77, k).
func TestBoundsQuality(t *testing.T) {
	if *boundsReleases == 0 {
		t.Skip("-bounds.releases is 0")
	}
	for _, c := range []struct {
		file, formula string
		epsilon       float64
	}{
		{"pums10000", "income ~ age + educ + married", 2},
		{"pums10000", "income ~ age + educ + married", 10},
		{"pums", "income ~ age + educ + married", 20},
		{"wine-red", "quality ~ alcohol + `volatile acidity` + sulphates", 10},
		{"abalone", "rings ~ diameter + shucked + shell", 5},
		{"abalone", "rings ~ diameter + shucked + shell", 20},
		{"adult", "above50k ~ age + education + hours + gain", 1},
		{"adult", "above50k ~ age + education + hours + gain", 5},
	} {
		t.Run(fmt.Sprintf("%s-%v", c.file, c.epsilon), func(t *testing.T) { boundsQuality(t, c.file, c.formula, c.epsilon) })
	}
}

func boundsQuality(t *testing.T, file, formula string, epsilon float64) {
	e := open(t, file, formula, nil)
	raw := open(t, file, formula, func(d *schema.Design) {
		d.Response.Lower, d.Response.Upper = -1e7, 1e7 // nothing is clamped
		for j := range d.Covariates {
			d.Covariates[j].Lower, d.Covariates[j].Upper = -1e7, 1e7
		}
	})
	for _, row := range raw.rows {
		for j, x := range row {
			row[j] = math.Round(x*1e6) / 1e6 // as it was before it was scaled
		}
	}
	exact := must.Get(dpreg.NonPrivate(context.Background(), e.statistics, e.design, dpreg.Options{}))(t)
	truth := exact.Summary(dpreg.Original, 0.95).Parameters
	public, private := make([][]posterior.Parameter, len(truth)), make([][]posterior.Parameter, len(truth))
	for k := range *boundsReleases {
		for _, found := range []bool{false, true} {
			noise := mechanisms.Simulated(rand.New(rand.NewPCG(77, uint64(k))))
			p := release.Privacy{Epsilon: epsilon, Neighbours: release.ReplaceOne}
			into, r := public, (*release.Release)(nil)
			if found {
				into, r = private, raw.withinBounds(t, p, noise)
			} else {
				r = must.Get(ssp.Publish(context.Background(), e.statistics, e.design, p, release.Laplace, ssp.Exact, noise))(t)
			}
			fit := must.Get(dpreg.Infer(context.Background(), dpreg.One(r), dpreg.Options{}))(t)
			for j, s := range fit.Summary(dpreg.Original, 0.95).Parameters[:len(e.design.Covariates)+1] {
				into[j] = append(into[j], s)
			}
		}
	}
	for j := 1; j <= len(e.design.Covariates); j++ {
		u := truth[j]
		line := fmt.Sprintf("| %s, ε = %v | %s | %.3g", file, epsilon, u.Label, u.Mean)
		for _, fits := range [][]posterior.Parameter{public[j], private[j]} {
			line += " |" + qualityOf(fits, u)
		}
		t.Log(line + " |")
	}
}

// withinBounds is the release of the rows with bounds found with a tenth of ε.
func (e example) withinBounds(t *testing.T, p release.Privacy, noise *mechanisms.Entropy) *release.Release {
	t.Helper()
	b := release.Bounds{Method: release.AutoBounds, Epsilon: p.Epsilon / 10}
	for _, c := range e.design.Columns() {
		b.Columns = append(b.Columns, c.Name)
	}
	h := ssp.NewMagnitudes(len(b.Columns))
	for _, row := range e.rows {
		must.Do(t, h.Add(row))
	}
	enough := must.Get(ssp.CalibrateBounds(len(b.Columns), b.Epsilon, p.Neighbours))(t)
	if h.N() < enough.Rows {
		t.Fatalf("%d rows are too few: %d are needed", h.N(), enough.Rows)
	}
	found := must.Get(h.Bounds(b.Columns, b.Epsilon, p.Neighbours, noise))(t)
	d := must.Get(e.design.WithBounds(found))(t)
	a, scaled := ssp.NewAccumulator(len(b.Columns)), make([]float64, len(b.Columns))
	for _, row := range e.rows {
		d.Frame().Scale(scaled, row)
		must.Do(t, a.AddRows(scaled))
	}
	r := must.Get(ssp.Publish(context.Background(), a.Statistics(), d, ssp.AfterBounds(p, b.Epsilon), release.Laplace, ssp.Exact, noise))(t)
	r = must.Get(r.WithBounds(b, p.Epsilon))(t)
	return r
}

// qualityOf are the median estimate, the median width of the intervals over that
// without noise, and how many hold the estimate without noise.
func qualityOf(fits []posterior.Parameter, u posterior.Parameter) string {
	var estimates, widths []float64
	held := 0
	for _, f := range fits {
		estimates = append(estimates, f.Mean)
		widths = append(widths, (f.Upper-f.Lower)/(u.Upper-u.Lower))
		if f.Lower <= u.Mean && u.Mean <= f.Upper {
			held++
		}
	}
	median := func(x []float64) float64 {
		slices.Sort(x)
		return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
	}
	return fmt.Sprintf(" %.3g | × %.1f | %d", median(estimates), median(widths), held)
}
