package exact

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/optimize"
)

// ascend moves x, which is dispersed, along an ascent of the density to the first point
// from which trajectories find on: a draw is about half as many below the mode as there
// are coordinates.
func (f *density) ascend(x []float64) {
	slope := func(grad, x []float64) error {
		_, err := f.value(x)
		if err == nil {
			f.slope(grad, x)
		}
		return err
	}
	problem := descent(f.value, slope, f.Reach)
	p := &path{}
	p.take(x, -problem.Func(x))
	settings := &optimize.Settings{MajorIterations: polishing, Recorder: p, Converger: &optimize.FunctionConverge{Absolute: gain, Iterations: 5}}
	// At the kinks of Laplace noise a line search may fail, at the best point so far.
	optimize.Minimize(problem, x, settings, &optimize.LBFGS{})
	best := slices.Max(p.heights)
	copy(x, p.points[slices.IndexFunc(p.heights, func(h float64) bool { return h >= best-2*float64(len(x)) })])
	f.Reach(p.points[slices.Index(p.heights, best)])
}

// descent is that of minus a log density along its own slopes, within the reach of the noise's
// at each point. Outside the support it is +∞, and level.
func descent(value func(x []float64) (float64, error), slope func(grad, x []float64) error, reach func(x []float64)) optimize.Problem {
	return optimize.Problem{
		Func: func(x []float64) float64 {
			logp, err := value(x)
			if err != nil {
				return math.Inf(1)
			}
			return -logp
		},
		Grad: func(grad, x []float64) {
			reach(x)
			if slope(grad, x) != nil {
				clear(grad)
			}
			floats.Scale(-1, grad)
		},
	}
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
	f.statistics.vector(f.s)
	f.noise.Reach(f.s)
}
