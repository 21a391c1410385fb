package model

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/dpreg/dpreg/release"
)

// Observation is one release as the samplers read it, or several of the same rows.
type Observation struct {
	Shape Shape
	N     float64 // as published: exact, or noisy where Count is latent
	Count Count
	Z     []float64 // noisy statistics, canonical order, length Shape.Statistics()
	Kind  release.Kind
	Scale []float64 // noise scale of each entry: b of the Laplace law, σ of the Gaussian, of ball noise as release.Ball has it

	Freedom float64        // of ball noise
	Frame   *release.Frame // that Z is in; nil: the box
	clipped [2][]float64   // Z and Scale without what inFrame does for clipping

	Told *Told // what has noise where that is not the entries of Z, which follow from it; nil: they have it

	Moments *NoisyMoments // of the covariates, where the release has them

	// Measurements are those of the same sums where there are several whose law is not that
	// of one; nil otherwise. Z, Kind, Scale and Count then only stand for them, to start
	// from; the law is Noise's.
	Measurements []*Observation
}

// Observe reads a release. It refuses one that withholds Σy².
func Observe(r *release.Release) (*Observation, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	if y := r.Schema.Response.Name; r.WithoutYY() {
		return nil, fmt.Errorf("this release withholds the sum of squares of %q (\"withheld\": [\"yy\"]), and no method does without: infer from it by a --formula that leaves %q out", y, y)
	}
	if err := r.CheckReach(); err != nil {
		return nil, err
	}
	given := r
	r = r.FactorFirst()
	n, kind, z := float64(r.N), r.Noise.Kind, r.Statistics.Vector()
	shape := ShapeOf(r)
	o := &Observation{
		Shape: shape, N: n, Z: z, Kind: kind, Scale: slices.Repeat([]float64{r.Noise.Scale}, len(z)),
		Count:   Count{Noisy: n, Kind: kind, Scale: r.NNoise, Least: float64(shape.P + 2), Most: MaxRows},
		Moments: observeMoments(r),
	}
	if r.Levels != nil {
		if o.Told = observeLevels(r); o.Told.Kind != kind { // of cells that are merged
			o.Kind, o.Freedom = o.Told.Kind, laplaceFreedom
		}
		for i := 0; o.Told.OfAllRows() && i < len(o.Scale); i++ {
			o.Scale[i] = math.Sqrt(o.Told.Variance(i) / max(1, o.Freedom))
		}
	}
	if r.Levels.PerLevel() {
		var err error
		if o.Told.Levels, err = observePerLevel(r); err != nil {
			return nil, err
		}
	}
	if r.Frame != nil {
		o.inFrame(r, !given.LevelsAreOfResponse())
	}
	if given.LevelsAreOfResponse() {
		o.observeResponse(given)
	}
	return o, nil
}

// ShapeOf is that of a release's regression.
func ShapeOf(r *release.Release) Shape {
	s := DesignShape(&r.Schema)
	if r.Levels != nil {
		s.Coding = r.Levels.Coding
	}
	return s
}

// Clipping takes a matrix L from Σuuᵀ, tr L = Frame.Lost, of m columns. Over data sets and steps
//
//   - what moves a slope, an entry of the response's row, is as release.ClippingMoves says;
//   - of the response's square, that of what the covariates leave of it, it takes .2/m to 3/m of
//     tr L, most where few rows are far out: responseShare/m ± responseSpread;
//   - of each covariate's square about half of 1/m: covariateShare/m ± covariateSpread/m. As much
//     spread as share would leave room for a direction in which they hardly vary, and slopes
//     along it would be anything.
const (
	responseShare, responseSpread   = 1.4, 0.4
	covariateShare, covariateSpread = 0.5, 0.25
)

// inFrame takes the noise of sums in a frame. What clipping takes is as noise of a larger scale on
// products with the response, √(1 + (moves/sd)²) times: its size is told, and not its direction.
// Linear sums lose ‖u‖ − R where squares lose ‖u‖² − R², about 1/2R of that. What squares lose is
// put back, or variances would come out too small. Products of two covariates it only lessens,
// about alike in all directions of a frame.
//
// The response is the last column, if it is in the frame.
func (o *Observation) inFrame(r *release.Release, response bool) {
	look, dummies := r.Numbers()
	m, z := len(look.Frame.Centre), look.Statistics.Vector()
	scales := make([]float64, len(z))
	for j := range m {
		scales[j] = look.Noise.Linear
		for k := j; k < m; k++ {
			scales[release.Index(m, j, k)] = look.Noise.Cross
		}
		scales[release.Index(m, j, j)] = look.Noise.Scale
	}
	o.Frame, o.Freedom, o.clipped = r.Frame.Behind(dummies), r.Noise.Freedom, [2][]float64{slices.Clone(z), slices.Clone(scales)}
	lost, sd, moved := r.Frame.Lost, r.Noise.SD(), moved(r)
	wider, linear := math.Hypot(1, moved), math.Hypot(1, moved/(2*r.Frame.Radius)*r.Noise.Scale/look.Noise.Linear)
	for j := range m {
		scales[j] *= linear
		if response {
			scales[release.Index(m, j, m-1)] *= wider
		}
	}
	for j := range m {
		at, scale, back, spread := release.Index(m, j, j), r.Noise.Scale, covariateShare/float64(m), covariateSpread/float64(m)
		if response && j == m-1 {
			scale, back, spread = r.Noise.Scale*wider, responseShare/float64(m), responseSpread
		}
		z[at] += back * lost
		scales[at] = math.Hypot(scale, spread*lost/sd*r.Noise.Scale)
	}
	if o.Told != nil {
		o.Told.clipped(z, scales, linear)
	} else {
		o.Z, o.Scale = z, scales
	}
	if r.Noise.Kind == release.Ball { // which the number of rows has not
		o.Count.Kind = release.Laplace
	}
}

// moved is what clipping may move products with the response by, over the noise on them.
func moved(r *release.Release) float64 {
	f := r.Frame
	return release.ClippingMoves(f.Lost, f.Radius*f.Radius, len(f.Centre), int(r.Part.Parts())) / r.Noise.SD()
}

// ClippingMoves is how much of a slope's posterior sd is what clipping may move it by, at most:
// less where the sampling error counts. 0 of the box.
func ClippingMoves(r *release.Release) float64 {
	if r.Frame == nil {
		return 0
	}
	return moved(r) / math.Hypot(1, moved(r))
}

// Clipped is the observation for a method that knows of the clipping: scales are those of the
// noise alone.
func (o *Observation) Clipped() *Observation {
	if o.Frame == nil {
		return o
	}
	out := *o
	out.Z, out.Scale = o.clipped[0], o.clipped[1]
	return &out
}

// Reach is how far rows lie from 0 in any column: of the box 1, of a frame its radius.
func (o *Observation) Reach() float64 {
	if o.Frame != nil {
		return o.Frame.Radius
	}
	return 1
}

// Once reports an error where the sums were measured several times, which the method of
// this name cannot take.
func (o *Observation) Once(method string) error {
	if len(o.Measurements) > 0 {
		return fmt.Errorf("%s takes one measurement of each sum: several with Laplace noise, or of a noisy number of rows, are no single one; mcmc-exact, mcmc-ind and naive take them", method)
	}
	return nil
}

// observeAll reads releases of the same rows, one or more. Errors are of the release that does
// not fit the first.
func observeAll(releases []*release.Release) (*Observation, error) {
	var all []*Observation
	for j, r := range releases {
		o, err := Observe(r)
		if err == nil && j > 0 {
			err = sameSums(releases[0], r)
		}
		if err != nil {
			return nil, siteError(j, len(releases), err)
		}
		all = append(all, o)
	}
	return Together(all), nil
}

// sameSums reports why two releases cannot be measurements of the same sums.
func sameSums(a, b *release.Release) error {
	u, v := a.Schema.Frame(), b.Schema.Frame()
	switch {
	case !slices.Equal(u.Labels, v.Labels) || u.Intercept != v.Intercept:
		return errors.New("it has other columns than the first release: a --formula of columns that both have makes them alike")
	case a.Levels != nil || b.Levels != nil:
		return errors.New("sums by the levels of a factor are not measured together with those of another release: infer from one of them")
	case a.Frame != nil || b.Frame != nil:
		return errors.New("sums in a frame of their own are no measurements of the sums of another release: infer from one of them")
	case !slices.Equal(u.Centre, v.Centre) || !slices.Equal(u.Half, v.Half):
		return errors.New("it has other bounds than the first release: its sums are of other scaled and clamped values, and no measurements of the same ones; infer from one of them")
	case (a.NNoise > 0) != (b.NNoise > 0):
		return errors.New("of it and the first release, one has a public number of rows and one a noisy one: infer from one of them")
	case a.NNoise == 0 && a.N != b.N:
		return fmt.Errorf("it has %d rows and the first release has %d: they are not of the same rows", b.N, a.N)
	}
	return nil
}

// Together is the observation of independent measurements of the same sums, one or more,
//
//	log p(z_1 … z_K | s) = Σ_k log p(z_k | s).
//
// Normal measurements of variances v_k tell as much as one, their mean weighted by 1/v_k, of
// variance 1/Σ(1/v_k). Where some are not, or counts are noisy, which are whole, all stay, and
// that mean stands for them where one is wanted to start from.
func Together(all []*Observation) *Observation {
	o := all[0]
	if len(all) == 1 {
		return o
	}
	out, normal := *o, true
	out.Z, out.Scale, out.Moments = make([]float64, len(o.Z)), make([]float64, len(o.Z)), nil
	for _, m := range all {
		normal = normal && m.Kind == release.Gaussian && !m.Count.Latent()
	}
	if out.Kind = release.Gaussian; !normal {
		out.Kind, out.Measurements = release.Laplace, all
	}
	for i := range out.Z {
		out.Z[i], out.Scale[i] = weighted(all, out.Kind, func(m *Observation) (float64, release.Kind, float64) { return m.Z[i], m.Kind, m.Scale[i] })
	}
	if o.Count.Latent() {
		n, scale := weighted(all, o.Count.Kind, func(m *Observation) (float64, release.Kind, float64) {
			return m.Count.Noisy, m.Count.Kind, m.Count.Scale
		})
		out.Count.Noisy, out.Count.Scale = math.Round(n), scale
		out.N = out.Count.Noisy
	}
	return &out
}

// weighted is the mean of measurements, weighted by the inverses of their variances, and its
// scale as noise of a kind.
func weighted(all []*Observation, kind release.Kind, of func(*Observation) (value float64, kind release.Kind, scale float64)) (mean, scale float64) {
	precision := 0.0
	for _, m := range all {
		z, kind, scale := of(m)
		w := 1 / NoiseVariance(kind, scale)
		mean += w * z
		precision += w
	}
	scale = 1 / math.Sqrt(precision)
	if kind == release.Laplace {
		scale /= math.Sqrt2
	}
	return mean / precision, scale
}
