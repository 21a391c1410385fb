package release

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
)

// sumsIn are the sums of rows of v, without noise, in a frame; nil is the box.
func sumsIn(f *Frame, rows [][]float64) []float64 {
	m := len(rows[0])
	s := make([]float64, Length(m))
	for _, v := range rows {
		u := v
		if f != nil {
			u = inFrame(f, v)
		}
		for j := range m {
			s[j] += u[j]
			for k := j; k < m; k++ {
				s[Index(m, j, k)] += u[j] * u[k]
			}
		}
	}
	return s
}

// inFrame is u = W(v − c).
func inFrame(f *Frame, v []float64) []float64 {
	u := make([]float64, len(v))
	for j, row := range f.Matrix {
		for k, w := range row {
			u[j] += w * (v[k] - f.Centre[k])
		}
	}
	return u
}

// clipped are the rows in scaled units as a frame clips them, solved back by substitution.
func clipped(f *Frame, rows [][]float64) [][]float64 {
	out := make([][]float64, len(rows))
	for i, v := range rows {
		u := inFrame(f, v)
		norm := math.Sqrt(inner(u, u))
		out[i] = slices.Clone(v)
		for j := range v {
			if norm > f.Radius {
				out[i][j] = f.Centre[j] + (v[j]-f.Centre[j])*f.Radius/norm
			}
		}
	}
	return out
}

func near(t *testing.T, what string, got, want []float64, tolerance float64) {
	t.Helper()
	scale := 0.0
	for _, x := range want {
		scale = math.Max(scale, math.Abs(x))
	}
	for i := range want {
		if len(got) != len(want) || !(math.Abs(got[i]-want[i]) <= tolerance*scale) {
			t.Fatalf("%s: got %v, want %v", what, got, want)
		}
	}
}

// exactFramed has, in each look, the sums of rows without noise. In the last a third of the
// rows are clipped, in the others fewer.
func exactFramed(m int, rng *rand.Rand) (*Release, [][]float64) {
	r := framed(m, Gaussian, ReplaceOne, rng)
	rows := make([][]float64, 50)
	for i := range rows {
		for range m {
			rows[i] = append(rows[i], 2*rng.Float64()-1)
		}
	}
	var norms []float64
	for _, v := range rows {
		u := inFrame(r.Frame, v)
		norms = append(norms, math.Sqrt(inner(u, u)))
	}
	slices.Sort(norms)
	r.N, r.Frame.Radius = 50, norms[33]
	r.Privacy = nil
	r.Statistics = StatisticsFromVector(m, sumsIn(r.Frame, clipped(r.Frame, rows)))
	for i := range r.Steps {
		l := &r.Steps[i]
		l.Statistics = StatisticsFromVector(m, sumsIn(l.Frame, clipped(l.Frame, rows)))
	}
	return r, rows
}

// A sub-model has the sums that its own frame has of the same rows, in every look; and those
// in scaled units are the ones picked.
func TestFrameSelect(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for _, c := range []struct {
		formula string
		at      []int
	}{
		{"", []int{0, 1, 2, 3}}, {"y ~ .", []int{0, 1, 2, 3}}, {"y ~ b", []int{1, 3}}, {"b ~ a", []int{0, 1}},
		{"a ~ y + c", []int{3, 2, 0}}, {"y ~ c + b + a", []int{2, 1, 0, 3}}, {"y ~ a + c - 1", []int{0, 2, 3}},
	} {
		r, rows := exactFramed(4, rng)
		before := write(t, r)
		got, err := r.Select(c.formula)
		if err != nil {
			t.Errorf("%q: %v", c.formula, err)
			continue
		}
		if err := got.Validate(); err != nil {
			t.Errorf("%q: %v", c.formula, err)
		}
		looks := r.Looks()
		for i, l := range got.Looks() {
			sub := make([][]float64, len(rows))
			for n, v := range clipped(looks[i].Frame, rows) {
				for _, a := range c.at {
					sub[n] = append(sub[n], v[a])
				}
			}
			near(t, c.formula, l.Statistics.Vector(), sumsIn(l.Frame, sub), 1e-12)
			if i == len(looks)-1 {
				near(t, c.formula+" scaled", got.Scaled(), sumsIn(nil, sub), 1e-12)
			}
			if l.Frame.Radius != looks[i].Frame.Radius || !reflect.DeepEqual(l.Noise, looks[i].Noise) || !reflect.DeepEqual(l.Radii, looks[i].Radii) {
				t.Errorf("%q: look %d changed", c.formula, i)
			}
		}
		if c.formula == "y ~ ." && write(t, got) != before {
			t.Error("all columns in their order have changed")
		}
		// Nothing is shared.
		for _, l := range got.Looks() {
			l.Frame.Matrix[0][0], l.Frame.Centre[0], l.Radii.Counts[0], l.Statistics.SumX[0] = 7, 7, 7, 7
		}
		if write(t, r) != before {
			t.Errorf("%q: the release it was taken from changed", c.formula)
		}
	}
	r, _ := exactFramed(4, rng)
	other := r.Schema
	other.Covariates = slices.Clone(other.Covariates)
	slices.Reverse(other.Covariates)
	turned := r.Arrange(&other)
	near(t, "there and back", turned.Arrange(&r.Schema).Statistics.Vector(), r.Statistics.Vector(), 1e-12)
	near(t, "and in scaled units", turned.Arrange(&r.Schema).Scaled(), r.Scaled(), 1e-12)
}

// The noise of a sub-model has the law that it states: entries are uncorrelated, with the
// scales of squares, products and linear sums. Its moments are within six standard errors
// (of 90 covariances, one in 10⁷).
func TestFrameNoise(t *testing.T) {
	draws := testsize.Of(5000, 20_000)
	for _, kind := range []Kind{Gaussian, Ball} {
		rng := rand.New(rand.NewPCG(9, 10))
		r := framed(4, kind, ReplaceOne, rng)
		k := 3
		sums, want := make([]float64, Length(k)*Length(k)), scales(k, r.Noise)
		for n := range draws {
			e := scales(4, r.Noise)
			v := 1.0
			if kind == Ball {
				v = 0
				for range int(r.Noise.Freedom) {
					x := rng.NormFloat64()
					v += x * x
				}
			}
			for i := range e {
				e[i] *= math.Sqrt(v) * rng.NormFloat64()
			}
			r.Statistics = StatisticsFromVector(4, e)
			sub := must.Get(r.Select("y ~ c + a"))(t)
			if n == 0 && sub.Validate() != nil { // its claim too
				t.Error(sub.Validate())
			}
			z := sub.Statistics.Vector()
			for i := range z {
				for j := range z {
					sums[i*len(z)+j] += z[i] * z[j]
				}
			}
		}
		f := 1.0
		if kind == Ball {
			f = r.Noise.Freedom
		}
		for i := range want {
			for j := range want {
				got, expected, kurtosis := sums[i*len(want)+j]/float64(draws)/(f*want[i]*want[j]), 0.0, 1+2/f
				if i == j {
					expected, kurtosis = 1, 2+6/f
				}
				if math.Abs(got-expected) > 6*math.Sqrt(kurtosis/float64(draws)) {
					t.Errorf("%s, entries %d and %d: covariance over scales %v, want %v", kind, i, j, got, expected)
				}
			}
		}
	}
}

// scales are those of the noise on a canonical vector of m columns.
func scales(m int, n Noise) []float64 {
	s := slices.Repeat([]float64{n.Cross}, Length(m))
	for j := range m {
		s[j], s[Index(m, j, j)] = n.Linear, n.Scale
	}
	return s
}

// Scaled is linear in what the release has: ScaledSD is what unit noise on each of it comes to.
func TestScaledSD(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	for _, w := range ways {
		r := framed(4, w.kind, w.nb, rng)
		base, squares := r.Scaled(), make([]float64, Length(4))
		add := func(moved []float64, sd float64) {
			for i := range moved {
				d := (moved[i] - base[i]) * sd
				squares[i] += d * d
			}
		}
		f := 1.0
		if w.kind == Ball {
			f = math.Sqrt(r.Noise.Freedom)
		}
		for i, scale := range scales(4, r.Noise) {
			z := make([]float64, Length(4))
			z[i] = 1
			moved := *r
			moved.Statistics = StatisticsFromVector(4, z)
			add(moved.Scaled(), f*scale)
		}
		if w.nb == AddRemove {
			moved := *r
			moved.N++
			count := r.NNoise // Gaussian, or Laplace noise beside a ball
			if w.kind == Ball {
				count *= math.Sqrt2
			}
			add(moved.Scaled(), count)
		}
		for i, s := range squares {
			squares[i] = math.Sqrt(s)
		}
		near(t, "sd", r.ScaledSD(), squares, 1e-9)
	}
	box := without()
	if got := box.ScaledSD(); !reflect.DeepEqual(box.Scaled(), box.Statistics.Vector()) || len(got) != 8 || got[3] != box.Noise.SD() {
		t.Errorf("in the box %v, sd %v", box.Scaled(), got)
	}
}
