package dpreg_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

// TestFamilyPooledPartially compares the posterior of ten custodians' sums, next to without noise, with that of their rows by
// plain Metropolis: slopes and intercepts of each, the common ones and their spread. Sums tell less than rows: 3000
// effective draws have an sd 1.18 times theirs of the steepest slope, and 0.99 to 1.05 of the others.
func TestFamilyPooledPartially(t *testing.T) {
	testsize.Full(t, "TestPooledFamilySBC is of the same law")
	const custodians, n = 8, 300
	d, rng, of := design01(schema.Column{Name: "x", Lower: -4, Upper: 4}), rand.New(rand.NewPCG(4, 11)), model.Binomial
	var all []dpreg.Custodian
	h := &hierarchy{of: of, most: 1}
	for j := range custodians {
		alpha, beta := 0.2+0.6*rng.NormFloat64(), 0.4+0.4*rng.NormFloat64()
		var rows [][3]float64
		at := make(map[[2]float64]int)
		r := sumsOf01(d, n, func(row []float64) {
			row[0] = math.Round(5*rng.NormFloat64()) / 5
			row[1] = of.Draw(alpha+beta*row[0], 1, rng)
			i, seen := at[[2]float64(row)]
			if !seen {
				i = len(rows)
				at[[2]float64(row)], rows = i, append(rows, [3]float64{row[0], row[1]})
			}
			rows[i][2]++
		})
		r.Noise.Scale = 0.7 // a twentieth of what the choice of rows adds
		all, h.rows = append(all, dpreg.Custodian{Name: fmt.Sprint(j), Release: r}), append(h.rows, rows)
	}
	prior := of.BoxPrior(model.Shape{P: 1, Intercept: true})
	fit := must.Get(dpreg.Infer(t.Context(), all, dpreg.Options{Family: of, Prior: prior, Pooling: dpreg.PartialPooling, Plan: mcmc.Plan{Chains: 2, Warmup: 300, Draws: 1000, Seed: 1}}))(t)
	for k := range h.sd {
		h.sd[k] = 1 / math.Sqrt(prior.Theta.Precision[k*3])
	}
	h.sd[1] /= 4 // by the data's unit of x
	want := h.sample(5000, rng)
	for _, p := range fit.Summary(dpreg.Original, 0.95).Parameters {
		mean, sd := meanSD(want[p.Name])
		if !(math.Abs(p.Mean-mean) < 0.25*sd && math.Abs(p.SD/sd-1) < 0.25) {
			t.Errorf("%s is %.3f ± %.3f, of rows %.3f ± %.3f", p.Name, p.Mean, p.SD, mean, sd)
		}
	}
}

// hierarchy is the model of rows, α_j and β_j normal about common ones, in the data's units.
type hierarchy struct {
	of   model.Family
	most float64
	rows [][][3]float64 // rows that differ, and how many there are of each
	sd   [2]float64     // of the common ones, a priori
}

// logSpread is the log density of (α_j, β_j) about the centre, with the prior of the spread, τ half-normal, of sd 1 and 0.7
// by the sd of x, which is 1, and ρ of density ∝ 1 − ρ², in (log τ, log τ, artanh ρ).
func (h *hierarchy) logSpread(centre [2]float64, own [][2]float64, spread [3]float64) (logp float64) {
	t0, t1, rho := math.Exp(spread[0]), math.Exp(spread[1]), math.Tanh(spread[2])
	rest := 1 - rho*rho
	logp = spread[0] + spread[1] - 0.5*t0*t0 - 0.5*t1*t1/(0.7*0.7) + 2*math.Log(rest)
	for _, w := range own {
		u, v := (w[0]-centre[0])/t0, (w[1]-centre[1])/t1
		logp -= 0.5*(u*u-2*rho*u*v+v*v)/rest + spread[0] + spread[1] + 0.5*math.Log(rest)
	}
	return logp
}

func (h *hierarchy) logRows(j int, w [2]float64) (logp float64) {
	for _, row := range h.rows[j] {
		logp += row[2] * h.of.LogProb(row[1], w[0]+w[1]*row[0], h.most)
	}
	return logp
}

// sample takes sweeps of Metropolis, one parameter after another.
func (h *hierarchy) sample(sweeps int, rng *rand.Rand) map[string][]float64 {
	var centre [2]float64
	var spread [3]float64
	own, rows, out := make([][2]float64, len(h.rows)), make([]float64, len(h.rows)), make(map[string][]float64)
	for j := range own {
		rows[j] = h.logRows(j, own[j])
	}
	move := func(x *float64, size float64, density func() float64) {
		before, old := density(), *x
		if *x += size * rng.NormFloat64(); rng.Float64() >= math.Exp(density()-before) {
			*x = old
		}
	}
	common := func() float64 {
		u, v := centre[0]/h.sd[0], centre[1]/h.sd[1]
		return h.logSpread(centre, own, spread) - 0.5*u*u - 0.5*v*v
	}
	keep := func(name string, v float64) { out[name] = append(out[name], v) }
	for sweep := range sweeps {
		for range 3 {
			for k := range centre {
				move(&centre[k], 0.3, common)
			}
			for k := range spread {
				move(&spread[k], 0.5, common)
			}
		}
		for j := range own {
			for k := range 2 {
				at := 0.0
				move(&own[j][k], 0.3, func() float64 {
					at = h.logRows(j, own[j])
					return at + h.logSpread(centre, own[j:j+1], spread)
				})
			}
		}
		if sweep < sweeps/10 {
			continue
		}
		for k, v := range centre {
			keep(fmt.Sprintf("theta[%d]", k), v)
			keep(fmt.Sprintf("spread[%d]", k), math.Exp(spread[k]))
		}
		for j, w := range own {
			keep(fmt.Sprintf("theta_at[%d,0]", j+1), w[0])
			keep(fmt.Sprintf("theta_at[%d,1]", j+1), w[1])
		}
	}
	return out
}

// TestFamilySameRows: two releases of the same rows, with noise that leaves slopes wide, have the posterior of one with their
// mean and noise of 1/√2; noise of Laplace's law that of as much. Sds of 800 draws are known to a twentieth.
func TestFamilySameRows(t *testing.T) {
	d, rng := design01(schema.Column{Name: "x", Lower: -4, Upper: 4}), rand.New(rand.NewPCG(4, 12))
	sums := sumsOf01(d, 1000, func(row []float64) {
		row[0] = rng.NormFloat64()
		row[1] = model.Binomial.Draw(0.2+0.5*row[0], 1, rng)
	})
	noisy := func(kind release.Kind, scale float64, by ...float64) *release.Release {
		r, z := *sums, sums.Statistics.Vector()
		for i := range z {
			z[i] += by[i]
		}
		r.Noise, r.Statistics = release.Noise{Kind: kind, Scale: scale}, release.StatisticsFromVector(2, z)
		return &r
	}
	var first, second, mean []float64
	for range release.Length(2) {
		a, b := 10*rng.NormFloat64(), 10*rng.NormFloat64()
		first, second, mean = append(first, a), append(second, b), append(mean, 0.5*(a+b))
	}
	plan := mcmc.Plan{Chains: 2, Warmup: 300, Draws: 1000, Seed: 1}
	infer := func(releases ...*release.Release) []posterior.Parameter {
		var all []dpreg.Custodian
		for k, r := range releases {
			all = append(all, dpreg.Custodian{Name: fmt.Sprint(k), Release: r})
		}
		fit := must.Get(dpreg.Infer(t.Context(), all, dpreg.Options{Family: model.Binomial, SameRows: len(all) > 1, Plan: plan}))(t)
		return fit.Summary(dpreg.Original, 0.95).Parameters[:2]
	}
	want := infer(noisy(release.Gaussian, 10/math.Sqrt2, mean...))
	for _, kind := range []release.Kind{release.Gaussian, release.Laplace} {
		scale, close := 10.0, 0.25
		if kind == release.Laplace {
			scale, close = 10/math.Sqrt2, 0.6
		}
		for k, p := range infer(noisy(kind, scale, first...), noisy(kind, scale, second...)) {
			if !(math.Abs(p.Mean-want[k].Mean) < close*want[k].SD && math.Abs(p.SD/want[k].SD-1) < close) {
				t.Errorf("%s: %s is %.3f ± %.3f, of one %.3f ± %.3f", kind, p.Label, p.Mean, p.SD, want[k].Mean, want[k].SD)
			}
		}
	}
}

// TestFamilyContradictions: of three custodians whose covariate lies elsewhere, one whose slope is another's opposite is
// named, and none where all have the same; by one look, by the levels of a factor and by those of the response.
func TestFamilyContradictions(t *testing.T) {
	testsize.Full(t, "TestLine of package agree has the law")
	for name, c := range map[string]struct {
		of model.Family
		by string
	}{"binomial": {model.Binomial, ""}, "binomial by y": {model.Binomial, "y"}, "binomial by f": {model.Binomial, "f"}, "poisson": {model.Poisson, ""}, "poisson by f": {model.Poisson, "f"}} {
		for _, last := range []float64{0.5, -0.5} {
			rng := rand.New(rand.NewPCG(2, 9))
			var custodians []dpreg.Custodian
			for j, slope := range []float64{0.5, 0.5, last} {
				d := design01(schema.Column{Name: "u", Lower: -5, Upper: 5})
				d.Response.Type = "boolean"
				if c.of == model.Poisson {
					d.Response = schema.Column{Name: "y", Upper: 12}
				}
				used := &d
				if c.by == "f" {
					d.Factors = []schema.Factor{{Name: "f", Levels: []string{"a", "b"}}}
					d.Covariates = append(d.Covariates, schema.Column{Name: "fb", Upper: 1, Factor: "f", Level: "b"})
					leveled, _, err := release.LevelsFirst(&d, "f")
					must.Do(t, err)
					used = leveled
				}
				var flat []float64
				for i := range 3000 {
					level, x := 2*float64(i%3/2)-1, rng.NormFloat64()+0.5*float64(j)
					eta := slope*x - 0.4
					if c.by == "f" {
						eta += 0.3 * level
						flat = append(flat, level)
					}
					flat = append(flat, max(-1, min(1, x/5)), 2*c.of.Draw(eta, d.Response.Upper, rng)/d.Response.Upper-1)
				}
				custodians = append(custodians, dpreg.Custodian{Name: fmt.Sprint(j), Release: publishGrouped(t, used, flat, c.by, 1, replaced(3), rng)})
			}
			fit := must.Get(dpreg.Infer(t.Context(), custodians, dpreg.Options{Family: c.of, Plan: mcmc.Plan{Chains: 2, Warmup: 200, Draws: 200}}))(t)
			if s := fit.Summary(dpreg.Original, 0.9); s.Releases[2].Contradicts != (last < 0) || strings.Contains(strings.Join(s.Warnings, " "), "complete pooling does not hold") != (last < 0) {
				t.Errorf("%s, last slope %g: warnings %q", name, last, s.Warnings)
			}
		}
	}
}
