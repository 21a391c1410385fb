package exact

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/optimize"

	"github.com/dpreg/dpreg/nuts"
)

// ascend moves x, which is dispersed, along an ascent of the density to the first point
// from which trajectories find on: a draw is about half as many below the mode as there
// are coordinates.
func ascend(f nuts.Chain, x []float64) {
	logp, err := f.LogDensity(make([]float64, len(x)), x)
	if err != nil {
		logp = math.Inf(-1)
	}
	p := &path{}
	p.take(x, logp)
	polish(f, x, p)
	best := slices.Max(p.heights)
	copy(x, p.points[slices.IndexFunc(p.heights, func(h float64) bool { return h >= best-2*float64(len(x)) })])
	f.Reach(p.points[slices.Index(p.heights, best)])
}

// polish returns what L-BFGS (Liu & Nocedal 1989, Mathematical Programming 45) reaches from
// x along a density's own slopes, within the reach of the noise's at each point, and its log
// density; p, if not nil, records its steps. Outside the support the density is 0, and level.
func polish(f nuts.Chain, x []float64, p *path) (mode []float64, logp float64) {
	unused := make([]float64, len(x))
	problem := optimize.Problem{
		Func: func(x []float64) float64 {
			logp, err := f.LogDensity(unused, x)
			if err != nil {
				return math.Inf(1)
			}
			return -logp
		},
		Grad: func(grad, x []float64) {
			f.Reach(x)
			if _, err := f.LogDensity(grad, x); err != nil {
				clear(grad)
			}
			floats.Scale(-1, grad)
		},
	}
	settings := &optimize.Settings{MajorIterations: polishing, Converger: &optimize.FunctionConverge{Absolute: gain, Iterations: 5}}
	if p != nil {
		settings.Recorder = p
	}
	// At the kinks of Laplace noise a line search may fail, at the best point so far.
	result, _ := optimize.Minimize(problem, x, settings, &optimize.LBFGS{})
	if math.IsInf(result.F, 1) { // not even x is in the prior's support
		return x, math.Inf(-1)
	}
	return result.X, -result.F
}

// path records the steps of an ascent.
type path struct {
	points  [][]float64
	heights []float64
}

func (p *path) take(x []float64, height float64) {
	p.points, p.heights = append(p.points, slices.Clone(x)), append(p.heights, height)
}

// Init implements optimize.Recorder.
func (p *path) Init() error { return nil }

// Record implements optimize.Recorder.
func (p *path) Record(at *optimize.Location, op optimize.Operation, _ *optimize.Stats) error {
	if op == optimize.MajorIteration {
		p.take(at.X, -at.F)
	}
	return nil
}

// Reach makes the noise's slopes the derivative about x.
func (f *density) Reach(x []float64) {
	f.set(x)
	f.noisy.vector(f.s)
	f.noise.Reach(f.s)
}

// The ascent ends after so many steps, or with one that gains less than this; so does what
// polishes it.
const (
	ascents   = 30
	polishing = 300
	gain      = 0.1
)

// fit puts the map, and the reach of the noise's slopes, where they belong at the mode that
// an ascent reaches from x: starts are dispersed, and at x itself the map would make another
// law standard. A draw is about half as many below the mode as there are
// coordinates; from four times that, trajectories may not find back, and x moves to the
// first point of the ascent that is nearer. It reports false where not even x has a map.
func (f *joint) fit(x []float64) bool {
	if !f.standardise(x) {
		return false
	}
	path, heights := f.ascend(x)
	y := make([]float64, f.Dim())
	f.frame.toY(y, path[len(path)-1])
	// Where releases contradict one another, residuals are of tens of standard deviations, bent
	// slopes would have their mode elsewhere, and the statistics' second derivatives, which the
	// map leaves out, count: ascend creeps along a ridge.
	mode, height := polish(f, y, nil)
	f.frame.toX(mode, mode)
	if !f.standardise(mode) {
		return f.standardise(x)
	}
	f.frame.toY(y, mode)
	f.Reach(y)
	path, heights = append(path, mode), append(heights, height)
	copy(x, path[slices.IndexFunc(heights, func(h float64) bool { return h >= height-2*float64(f.Dim()) })])
	return true
}

// ascend returns the points, and their log densities, that the steps of Gauss and Newton,
// halved until they gain, reach from x, where the map is; it leaves the map at the last.
// Bent slopes keep steps from far away short.
func (f *joint) ascend(x []float64) (path [][]float64, heights []float64) {
	y, next, grad := make([]float64, f.Dim()), make([]float64, f.Dim()), make([]float64, f.Dim())
	path, heights = [][]float64{slices.Clone(x)}, []float64{math.Inf(-1)}
	for range ascents {
		last := len(path) - 1
		f.frame.toY(y, path[last])
		logp, err := f.LogDensity(grad, y)
		if err != nil {
			break
		}
		heights[last] = logp
		height := f.climb(next, y, grad, logp)
		if height < logp+gain {
			break
		}
		point := make([]float64, f.Dim())
		f.frame.toX(point, next)
		if !f.standardise(point) {
			f.standardise(path[last])
			break
		}
		path, heights = append(path, point), append(heights, height)
	}
	return path, heights
}

// climb writes the point y + cg, c = 1, ½, …, that is above y, g being the gradient at
// y, and returns its log density, or that of y, before.
func (f *joint) climb(next, y, g []float64, before float64) float64 {
	unused := make([]float64, len(y))
	for c := 1.0; c > 1e-6; c /= 2 {
		copy(next, y)
		addScaled(next, c, g)
		if logp, err := f.LogDensity(unused, next); err == nil && logp > before {
			return logp
		}
	}
	return before
}

// Reach makes the noise's slopes the derivative about y.
func (f *joint) Reach(y []float64) {
	f.set(y)
	for _, s := range f.spokes {
		s.vector(f.s)
		s.noise.Reach(f.s)
	}
}
