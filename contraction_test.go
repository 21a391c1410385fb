package dpreg

import (
	"math"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/conjugate"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/reference"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/internal/variate"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/model/modeltest"
	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/schema"
)

// asDrawn is a fit whose posterior are n draws of the prior's, with σ² taken times by, and θ
// with it where its prior is.
func asDrawn(t *testing.T, prior *model.Prior, n int, by float64, partial bool) *Fit {
	t.Helper()
	column := func(name string, low, high float64) schema.Column {
		return schema.Column{Name: name, Lower: low, Upper: high}
	}
	f := &Fit{Design: &schema.Design{Response: column("y", 0, 50), Covariates: []schema.Column{column("x", 10, 30), column("w", -1, 3)}, Intercept: true}, Prior: prior, problem: model.Problem{PartialPooling: partial}}
	shape, rng := f.shape(), mcmc.Stream(7, 0)
	joint := &model.Joint{Shape: shape, Shared: true, Partial: partial}
	if partial {
		f.Custodians = make([]Custodian, 2)
		joint.Sites = []*model.Site{{Observation: &model.Observation{}}, {Observation: &model.Observation{}}}
	}
	draws := &posterior.Draws{Names: joint.Names(), Chains: make([][]float64, 1)}
	conditionals, x, spread := model.NewConditionals(shape, prior, true), model.NewParams(shape), model.NewSpread(shape.Q(), nil)
	mixture, phi := model.NewMixture(prior), make([]float64, spread.Dim())
	for range n {
		conditionals.DrawPrior(x, rng)
		if !prior.Unscaled {
			mixture.DrawPrior(rng)
			sampler := conjugate.NewNIGSampler(shape.Q())
			sampler.Set(mixture.Theta)
			x.Sigma2 = sampler.Rand(x.Theta, rng)
		}
		x.Sigma2 *= by
		for k := range x.Theta {
			if !prior.Unscaled {
				x.Theta[k] *= math.Sqrt(by)
			}
		}
		row := make([]float64, len(draws.Names))
		at := x.Write(row)
		if partial {
			spread.DrawPrior(phi, rng)
			at += spread.Write(row[at:])
			for range f.Custodians {
				spread.Draw(row[at:at+shape.Q()+1], append(append([]float64{}, x.Theta...), math.Log(x.Sigma2)), rng)
				at += shape.Q() + 1
				row[at-1] = math.Exp(0.5 * row[at-1])
			}
		}
		draws.Chains[0] = append(draws.Chains[0], row...)
	}
	return must.Get(f.with(draws))(t)
}

func contractions(f *Fit, u Units) map[string]float64 {
	all, prior := posterior.Summarise(f.Draws(u), 0.95).Parameters, f.priorWidths[u]()
	of := make(map[string]float64)
	for i := range all {
		all[i].Contract(prior[i])
		of[all[i].Name] = *all[i].Contraction
	}
	return of
}

// Where the release said nothing, and the posterior is the prior, nothing is contracted; where it
// said of σ alone, that is, and not θ, whose prior σ scales. Units matter to an intercept alone. The
// interquartile range of N draws has a standard error of at most 2.8/√N of itself, that of T_jj
// here; of two, with N = 40,000 and 10,000, and doubled by the square, 0.063.
func TestContraction(t *testing.T) {
	testsize.Full(t, "TestContractionOfNormal has a law that is known")
	shape := model.Shape{P: 2, Intercept: true}
	for name, c := range map[string]struct {
		prior   *model.Prior
		by      float64
		partial bool
	}{
		"default":                 {model.DefaultPrior(shape), 1, false},
		"shared spread":           {modeltest.SharedSpread(shape), 1, false},
		"scaled by σ":             {modeltest.ScaledBySigma(shape), 1, false},
		"partial pooling":         {model.DefaultPrior(shape), 1, true},
		"default, σ known":        {model.DefaultPrior(shape), 1e-4, false},
		"scaled by σ, σ known":    {modeltest.ScaledBySigma(shape), 1e-4, false},
		"partial pooling, scaled": {modeltest.ScaledBySigma(shape), 1, true},
	} {
		f := asDrawn(t, c.prior, 40_000, c.by, c.partial)
		scaled := contractions(f, Scaled)
		for units, of := range map[Units]map[string]float64{Scaled: scaled, Original: contractions(f, Original)} {
			for parameter, got := range of {
				want := 0.0
				switch parameter {
				case "sigma", "sigma_at[1]", "sigma_at[2]":
					want = 1 - c.by
				case "sigma2":
					want = 1 - c.by*c.by
				}
				if !(math.Abs(got-want) <= 0.3*(1-want)) {
					t.Errorf("%s, %s %s: %.3f, want %.3f", name, units, parameter, got, want)
				}
				if !strings.Contains(parameter, "[0]") && !strings.HasSuffix(parameter, ",0]") && !(math.Abs(got-scaled[parameter]) <= 1e-9) {
					t.Errorf("%s, %s %s: %v, scaled %v", name, units, parameter, got, scaled[parameter])
				}
			}
		}
	}
}

// A prior that leaves σ and free scales out of θ has its width in closed form.
func TestContractionOfNormal(t *testing.T) {
	f := asDrawn(t, model.DefaultPrior(model.Shape{P: 2, Intercept: true}), 40, 1, false)
	for k, sd := range []float64{5, 2.5, 2.5} {
		if got, want := f.priorWidths[Scaled]()[k], posterior.NormalIQR*sd; math.Abs(got-want) > 1e-9 {
			t.Errorf("coefficient %d: %v instead of %v", k, got, want)
		}
	}
	// the root of an inverse gamma variate of ½ and ½, 1/|z|, times a normal one: Cauchy
	rng, sds := mcmc.Stream(1, 0), make([]float64, 100_000)
	for i := range sds {
		sds[i] = math.Sqrt(variate.InverseGamma(0.5, 0.5, rng))
	}
	if got := reference.Quantile(0.75, sds); math.Abs(got-1) > 0.02 {
		t.Errorf("quartile of a Cauchy law: %v", got)
	}
}
