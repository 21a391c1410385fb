// Package pvi is partitioned variational inference: clients keep their records, and a
// server keeps a normal law that is the prior times a factor of each client (Bui et al.,
// 2018; Ashman et al., 2022), with differential privacy for records (Sharma et al., 2019).
//
// A Rule says what a client's factor should be: Gradient by stochastic gradients, Analytic
// in closed form for linear regression. A Client moves its factor some of the way there, as
// often as its Budget allows, and a Server adds up what clients send, in rounds of all or
// one client after the other. docs/pvi.md has the proofs.
package pvi

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/dpreg/dpreg/mechanisms/accounting"
)

// Family is a family of normal laws N(μ, Λ⁻¹) of Dim coefficients, given by natural
// parameters: the shift h = Λμ, then the precision Λ, its diagonal alone or, where Full,
// the lower triangle row by row. Laws and factors multiply by adding these.
type Family struct {
	Dim  int
	Full bool
}

// Len is how many natural parameters there are.
func (f Family) Len() int {
	if f.Full {
		return f.Dim + f.Dim*(f.Dim+1)/2
	}
	return 2 * f.Dim
}

// Isotropic returns N(0, sd² I).
func (f Family) Isotropic(sd float64) []float64 {
	law := make([]float64, f.Len())
	for j, at := 0, f.Dim; j < f.Dim; j, at = j+1, at+1 {
		if f.Full {
			at += j
		}
		law[at] = 1 / (sd * sd)
	}
	return law
}

// Proper tells whether the precision is positive definite and all is finite: whether
// natural parameters are those of a law.
func (f Family) Proper(law []float64) bool {
	for _, v := range law {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	if f.Full {
		var factor mat.Cholesky
		return factor.Factorize(f.precision(law))
	}
	for _, v := range law[f.Dim:] {
		if !(v > 0) {
			return false
		}
	}
	return true
}

// precision is Λ of a full law.
func (f Family) precision(law []float64) *mat.SymDense {
	p := mat.NewSymDense(f.Dim, nil)
	for j, at := 0, f.Dim; j < f.Dim; j++ {
		for k := 0; k <= j; k, at = k+1, at+1 {
			p.SetSym(j, k, law[at])
		}
	}
	return p
}

// errImproper is what a caller's law that is none gives.
var errImproper = errors.New("natural parameters without a positive definite precision")

// Moments returns the mean μ and the covariance Λ⁻¹. Errors: the law is not Proper.
func (f Family) Moments(law []float64) (mean []float64, covariance *mat.SymDense, err error) {
	if !f.Proper(law) {
		return nil, nil, errImproper
	}
	covariance = mat.NewSymDense(f.Dim, nil)
	mean = make([]float64, f.Dim)
	if !f.Full {
		for j := range mean {
			mean[j] = law[j] / law[f.Dim+j]
			covariance.SetSym(j, j, 1/law[f.Dim+j])
		}
		return mean, covariance, nil
	}
	var factor mat.Cholesky
	factor.Factorize(f.precision(law))
	if err := factor.SolveVecTo(mat.NewVecDense(f.Dim, mean), mat.NewVecDense(f.Dim, law[:f.Dim])); err != nil {
		return nil, nil, err
	}
	return mean, covariance, factor.InverseTo(covariance)
}

// Rule finds what a client's factor should be.
type Rule interface {
	// Family is that of the factors.
	Family() Family
	// Len is the number of records.
	Len() int
	// Aim overwrites dst, which may be factor, with the factor to go to from this global
	// law and factor.
	Aim(dst, global, factor []float64)
	// Spends is the noisy releases of records that one Aim makes; it has no steps where Aim
	// makes none and what it writes is not private.
	Spends() accounting.Training
}

// Client holds records, behind a Rule, and a factor t that stands for them.
type Client struct {
	rule    Rule
	damping float64
	left    int // updates that the budget has room for; below 0: any number

	factor, change []float64
}

// NewClient has a factor of 1 and moves a share damping, in (0, 1], of the way to a rule's
// aim. Of budget, nil for none, it does as many updates as fit. Errors: no records, damping
// out of range, a budget for a rule that is not private, a budget too small for one update.
func NewClient(rule Rule, damping float64, budget *Budget) (c *Client, err error) {
	if rule.Len() < 1 {
		return nil, errEmpty
	}
	if !(damping > 0 && damping <= 1) {
		return nil, fmt.Errorf("damping must lie in (0, 1], not %v", damping)
	}
	size := rule.Family().Len()
	c = &Client{rule: rule, damping: damping, left: -1, factor: make([]float64, size), change: make([]float64, size)}
	if budget != nil {
		c.left, err = budget.Updates(rule.Spends())
	}
	return c, err
}

// Factor is the natural parameters of t, not to be changed.
func (c *Client) Factor() []float64 { return c.factor }

// propose takes an update from the budget, where there is room for one, and then computes
// the change: damping times the way to the aim, and in coordinates where the precision would
// be negative what makes the factor 1 (Sharma et al. 2019). Both are post-processing of what
// Aim released.
func (c *Client) propose(global []float64) bool {
	if c.left == 0 {
		return false
	}
	c.left = max(-1, c.left-1)
	c.rule.Aim(c.change, global, c.factor)
	floats.Sub(c.change, c.factor)
	floats.Scale(c.damping, c.change)
	if c.rule.Family().Full {
		return true
	}
	d := len(c.factor) / 2
	for j := range d {
		if c.factor[d+j]+c.change[d+j] < 0 {
			c.change[j], c.change[d+j] = -c.factor[j], -c.factor[d+j]
		}
	}
	return true
}

// Budget is what a client may spend on all its updates together, counted by privacy-loss
// distributions.
type Budget struct {
	Epsilon, Delta float64
}

// Updates returns how many updates a client may do, each of which makes the releases of one.
// Errors: budget or releases out of range, no update fits.
func (b Budget) Updates(one accounting.Training) (int, error) {
	if !(b.Epsilon > 0) || math.IsInf(b.Epsilon, 0) {
		return 0, fmt.Errorf("epsilon must be positive and finite, not %v", b.Epsilon)
	}
	first, err := one.Epsilon(accounting.PLD, b.Delta)
	if err != nil {
		return 0, fmt.Errorf("a budget needs updates that spend: %w", err)
	}
	if first > b.Epsilon {
		return 0, fmt.Errorf("epsilon = %v at delta = %v is too small for one update, which spends %.3g: more noise, fewer steps or smaller batches are needed", b.Epsilon, b.Delta, first)
	}
	steps, err := one.FindSteps(accounting.PLD, b.Epsilon, b.Delta)
	return steps / one.Steps, err
}

// Server keeps the global law q ∝ p(θ) Π_m t_m(θ): the prior times a factor of each
// client (Bui et al., Partitioned Variational Inference, 2018; Ashman et al., 2022). In
// natural parameters
//
//	q = p + Σ_m t_m.
//
// It sees changes of factors only.
type Server struct {
	family     Family
	prior      []float64
	clients    []*Client
	global     []float64
	next       []float64
	rejections int
}

// NewServer starts at the prior, with factors of 1. Errors: no clients, an improper prior.
func NewServer(family Family, prior []float64, clients []*Client) (*Server, error) {
	if len(clients) == 0 {
		return nil, errors.New("pvi: no clients")
	}
	if len(prior) != family.Len() || !family.Proper(prior) {
		return nil, fmt.Errorf("pvi: prior: %w", errImproper)
	}
	for m, c := range clients {
		if c.rule.Family() != family {
			return nil, fmt.Errorf("pvi: client %d has factors of another family of laws than the server", m+1)
		}
	}
	return &Server{family: family, prior: prior, clients: clients, global: append([]float64{}, prior...), next: make([]float64, family.Len())}, nil
}

// Global is the natural parameters of q. It is not to be changed.
func (s *Server) Global() []float64 { return s.global }

// Rejections is how many proposals would have left no law: public.
func (s *Server) Rejections() int { return s.rejections }

// Synchronous lets all clients that can still pay change their factors from the same
// global law, and accepts all changes or none. It returns false where none can pay.
func (s *Server) Synchronous() bool { return s.update(s.clients...) }

// Asynchronous lets client m alone change its factor. It returns false where it cannot pay.
func (s *Server) Asynchronous(m int) bool { return s.update(s.clients[m]) }

// update adds what clients send to q, if that is a law. Whether it is depends on what they
// send alone, which is noisy already; where it is not, all factors stay as they were.
func (s *Server) update(clients ...*Client) bool {
	clear(s.next)
	var moving []*Client
	for _, c := range clients {
		if c.propose(s.global) {
			moving = append(moving, c)
			floats.Add(s.next, c.change)
		}
	}
	floats.Add(s.next, s.global)
	if !s.family.Proper(s.next) {
		s.rejections++
		return len(moving) > 0
	}
	s.global, s.next = s.next, s.global
	for _, c := range moving {
		floats.Add(c.factor, c.change)
	}
	return len(moving) > 0
}
