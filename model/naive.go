package model

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/posterior"
)

// Naive is the method that ignores the noise: the posterior of (θ, σ²)
// given z as if it were s. It is kept to show what that costs: its intervals
// are too narrow, the more so the more noise there is. Draws are those of Given, and
// named by Shape.RegressionNames.
type Naive struct{}

// Name returns the method's name on the command line.
func (Naive) Name() string { return "naive" }

// Traits are of a method that adapts nothing.
func (Naive) Traits() Traits { return Traits{} }

// Can refuses noisy counts of less than a row.
func (Naive) Can(p *Problem) error {
	_, err := readNaive(p)
	return err
}

func readNaive(p *Problem) (*Joint, error) {
	if err := p.Linear(Naive{}.Name()); err != nil {
		return nil, err
	}
	joint, err := p.Join()
	if err != nil {
		return nil, err
	}
	return joint, joint.Each(func(o *Observation) error {
		if o.N < 1 {
			return fmt.Errorf("naive: the noisy count of rows is %g, and naive has to take it for exact; gibbs-ss-update infers the count", o.N)
		}
		return nil
	})
}

// Sample draws from that posterior; of several releases, that of their rows
// together. Where no data could have the statistics z of a release, they are projected
// first (Projection), and a warning says so. The plan's warm-up is not run. Where pooling
// is partial, draws are of a Markov chain (Hierarchy), warm-up is run, and they are named
// as by Joint.Names, without what only the law of the statistics has.
func (Naive) Sample(ctx context.Context, p *Problem, plan mcmc.Plan) (*posterior.Draws, error) {
	joint, err := readNaive(p)
	if err != nil {
		return nil, err
	}
	var all [][]float64 // as naive takes them for exact
	projected := false
	for _, site := range joint.Sites {
		s, changed := site.projected(site.N)
		all, projected = append(all, s), projected || changed
	}
	layout := Layout{Shape: joint.Shape, Partial: joint.Partial, Latent: make([]bool, len(joint.Sites))}
	start := func(_ int, rng *rand.Rand) (mcmc.Kernel[struct{}], error) { return joint.naively(all, rng) }
	if !joint.Partial {
		plan.Warmup = 0
	}
	draws, err := mcmc.Run(ctx, mcmc.Columns{Params: Names(layout.Drawn())}, start, func(struct{}, []float64) {}, plan)
	if draws != nil {
		draws.Warnings = append(draws.Warnings, "naive takes the noisy statistics for exact ones: its intervals are too narrow")
	}
	if draws != nil && projected {
		draws.Warnings = append(draws.Warnings, "the noisy statistics are such as no data could have: naive projected them, once")
	}
	return draws, err
}

// naively is a chain given these statistics: from the posterior of all rows together, or of
// partially pooled regressions.
func (t *Joint) naively(all [][]float64, rng *rand.Rand) (mcmc.Kernel[struct{}], error) {
	if !t.Partial {
		z := make([]float64, t.Shape.Statistics())
		for _, s := range all {
			floats.Add(z, s)
		}
		return NewGiven("naive", t.Shape, t.Prior, false, z, t.Rows()), nil
	}
	h := NewHierarchy(t.Shape, t.Prior, len(t.Sites))
	for j, s := range all {
		if !h.Observe(j, s, t.Sites[j].N) {
			return nil, &SiteError{j, errors.New("naive: the statistics are not finite in common units")}
		}
	}
	h.Start(rng)
	return &Given{method: "naive", draw: h.Step, write: func(dst []float64) { h.Write(dst[h.WriteShared(dst):]) }}, nil
}

// projected are the noisy statistics as those of n rows, in common units: the nearest ones
// that rows can have, where none have these.
func (s *Site) projected(n float64) (z []float64, changed bool) {
	z = slices.Clone(s.Z)
	changed = NewProjection(s.Shape.M()).Apply(z, n)
	s.Units.Common(z, z, n)
	return z, changed
}

// Projection maps statistics s that no data could have to the nearest that
// some could: n and the linear sums s₁ stay, the eigenvalues of the scatter
// A = S − s₁s₁ᵀ/n are clipped at 0 (the projection of A onto the PSD cone in
// Frobenius norm). B is PSD if and only if A is, by the Schur complement.
type Projection struct {
	m       int
	scatter []float64
	vectors []float64
	values  []float64
	work    []float64
}

// NewProjection allocates for m columns.
func NewProjection(m int) *Projection {
	return &Projection{m: m, scatter: make([]float64, m*m), vectors: make([]float64, m*m), values: make([]float64, m), work: make([]float64, m*m)}
}

// Apply projects s, canonical order, of n rows in place and reports whether it
// had to.
func (p *Projection) Apply(s []float64, n float64) bool {
	m := p.m
	Scatter(p.scatter, s, m, n)
	copy(p.work, p.scatter)
	if dense.Cholesky(p.work, m) {
		return false
	}
	dense.SymEigen(p.values, p.vectors, p.scatter, m, p.work)
	if !(p.values[0] < 0) {
		return false
	}
	for i, v := range p.values {
		p.values[i] = max(v, 0)
	}
	dense.FromEigen(p.scatter, p.values, p.vectors, m)
	at := m
	for j := range m {
		for k := j; k < m; k++ {
			s[at] = p.scatter[j*m+k] + s[j]*s[k]/n
			at++
		}
	}
	return true
}

// Scatter writes A = S − s₁s₁ᵀ/n, m×m row-major, from s in canonical order.
func Scatter(dst, s []float64, m int, n float64) {
	at := m
	for j := range m {
		mean := s[j] / n
		for k := j; k < m; k++ {
			a := s[at] - mean*s[k]
			dst[j*m+k], dst[k*m+j] = a, a
			at++
		}
	}
}
