package pvi

import (
	"errors"
	"fmt"

	"gonum.org/v1/gonum/floats"
)

// Server keeps the global law q ∝ p(θ) Π_m t_m(θ): the prior times a factor of each
// client (Bui et al., Partitioned Variational Inference, 2018; Ashman et al., 2022). In
// natural parameters, and without a Guard,
//
//	q = p + Σ_m t_m.
//
// It sees changes of factors only, or, with a Guard, their noisy sum.
type Server struct {
	family     Family
	prior      []float64
	clients    []*Client
	guard      *Guard // nil where records are protected, or nothing
	global     []float64
	sum, next  []float64
	rejections int
}

// NewServer starts at the prior, with factors of 1. Errors: no clients, an improper prior,
// a guard that cannot work.
func NewServer(family Family, prior []float64, clients []*Client, guard *Guard) (*Server, error) {
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
	if err := guard.prepare(clients); err != nil {
		return nil, fmt.Errorf("pvi: %w", err)
	}
	return &Server{family: family, prior: prior, clients: clients, guard: guard, global: append([]float64{}, prior...),
		sum: make([]float64, family.Len()), next: make([]float64, family.Len())}, nil
}

// Global is the natural parameters of q. It is not to be changed.
func (s *Server) Global() []float64 { return s.global }

// Rejections is how many proposals would have left no law: public.
func (s *Server) Rejections() int { return s.rejections }

// Synchronous lets all clients that can still pay change their factors from the same
// global law, and accepts all changes or none. It returns false where none can pay.
func (s *Server) Synchronous() bool {
	if s.guard != nil && !s.guard.pay() {
		return false
	}
	clear(s.sum)
	var moving []*Client
	for _, c := range s.clients {
		if s.guard == nil && !c.pay() {
			continue
		}
		moving = append(moving, c)
		if s.guard != nil && s.guard.Sharing == Aggregated {
			s.common(c.factor)
		}
		c.propose(s.global)
		if s.guard != nil {
			s.guard.protect(c)
		} else {
			c.damp()
		}
		floats.Add(s.sum, c.change)
	}
	if s.accept() {
		for _, c := range moving {
			c.settle()
		}
	}
	if s.guard != nil {
		s.guard.adapt(len(moving))
	}
	return len(moving) > 0
}

// common is the factor that all clients of an Aggregated guard share: (q − p)/M.
func (s *Server) common(factor []float64) {
	floats.SubTo(factor, s.global, s.prior)
	floats.Scale(1/float64(len(s.clients)), factor)
}

// Asynchronous lets client m alone change its factor. It returns false where it cannot
// pay. It panics where a Guard is set, whose noise is for all clients together.
func (s *Server) Asynchronous(m int) bool {
	if s.guard != nil {
		panic("pvi: asynchronous updates under a guard")
	}
	c := s.clients[m]
	if !c.pay() {
		return false
	}
	c.propose(s.global)
	c.damp()
	copy(s.sum, c.change)
	if s.accept() {
		c.settle()
	}
	return true
}

// accept adds the sum to q, if that is a law. Whether it is depends on the sum alone,
// which is noisy already; where it is not, the caller leaves the factors as they were.
func (s *Server) accept() bool {
	floats.AddTo(s.next, s.global, s.sum)
	if !s.family.Proper(s.next) {
		s.rejections++
		return false
	}
	s.global, s.next = s.next, s.global
	return true
}
