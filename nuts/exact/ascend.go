package exact

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/optimize"

	"github.com/dpreg/dpreg/nuts"
)

// The ascent ends after so many steps, or with five of which none gains so much.
const (
	ascents = 300
	gain    = 0.1
)

// ascend returns the steps of L-BFGS (Liu & Nocedal 1989, Mathematical Programming 45) from x, along a density's
// own slopes, within the reach of the noise's at each point. Outside the support the density is 0, and level.
func ascend(f nuts.Chain, x []float64) *path {
	unused := make([]float64, len(x))
	value := func(x []float64) float64 {
		logp, err := f.LogDensity(unused, x)
		if err != nil {
			return math.Inf(-1)
		}
		return logp
	}
	p := &path{}
	p.take(x, value(x))
	problem := optimize.Problem{
		Func: func(x []float64) float64 { return -value(x) },
		Grad: func(grad, x []float64) {
			f.Reach(x)
			if _, err := f.LogDensity(grad, x); err != nil {
				clear(grad)
			}
			floats.Scale(-1, grad)
		},
	}
	settings := &optimize.Settings{MajorIterations: ascents, Converger: &optimize.FunctionConverge{Absolute: gain, Iterations: 5}, Recorder: p}
	// At the kinks of Laplace noise a line search may fail, at the best point so far.
	optimize.Minimize(problem, x, settings, &optimize.LBFGS{})
	return p
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

// mode is the highest point, and first the first from which trajectories find to it: a draw is about half as
// many below the mode as there are coordinates.
func (p *path) mode() []float64 {
	return p.points[slices.Index(p.heights, slices.Max(p.heights))]
}

func (p *path) first() []float64 {
	best := slices.Max(p.heights) - 2*float64(len(p.points[0]))
	return p.points[slices.IndexFunc(p.heights, func(h float64) bool { return h >= best })]
}
