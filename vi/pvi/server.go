package pvi

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

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

// Synchronous asks all clients at once for changes from the same global law, and accepts all
// changes or none. It returns false where none proposes any.
func (s *Server) Synchronous(ctx context.Context) (bool, error) {
	all := make([]int, len(s.clients))
	for m := range all {
		all[m] = m
	}
	return s.update(ctx, all...)
}

// Asynchronous asks client m alone. It returns false where it proposes nothing.
func (s *Server) Asynchronous(ctx context.Context, m int) (bool, error) { return s.update(ctx, m) }

// update adds what clients send to q, in their order, if that is a law. Whether it is depends on
// what they send alone, which is noisy already; where it is not, all factors stay as they were.
func (s *Server) update(ctx context.Context, which ...int) (moved bool, err error) {
	changes, errs := make([][]float64, len(which)), make([]error, len(which))
	var asking sync.WaitGroup
	for i, m := range which {
		s.asked[m]++
		asking.Go(func() {
			changes[i], errs[i] = s.clients[m].Update(ctx, Task{s.asked[m], s.global, s.factors[m]})
			if errs[i] == nil && changes[i] != nil && len(changes[i]) != len(s.global) {
				errs[i] = fmt.Errorf("a change of %d numbers, where the server has %d", len(changes[i]), len(s.global))
			}
			if errs[i] != nil {
				errs[i] = fmt.Errorf("client %d: %w", m+1, errs[i])
			}
		})
	}
	asking.Wait()
	if err := errors.Join(errs...); err != nil {
		return false, err
	}
	clear(s.next)
	for _, change := range changes {
		if change != nil {
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
	for i, m := range which {
		if changes[i] != nil {
			floats.Add(s.factors[m], changes[i])
		}
	}
	return moved, nil
}
