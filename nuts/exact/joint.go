package exact

import (
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/nuts"
)

// joint is the posterior of several releases,
//
//	p(hub) ∏_j p(s_j | hub) p(z_j | s_j),
//
// in coordinates y that a linear map (frame) takes to those of the hub and, behind
// them, of each spoke: were all normal, the map where a chain starts would make y
// standard, so that the chain need not find out by itself what z leaves open. Where
// noise is weak, that is a thin sheet along which all spokes follow the hub. That one
// release is the posterior of statistics alone, density, with θ and σ² integrated out
// too, would here tie all releases to one another; given the hub they are independent,
// and an evaluation as well as the metric cost in proportion to their number.
type joint struct {
	hub    *hub
	spokes []*spoke
	at     []int // where the spokes begin, and the end
	frame  *arrow
	x      []float64
	s      []float64 // of one release

	weave    *model.Interweave // nil unless pooling is partial
	hubSigns []int
	signs    []int // of a spoke's coordinates
}

func newJoint(t *model.Joint) *joint {
	f := &joint{hub: newHub(t)}
	f.at = []int{f.hub.Dim()}
	for j := range t.Sites {
		s := newSpoke(t, j, f.hub.Hub)
		f.spokes = append(f.spokes, s)
		f.at = append(f.at, f.at[j]+s.dim())
	}
	f.frame, f.x, f.s = newArrow(f.at), make([]float64, f.Dim()), make([]float64, t.Shape.Statistics())
	f.hubSigns, f.signs = f.hub.Signs(), f.spokes[0].signs()
	if t.Partial {
		var sites []*model.Pooled
		for _, s := range f.spokes {
			sites = append(sites, s.pooled)
		}
		f.weave = model.NewInterweave(f.hub.Hub, sites)
	}
	return f
}

// Dim returns the number of coordinates.
func (f *joint) Dim() int { return f.at[len(f.spokes)] }

// blocks are the sizes of the spokes' coordinates.
func (f *joint) blocks() []int {
	sizes := make([]int, len(f.spokes))
	for j := range sizes {
		sizes[j] = f.at[j+1] - f.at[j]
	}
	return sizes
}

// LogDensity returns the log density up to a constant, and its gradient.
func (f *joint) LogDensity(grad, y []float64) (float64, error) {
	f.frame.toX(f.x, y)
	h := f.at[0]
	f.hub.Constrain(f.x[:h])
	logp := f.hub.LogPrior(grad[:h])
	for j, s := range f.spokes {
		from, to := f.at[j], f.at[j+1]
		v, ok := s.add(grad[from:to], f.x[from:to])
		if !ok {
			return 0, nuts.ErrReject
		}
		logp += v
	}
	logp += f.hub.Pull(grad[:h])
	f.frame.pull(grad)
	return logp, nil
}

// set takes parameters and statistics of y.
func (f *joint) set(y []float64) {
	f.frame.toX(f.x, y)
	f.hub.Constrain(f.x[:f.at[0]])
	for j, s := range f.spokes {
		s.set(f.x[f.at[j]:f.at[j+1]])
	}
}
