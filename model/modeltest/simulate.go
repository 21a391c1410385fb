package modeltest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

// Simulation is the model as a whole: parameters from the prior, statistics of n
// rows by their exact law, noise.
type Simulation struct {
	Shape  model.Shape
	Prior  *model.Prior
	N      float64
	Kind   release.Kind
	Scale  float64 // of the noise on the statistics
	Tilted bool    // the statistics are in Frame

	Kurtosis model.Kurtosis // of the prior

	// Again are the noises of more measurements of the same statistics, and of n.
	Again []release.Noise

	// Count is the scale of the noise on n, and 0 where n is public. Else n is
	// uniform from m + 1 to 2N: whole, as rows are, with noise rounded to whole
	// numbers; or, where Continuous, from half a row less on, and its noise has the
	// density model.Noise.LogCount at every real number.
	Count      float64
	Continuous bool
}

// LaplaceScale is the scale of the noise for ε and replace-one neighbours,
// m(m+2)²/(2(m+1))/ε.
func LaplaceScale(s model.Shape, epsilon float64) float64 {
	m := float64(s.M())
	return m * (m + 2) * (m + 2) / (2 * (m + 1)) / epsilon
}

// Draw returns parameters, in the order of the observation's names, and what is
// released of rows that have them.
func (c *Simulation) Draw(rng *rand.Rand) (truth []float64, obs *model.Observation) {
	x, law := model.NewParams(c.Shape), model.NewMoments(c.Shape)
	for ok := false; !ok; ok = law.Factor() {
		model.NewConditionals(c.Shape, c.Prior, true).DrawPrior(x, rng)
		c.Prior.Kurtosis.Apply(x, rng)
		law.Set(x)
	}
	obs, n := c.Release(x, rng)
	truth = make([]float64, len(obs.Names()))
	if at := x.Write(truth); at < len(truth) {
		truth[at] = n
	}
	return truth, obs
}

// Release returns what is released of rows that have parameters x, and their number.
func (c *Simulation) Release(x *model.Params, rng *rand.Rand) (obs *model.Observation, n float64) {
	q := c.Shape.Statistics()
	obs = &model.Observation{Shape: c.Shape, N: c.N, Kind: c.Kind, Z: make([]float64, q), Scale: make([]float64, q)}
	n = c.rows(&obs.Count, rng)
	law := model.NewMoments(c.Shape)
	law.Set(x)
	if c.Tilted {
		tilt(obs)
	}
	model.Identity(c.Shape.M()).In(obs.Frame).Moments(law.Mean, law.Cov)
	law.Factor()
	law.RandExact(obs.Z, n, rng)
	return c.measure(obs, n, rng), n
}

// Frame is one of m columns that is far from the box, but not so far that rows cannot lie within its radius: of columns
// four at a time.
func Frame(m int) *release.Frame {
	f := &release.Frame{Radius: max(2, math.Sqrt(float64(m))), Weight: 1.5}
	for i := range m {
		k, first := i%4, i-i%4
		f.Centre = append(f.Centre, 0.3-0.2*float64(k))
		row := make([]float64, i+1)
		for j := range i {
			row[j] = -0.1
			if j >= first {
				row[j] = 0.8 * float64(1+j-first-k%2)
			}
		}
		row[i] = 1.2 + float64(k)
		f.Matrix = append(f.Matrix, row)
	}
	return f
}

// tilt puts an observation into Frame, its statistics yet to come.
func tilt(obs *model.Observation) {
	obs.Frame = Frame(obs.Shape.M())
	if obs.Kind == release.Ball {
		obs.Freedom = float64(len(obs.Z) + 1)
	}
}

// scales writes those of noise of this scale on squares.
func scales(obs *model.Observation, scale float64) {
	for i := range obs.Scale {
		obs.Scale[i] = scale
	}
	if obs.Frame == nil {
		return
	}
	m := obs.Shape.M()
	for j := range m {
		obs.Scale[j] /= math.Sqrt2 * obs.Frame.Weight
		for k := range j {
			obs.Scale[release.Index(m, j, k)] /= math.Sqrt2
		}
	}
}

// measure adds noise to the statistics of n rows, as often as they are measured.
func (c *Simulation) measure(obs *model.Observation, n float64, rng *rand.Rand) *model.Observation {
	exact, all := obs.Z, []*model.Observation{obs}
	for _, again := range c.Again {
		m := *obs
		m.Kind, m.Count.Kind = again.Kind, again.Kind
		if m.Count.Latent() {
			m.Count.Noisy = n + c.countNoise(again.Kind, rng)
		}
		all = append(all, &m)
	}
	for k, m := range all {
		scale := c.Scale
		if k > 0 {
			scale = c.Again[k-1].Scale
		}
		m.Z, m.Scale = slices.Clone(exact), make([]float64, len(exact))
		scales(m, scale)
		m.AddNoise(m.Z, 1, rng)
	}
	return model.Together(all)
}

// rows draws n and, where it is latent, what is released of it.
func (c *Simulation) rows(count *model.Count, rng *rand.Rand) (n float64) {
	if c.Count == 0 {
		return c.N
	}
	kind := c.Kind
	if kind == release.Ball {
		kind = release.Laplace
	}
	*count = model.Count{Kind: kind, Scale: c.Count, Least: float64(c.Shape.M() + 1), Most: 2 * c.N}
	if !c.Continuous {
		n = count.Least + float64(rng.IntN(int(count.Most-count.Least)+1))
		count.Noisy = n + c.countNoise(kind, rng)
		return n
	}
	least := count.Least - 0.5
	n = least + (count.Most-least)*rng.Float64()
	count.Noisy = n + c.countNoise(kind, rng)
	return n
}

// countNoise is the noise on n.
func (c *Simulation) countNoise(kind release.Kind, rng *rand.Rand) float64 {
	if !c.Continuous {
		return wholeNoise(kind, c.Count, rng)
	}
	e := model.RandNoise(kind, c.Count, rng)
	if kind == release.Gaussian {
		e += rng.Float64() - 0.5 // the density of the sum is the normal law's mass of a cell
	}
	return e
}

// Problem is what a method is given of an observation whose noise has one scale.
func Problem(obs *model.Observation, prior *model.Prior) *model.Problem {
	box := func(name string) schema.Column { return schema.Column{Name: name, Lower: -1, Upper: 1} }
	r := &release.Release{Format: release.Format, N: int64(obs.N), Noise: release.Noise{Kind: obs.Kind, Scale: obs.Scale[0]},
		Schema:     schema.Design{Response: box("y"), Intercept: obs.Shape.Intercept},
		Statistics: release.StatisticsFromVector(obs.Shape.M(), obs.Z)}
	for j := range obs.Shape.P {
		r.Schema.Covariates = append(r.Schema.Covariates, box(fmt.Sprintf("x%d", j+1)))
	}
	if obs.Count.Latent() {
		r.N, r.NNoise = int64(obs.Count.Noisy), obs.Count.Scale
		r.Privacy = &release.Privacy{Epsilon: 1, Neighbours: release.AddRemove}
		if obs.Kind == release.Gaussian {
			r.Privacy.Delta = 1e-6
		}
	}
	return &model.Problem{Releases: []*release.Release{r}, Prior: prior}
}

// wholeNoise is the noise of a count: discrete Laplace, the difference of two
// geometric variates, or rounded normal.
func wholeNoise(kind release.Kind, scale float64, rng *rand.Rand) float64 {
	if kind == release.Laplace {
		return math.Floor(scale*rng.ExpFloat64()) - math.Floor(scale*rng.ExpFloat64())
	}
	return math.Round(scale * rng.NormFloat64())
}

// SmoothNoise is the log density, up to a constant and at a residual in units of the scale,
// whose derivative model.Noise's LogDensity gives as slope, where so many statistics are
// moved together; of normal noise only as far as Noise.Reach made it the density's own.
func SmoothNoise(kind release.Kind, u float64, statistics int) float64 {
	if kind == release.Laplace {
		return -math.Sqrt(u*u + min(1, 27/float64(statistics))/16)
	}
	return -0.5 * u * u
}

// Smoothing is what the law whose derivative model.Noise gives as slope has beyond its log
// density at s, where the statistics of so many releases are moved together: at Laplace's kinks.
func Smoothing(obs *model.Observation, s []float64, releases int) (more float64) {
	if obs.Kind == release.Ball {
		return 0
	}
	for i, v := range s {
		u := (obs.Z[i] - v) / obs.Scale[i]
		more += SmoothNoise(obs.Kind, u, releases*len(s))
		if obs.Kind == release.Laplace {
			more += math.Abs(u)
		} else {
			more += 0.5 * u * u
		}
	}
	return more
}
