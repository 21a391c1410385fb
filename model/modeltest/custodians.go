package modeltest

import (
	"math"
	"math/rand/v2"

	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/release"
)

// Custodians is the model of several releases as a whole: shared parameters from the
// prior, each custodian's covariates and, where Partial, (θ_j, σ_j), statistics of its
// rows by their exact law, noise in units of its own.
type Custodians struct {
	Shape           model.Shape
	Prior           *model.Prior // nil: TamePrior
	Sites           []Custodian
	Shared, Partial bool
	Counts          bool // n is latent: whole, uniform from m + 1 to 2N, its noise of scale 3

	// Sums writes the statistics of n rows; nil: by their exact law.
	Sums func(obs *model.Observation, law *model.Moments, n float64, rng *rand.Rand)
}

// Custodian is one of them.
type Custodian struct {
	N      float64
	Kind   release.Kind
	Scale  float64
	Units  float64 // of its box, as a part of common units; its middle is off by a quarter of the rest
	Tilted bool    // its statistics are in Frame
}

// Unequal are custodians that differ in rows, noise and units; the sums of the last two are in
// a frame.
func Unequal(j int) []Custodian {
	return []Custodian{{60, release.Laplace, 5, 1, false}, {25, release.Gaussian, 3, 0.6, true}, {150, release.Ball, 6, 0.8, true}}[:j]
}

// Draw returns parameters in the order of the problem's names, and the problem. A
// whole n has a uniform part of ±½ added, as the continuous one that it is compared with.
func (c *Custodians) Draw(rng *rand.Rand) (truth []float64, problem *model.Joint) {
	prior := c.Prior
	if prior == nil {
		prior = TamePrior(c.Shape)
	}
	problem = &model.Joint{Shape: c.Shape, Prior: prior, Shared: c.Shared, Partial: c.Partial}
	conditionals := model.NewConditionals(c.Shape, prior, true)
	own, law := model.NewParams(c.Shape), model.NewMoments(c.Shape)
	conditionals.DrawPrior(own, rng)
	hub := model.NewHub(&model.Joint{Shape: c.Shape, Prior: prior, Shared: true, Partial: c.Partial})
	shared, drawn := model.NewParams(c.Shape), make([]float64, c.Shape.Q()+1)
	shared.Copy(own)
	coordinates := make([]float64, hub.Dim())
	hub.Unconstrain(coordinates, shared)
	if c.Partial {
		hub.Spread.DrawPrior(coordinates[hub.Dim()-hub.Spread.Dim():], rng)
	}
	hub.Constrain(coordinates)
	var coefficients, counts []float64
	for _, site := range c.Sites {
		obs, n := c.observe(site, rng)
		units := c.units(site)
		for ok := false; !ok; ok = law.Factor() {
			if !c.Shared {
				conditionals.DrawPrior(own, rng)
			}
			copy(drawn, hub.Centre)
			if c.Partial {
				hub.Spread.Draw(drawn, hub.Centre, rng)
			}
			own.Sigma2 = math.Exp(drawn[copy(own.Theta, drawn)])
			law.Set(own)
			units.Moments(law.Mean, law.Cov)
		}
		if c.Sums != nil {
			c.Sums(obs, law, n, rng)
		} else {
			law.RandExact(obs.Z, n, rng)
		}
		obs.AddNoise(obs.Z, 1, rng)
		problem.Sites = append(problem.Sites, &model.Site{Observation: obs, Units: units})
		coefficients, counts = append(append(coefficients, own.Theta...), math.Sqrt(own.Sigma2)), append(counts, n+rng.Float64()-0.5)
	}
	truth = make([]float64, len(problem.Names()))
	hub.Params.Write(truth)
	at := c.Shape.Q() + 1
	if c.Shared {
		at = len(c.Shape.Names())
	}
	if c.Partial {
		at += hub.Spread.Write(truth[at:])
		at += copy(truth[at:], coefficients)
	}
	if c.Counts {
		copy(truth[at:], counts)
	}
	return truth, problem
}

// observe is what is known of a release before its statistics, and its number of rows.
func (c *Custodians) observe(site Custodian, rng *rand.Rand) (*model.Observation, float64) {
	q := c.Shape.Statistics()
	obs := &model.Observation{Shape: c.Shape, N: site.N, Kind: site.Kind, Z: make([]float64, q), Scale: make([]float64, q)}
	if site.Tilted {
		tilt(obs)
	}
	scales(obs, site.Scale)
	if !c.Counts {
		return obs, site.N
	}
	one := Simulation{Shape: c.Shape, N: site.N, Kind: site.Kind, Count: 3}
	n := one.rows(&obs.Count, rng)
	obs.N = obs.Count.Noisy
	return obs, n
}

func (c *Custodians) units(site Custodian) *model.Units {
	m := c.Shape.M()
	a, b := make([]float64, m*m), make([]float64, m)
	for j := range m {
		a[j*m+j] = 1 / site.Units
		if c.Shape.Intercept {
			b[j] = 0.25 * (1 - site.Units) / site.Units
		}
	}
	u := model.NewUnits(a, b)
	if site.Tilted {
		u = u.In(Frame(m))
	}
	return u
}
