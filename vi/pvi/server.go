package pvi

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// Server keeps the global law q ∝ p(θ) Π_m t_m(θ): the prior times a factor of each
// client (Bui et al., Partitioned Variational Inference, 2018; Ashman et al., 2022). In
// natural parameters
//
//	q = p + Σ_m t_m.
//
// It sees changes of factors only, adds them up, and gives each client its own back.
type Server struct {
	family     Family
	clients    []Client
	factors    [][]float64
	asked      []int // how often each client was
	global     []float64
	next       []float64
	rejections int
}

// NewServer starts at the prior, with factors of 1. Errors: no clients, an improper prior.
func NewServer(family Family, prior []float64, clients []Client) (*Server, error) {
	if len(clients) == 0 {
		return nil, errors.New("pvi: no clients")
	}
	if len(prior) != family.Len() || !family.Proper(prior) {
		return nil, fmt.Errorf("pvi: prior: %w", errImproper)
	}
	s := &Server{family: family, clients: clients, asked: make([]int, len(clients)), global: slices.Clone(prior), next: make([]float64, family.Len())}
	for range clients {
		s.factors = append(s.factors, make([]float64, family.Len()))
	}
	return s, nil
}

// Global is the natural parameters of q. It is not to be changed.
func (s *Server) Global() []float64 { return s.global }

// Factor is those of t_m. It is not to be changed.
func (s *Server) Factor(m int) []float64 { return s.factors[m] }

// Rejections is how many proposals would have left no law: public.
func (s *Server) Rejections() int { return s.rejections }

// Ask asks clients, or all where none is named, for changes from the same global law, and adds
// these to q, in their order, if that leaves a law: whether it does depends on what they send
// alone, which is noisy already. Where it does not, all factors stay as they were. It returns false
// where no client proposes a change.
func (s *Server) Ask(ctx context.Context, clients ...int) (moved bool, err error) {
	if clients == nil {
		for m := range s.clients {
			clients = append(clients, m)
		}
	}
	changes := make([][]float64, len(clients))
	clear(s.next)
	for i, m := range clients {
		s.asked[m]++
		change, err := s.clients[m].Update(ctx, Task{s.asked[m], s.global, s.factors[m]})
		if err == nil && change != nil && len(change) != len(s.global) {
			err = fmt.Errorf("a change of %d numbers, where the server has %d", len(change), len(s.global))
		}
		if err != nil {
			return false, fmt.Errorf("client %d: %w", m+1, err)
		}
		if changes[i] = change; change != nil {
			moved = true
			floats.Add(s.next, change)
		}
	}
	floats.Add(s.next, s.global)
	if !s.family.Proper(s.next) {
		s.rejections++
		return moved, nil
	}
	s.global, s.next = s.next, s.global
	for i, m := range clients {
		if changes[i] != nil {
			floats.Add(s.factors[m], changes[i])
		}
	}
	return moved, nil
}
