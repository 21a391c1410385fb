package audit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dpreg/dpreg/calibration"
	"github.com/dpreg/dpreg/mechanisms/accounting"
	"github.com/dpreg/dpreg/release"
)

// Releases of several steps. All that a release says of them is attacked at once: whoever sees
// the outputs of the steps before knows the frame of the next one, so that the log-likelihood
// ratio is the sum of those of all counts of radii and all sums, each in its frame.
//
// The auditor takes rows to a frame, clips, counts and sums them in float64, by the
// definitions of release.Look and Radii and with no code of the path. The scales of noise that
// go with the one on squares are those of the proof. What is left, noise, becomes standard
// normal: a ball's vector x of k entries has a density proportional to exp(−‖x‖), a direction
// that is uniform and a norm of the Gamma(k) law, which is taken to that of k normal entries.

// inSteps knows releases of several steps. The scales on the counts of radii, which depend on
// nothing but the claim, are those of a first release.
func (b *bench) inSteps(ctx context.Context) error {
	b.see = b.seeSteps
	b.noise = release.Noise{Kind: b.Noise, Sensitivity: 1, Scale: 1 / b.Privacy.Epsilon}
	if b.Noise == release.Gaussian {
		var err error
		if b.noise.Scale, err = accounting.Sigma(b.Privacy.Epsilon, b.Privacy.Delta, 1); err != nil {
			return err
		}
	}
	r, err := b.publish[0](ctx, -1)
	if err == nil {
		err = b.shaped(r)
	}
	if err != nil {
		return err
	}
	for _, look := range r.Looks() {
		b.laws = append(b.laws, b.radii(&look))
		for range release.Length(b.Columns) {
			b.laws = append(b.laws, law{release.Gaussian, 1, unit})
		}
	}
	return nil
}

// shaped refuses what is no release of so many steps and columns.
func (b *bench) shaped(r *release.Release) error {
	looks := r.Looks()
	if len(looks) != b.Steps {
		return fmt.Errorf("it has %d looks, not %d", len(looks), b.Steps)
	}
	for _, look := range looks {
		if look.Frame == nil || look.Radii == nil || len(look.Frame.Centre) != b.Columns {
			return errors.New("it has a look without radii, or without a frame of its columns")
		}
	}
	return nil
}

// unit is that of noise made standard normal: as fine as a law needs it.
const unit = 1. / (1 << 40)

// radii is the law of the noise on counts.
func (b *bench) radii(look *release.Look) law {
	if b.Noise == release.Gaussian {
		return law{release.Gaussian, look.Radii.Scale, 1}
	}
	return law{release.Laplace, look.Radii.Scale, 1}
}

func (b *bench) seeSteps(r *release.Release, trial int) (*seen, error) {
	if err := b.shaped(r); err != nil {
		return nil, err
	}
	s := &seen{misstated: r.Privacy == nil || *r.Privacy != b.Privacy || !b.covered(r)}
	for t, look := range r.Looks() {
		s.misstated = s.misstated || b.radii(&look) != b.laws[t*len(b.laws)/b.Steps]
		exact := b.exact(&look)
		b.seeRadii(s, &look, exact, trial)
		b.seeSums(s, &look, exact)
	}
	return s, nil
}

// seeRadii sees the counts. The noise on one bin, another one each trial, is held against its
// law.
func (b *bench) seeRadii(s *seen, look *release.Look, exact [2]inFrame, trial int) {
	l, ratio := b.radii(look), 0.
	for i, n := range look.Radii.Counts {
		first, second := float64(n)-exact[0].counts[i], float64(n)-exact[1].counts[i]
		ratio += l.logRatio(first, second)
		if i == trial%len(look.Radii.Counts) {
			s.noise[0], s.noise[1] = append(s.noise[0], first), append(s.noise[1], second)
		}
	}
	if l.kind == release.Laplace {
		ratio /= l.scale
	}
	s.ratio += ratio
}

func (b *bench) seeSums(s *seen, look *release.Look, exact [2]inFrame) {
	var length [2]float64
	for i := range exact {
		x := b.standard(look, &exact[i])
		length[i] = floats.Norm(x, 2)
		s.noise[i] = append(s.noise[i], b.normal(x)...)
	}
	if b.Noise == release.Gaussian {
		s.ratio += (length[1] - length[0]) * (length[1] + length[0]) / 2
	} else {
		s.ratio += length[1] - length[0]
		if b.counted() { // beside a ball n has Laplace noise of its own
			n := float64(look.N)
			s.ratio += (math.Abs(n-exact[1].n) - math.Abs(n-exact[0].n)) / look.NNoise
		}
	}
	for _, z := range look.Statistics.Vector() {
		s.units = append(s.units, z/look.Noise.Lattice)
	}
}

// inFrame are the exact counts of radii and the sums of a data set in a frame.
type inFrame struct {
	n            float64
	counts, sums []float64
}

// exact takes both data sets to the frame of a look: the rows that they have in common, which
// come first, once.
func (b *bench) exact(look *release.Look) (both [2]inFrame) {
	common := inFrame{0, make([]float64, len(look.Radii.Counts)), make([]float64, release.Length(b.Columns))}
	common.add(look, b.sides[0].rows[:commonRows])
	for i, side := range b.sides {
		both[i] = inFrame{common.n, slices.Clone(common.counts), slices.Clone(common.sums)}
		both[i].add(look, side.rows[commonRows:])
	}
	return both
}

// add takes rows to the frame of a look, counts, clips and sums them.
func (of *inFrame) add(look *release.Look, rows [][]float64) {
	u := make([]float64, len(look.Frame.Centre))
	for _, v := range rows {
		square := place(u, v, look.Frame)
		bin := math.Ceil(2*math.Log2(square)) - float64(look.Radii.Least)
		of.counts[int(min(max(bin, 0), float64(len(of.counts)-1)))]++
		if clip := look.Frame.Radius / math.Sqrt(square); clip < 1 {
			for j := range u {
				u[j] *= clip
			}
		}
		calibration.AddSums(of.sums, u)
		of.n++
	}
}

// place sets u to W(v − c), and returns its square.
func place(u, v []float64, f *release.Frame) (square float64) {
	for j, row := range f.Matrix {
		u[j] = 0
		for k, w := range row {
			u[j] += float64(w * (v[k] - f.Centre[k]))
		}
		square += float64(u[j] * u[j])
	}
	return square
}

// standard are the differences of a look from exact sums, in the coordinates in which noise is
// isotropic of scale 1: n, where it has Gaussian noise, and the sums.
func (b *bench) standard(look *release.Look, exact *inFrame) (x []float64) {
	m, kappa, scale := b.Columns, look.Frame.Weight, look.Noise.Scale
	if b.counted() && b.Noise == release.Gaussian {
		x = append(x, (float64(look.N)-exact.n)*kappa*kappa/scale)
	}
	for i, z := range look.Statistics.Vector() {
		x = append(x, (z-exact.sums[i])*math.Sqrt2/scale)
		if i < m {
			x[len(x)-1] *= kappa
		}
	}
	for j := range m {
		x[len(x)-release.Length(m)+release.Index(m, j, j)] /= math.Sqrt2
	}
	return x
}

// normal makes the noise on the sums standard normal, in multiples of unit.
func (b *bench) normal(x []float64) []float64 {
	stretch := 1.
	if k := float64(len(x)); b.Noise == release.Ball {
		length := floats.Norm(x, 2)
		gamma, normal := distuv.Gamma{Alpha: k, Beta: 1}, distuv.ChiSquared{K: k}
		stretch = math.Sqrt(normal.Quantile(gamma.CDF(length))) / length
	}
	y := make([]float64, release.Length(b.Columns))
	for i, v := range x[len(x)-len(y):] {
		y[i] = v * stretch / unit
	}
	return y
}

// covered tells whether the noise of all steps together is worth the privacy, by the
// sensitivities of their frames.
func (b *bench) covered(r *release.Release) bool {
	step, bins := math.Sqrt2, math.Sqrt2
	if b.Noise == release.Ball {
		bins = 2
	}
	if b.counted() {
		step, bins = 1, 1
	}
	spent := 0.
	for _, look := range r.Looks() {
		kappa, radius := look.Frame.Weight, look.Frame.Radius
		parts := []float64{step * (kappa*kappa + radius*radius) / look.Noise.Scale, bins / look.Radii.Scale}
		if b.counted() && b.Noise == release.Ball {
			parts = append(parts, 1/look.NNoise)
		}
		for _, part := range parts {
			if b.Noise == release.Gaussian {
				part *= part
			}
			spent += part
		}
	}
	whole := 1 / b.noise.Scale
	if b.Noise == release.Gaussian {
		whole *= whole
	}
	return spent <= whole*(1+1e-9)
}
