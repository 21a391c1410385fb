package adaptive

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/release"
)

// Looks that several custodians take together have one round each, in which radii and sums are shared at
// once: R is chosen before the radii of its frame are known, and these tell afterwards what it clipped. With C
// the covariance about c′ that a look told, rows have
//
//	E‖u‖² = tr WCWᵀ + ‖W(c′ − c)‖²   in its frame,   E‖u′‖² = tr W′CW′ᵀ   in the next,
//
// and its radii are taken for those of the next, larger by this ratio, in steps of √2. Where the mean was
// farther from c than rows are spread, radii say nothing of the spread: rows are taken for those of a
// multivariate t law then.
const foreseenFreedom = 5

// After is the frame of the look t of a plan, t ≥ 1, after this one, with its radius; n and noise are as for Next
// and Radius.
func (p Plan) After(t int, look *release.Look, n float64, m int, noise func(f *release.Frame) release.Noise) *release.Frame {
	next := Next(look, n, m)
	return p.Radius(t, next, foreseen(look, next, n), n, noise)
}

// foreseen are the radii of the rows in the next frame.
func foreseen(look *release.Look, next *release.Frame, n float64) *release.Radii {
	m := len(next.Centre)
	cov, moved := covariance(look, n, look.Frame.Inverse(), next.Centre), make([]float64, m)
	floats.SubTo(moved, next.Centre, look.Frame.Centre)
	spread, offset := within(look.Frame, cov, moved)
	will, _ := within(next, cov, moved)
	r := *look.Radii
	r.Least += int(math.Round(2 * math.Log2(will/(spread+offset))))
	if offset < spread {
		return &r
	}
	law, below := distuv.F{D1: float64(m), D2: foreseenFreedom}, 0. // of ‖u′‖² over unit
	unit := will * (foreseenFreedom - 2) / foreseenFreedom
	r.Counts = make([]int64, len(look.Radii.Counts))
	for i := range r.Counts {
		to := law.CDF(math.Exp2(float64(r.Least+i)/2) / unit)
		r.Counts[i], below = int64(math.Round(n*(to-below))), to
	}
	return &r
}

// within is tr WCWᵀ in a frame, and ‖Wd‖².
func within(f *release.Frame, cov, d []float64) (spread, offset float64) {
	m := len(d)
	for _, row := range f.Matrix {
		w := make([]float64, m)
		copy(w, row)
		spread += dense.QuadForm(cov, m, w)
		along := floats.Dot(w, d)
		offset += along * along
	}
	return spread, offset
}

// Lost is about what the radius of a look clipped, as its radii tell.
func Lost(look *release.Look, n float64) float64 {
	if look.NNoise > 0 {
		n = max(float64(look.N), 1)
	}
	edges, lost, _ := taken(look.Radii, n, false, standsBeyond)
	for i, e := range edges {
		if e >= look.Frame.Radius*look.Frame.Radius*(1-1e-9) {
			return lost[i]
		}
	}
	return 0
}
