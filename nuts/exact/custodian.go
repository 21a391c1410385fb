package exact

import (
	"math"
	"math/rand/v2"

	"github.com/dpreg/dpreg/model"
)

// part is one custodian's part of joint: the latent statistics of its rows, in coordinates x, given the hub.
type part interface {
	common() *custodian
	dim() int                                                 // of x
	set(x []float64) bool                                     // takes statistics
	add(grad, x []float64) (logp float64, ok bool)            // the log density at x; see spoke.add
	through(grad, x []float64) (logp float64, ok bool)        // that without the noise's, whose slope stands in noised
	noised() (slope []float64)                                // in what has noise
	standard() [][]float64                                    // slopes of residuals that are standard normal and tied to the hub
	variance(i int) float64                                   // see variance, of what has noise
	prior(r []float64, size int)                              // rough precisions before z, see standardise
	place(x, stats []float64, n float64, rng *rand.Rand) bool // writes x near statistics
	reach()                                                   // makes the noise's slopes the derivative where set was last
	signs() []int                                             // coordinates to negate
	move(x []float64, rng *rand.Rand) bool                    // moves what has no coordinates, and x; tells whether it did
	write(dst []float64) int                                  // writes parameters of its own beside (θ_j, σ_j)
}

// custodian is what every part has: its release, and the regression of the hub, or where pooling is partial one of its own.
type custodian struct {
	*model.Site
	hub    *model.Hub
	pooled *model.Pooled // nil unless pooling is partial
	late   bool          // the part itself takes θ_j
	p      int
	theta  []float64 // θ, or θ_j, or what θ is within a level
	sigma  float64   // σ, or σ_j
	gTheta []float64 // in θ, or in w_j of model.Pooled

	ratio, gRatio float64 // of a level: σ_l/σ, and the gradient in its log
}

func newCustodian(t *model.Joint, j int, hub *model.Hub) custodian {
	c := custodian{Site: t.Sites[j], hub: hub, p: t.Shape.P, ratio: 1, theta: hub.Params.Theta, gTheta: vec(t.Shape.Q())}
	if c.Columns != nil {
		c.theta = vec(t.Shape.Q())
	}
	if t.Partial {
		var link model.Link
		if t.Family != model.Normal {
			link = familyOf(t.Family, c.Upper).link
		}
		c.pooled = model.NewPooled(c.Site, hub, link)
		c.theta, c.gTheta = c.pooled.Theta, vec(len(c.pooled.Own))
	}
	return c
}

func (s *custodian) common() *custodian { return s }

// lead is the number of coordinates before those of the statistics.
func (s *custodian) lead() int {
	switch {
	case s.pooled != nil:
		return len(s.pooled.Own)
	case s.Columns != nil:
		return 1
	}
	return 0
}

// takeOwn takes θ and σ, or θ_j and σ_j of x.
func (s *custodian) takeOwn(x []float64) {
	if s.pooled != nil {
		s.pooled.SetSigma(x)
		if !s.late {
			s.pooled.SetTheta(x)
		}
	}
	if s.Columns != nil {
		s.takeWithin(x[0])
	}
	s.takeSigma()
}

// takeSigma takes σ, or σ_j.
func (s *custodian) takeSigma() {
	if s.pooled != nil {
		s.sigma = s.pooled.Sigma()
	} else {
		s.sigma = s.ratio * math.Sqrt(s.hub.Params.Sigma2)
	}
}

// standard is η of model.Pooled.
func (s *custodian) standard() [][]float64 {
	if s.pooled == nil {
		return nil
	}
	return [][]float64{s.pooled.Slope}
}

// slopes are β.
func (s *custodian) slopes() []float64 { return s.theta[len(s.theta)-s.p:] }

// takeEta takes η_l = θ₀ + Σ_c u_cθ_c of a factor's columns u_c = ±1 in each level.
func (s *custodian) takeEta(eta []float64) {
	own := s.theta[1 : 1+s.Told.Dummies]
	first := s.theta[0]
	for _, c := range own {
		first -= c
	}
	for l := range eta {
		eta[l] = first
		for c, theta := range own {
			if s.Shape.Has(l, c) {
				eta[l] += 2 * theta
			}
		}
	}
}

// giveEta adds the gradient in η_l to gTheta.
func (s *custodian) giveEta(byEta []float64) {
	all := 0.0
	for l, g := range byEta {
		all += g
		for c := range s.Told.Dummies {
			if s.Shape.Has(l, c) {
				s.gTheta[1+c] += 2 * g
			}
		}
	}
	s.gTheta[0] += all
	for c := range s.Told.Dummies {
		s.gTheta[1+c] -= all
	}
}

// giveSigma adds the gradient in σ to the hub's, or takes that in σ_j.
func (s *custodian) giveSigma(g float64) {
	if s.pooled != nil {
		s.gTheta[len(s.theta)] = 0.5 * s.sigma * g // ∂σ/∂ log σ² = ½σ
	} else {
		s.hub.GSigma += s.ratio * g
		s.gRatio = s.sigma * g
	}
}

// give adds gTheta to the hub's gradient, or that and the law of (θ_j, σ_j) to the density and to the gradient of x.
func (s *custodian) give(grad, x []float64, logp float64) (float64, bool) {
	if s.pooled != nil {
		add := s.pooled.Add
		if s.late {
			add = s.pooled.AddSigma
		}
		v, ok := add(grad, x, s.gTheta)
		return logp + v, ok
	}
	if s.Columns != nil {
		s.giveWithin()
		grad[0] = levelSpread*s.gRatio - x[0]
		logp -= 0.5 * x[0] * x[0]
	} else {
		addScaled(s.hub.GTheta[:len(s.gTheta)], 1, s.gTheta)
	}
	return logp, true
}
