package pvi

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"

	"github.com/dpreg/dpreg/internal/must"
)

// step is a round of all clients.
func step(t *testing.T, s *Server) {
	t.Helper()
	must.Get(s.Ask(t.Context()))(t)
}

// linearServer has clients of 3 coefficients by Analytic, and the exact posterior.
func linearServer(t *testing.T) (s *Server, prior, exact []float64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 1))
	const sd = 0.7
	f := Family{Dim: 3, Full: true}
	prior = f.Isotropic(2)
	exact = slices.Clone(prior)
	var clients []Client
	for m := range 4 {
		rows := linearRows(5+3*m, 3, sd, rng)
		for i, y := range rows.Y {
			x := rows.X[3*i : 3*i+3]
			for j := range x {
				exact[j] += x[j] * y / (sd * sd)
				for k := range j + 1 {
					exact[3+j*(j+1)/2+k] += x[j] * x[k] / (sd * sd)
				}
			}
		}
		clients = append(clients, must.Get(NewLocal(must.Get(NewAnalytic(rows, sd, Protection{}))(t), 0.5, 100))(t))
	}
	return must.Get(NewServer(f, prior, clients))(t), prior, exact
}

// sumOfFactors is the prior plus all factors, which q has to be.
func sumOfFactors(s *Server, prior []float64) []float64 {
	sum := slices.Clone(prior)
	for m := range s.clients {
		floats.Add(sum, s.Factor(m))
	}
	return sum
}

// Without noise a conjugate model's global law becomes the exact posterior, half of the
// way each time.
func TestConjugateIsExact(t *testing.T) {
	for _, synchronous := range []bool{true, false} {
		s, prior, exact := linearServer(t)
		for round := range 60 {
			if synchronous {
				step(t, s)
			}
			for m := range s.clients {
				if !synchronous {
					must.Get(s.Ask(t.Context(), (m+round)%len(s.clients)))(t)
				}
			}
			if !floats.EqualApprox(s.Global(), sumOfFactors(s, prior), 1e-10) {
				t.Fatal("the global law is not the prior times the factors")
			}
		}
		if !floats.EqualApprox(s.Global(), exact, 1e-9) {
			t.Errorf("synchronous %v: %v, and the exact posterior is %v", synchronous, s.Global(), exact)
		}
	}
}

// A proposal that would leave no law moves neither the server nor any client.
func TestRejectionRollsBack(t *testing.T) {
	f := Family{Dim: 1, Full: true}
	good := must.Get(NewLocal(constant{f, []float64{1, 1}}, 1, 100))(t)
	bad := must.Get(NewLocal(constant{f, []float64{1, -5}}, 1, 100))(t)
	s := must.Get(NewServer(f, f.Isotropic(1), []Client{good, bad}))(t)
	step(t, s)
	must.Get(s.Ask(t.Context(), 1))(t)
	if s.Rejections() != 2 || !floats.Equal(s.Global(), []float64{0, 1}) || !floats.Equal(s.Factor(0), []float64{0, 0}) || !floats.Equal(s.Factor(1), []float64{0, 0}) {
		t.Errorf("after %d rejections: global %v, factors %v, %v", s.Rejections(), s.Global(), s.Factor(0), s.Factor(1))
	}
	// With noise rounds are rejected too, and the factors still add up.
	var clients []Client
	rng := rand.New(rand.NewPCG(2, 2))
	for m := range 4 {
		rule := must.Get(NewAnalytic(linearRows(5, 3, 1, rng), 1, Protection{5, 20, simulated(uint64(m))}))(t)
		clients = append(clients, must.Get(NewLocal(rule, 0.5, 100))(t))
	}
	prior := Family{Dim: 3, Full: true}.Isotropic(0.05)
	s = must.Get(NewServer(Family{Dim: 3, Full: true}, prior, clients))(t)
	for range 50 {
		step(t, s)
		if !floats.EqualApprox(s.Global(), sumOfFactors(s, prior), 1e-6) || !s.family.Proper(s.Global()) {
			t.Fatal("the global law is none, or not the prior times the factors")
		}
	}
	if s.Rejections() == 0 || s.Rejections() == 50 {
		t.Errorf("%d of 50 rounds were rejected: the test tests nothing", s.Rejections())
	}
}

// Where a factor's precision would become negative under a rule for records, the factor
// becomes 1 in that coordinate.
func TestFloor(t *testing.T) {
	f := Family{Dim: 2}
	c := must.Get(NewLocal(constant{f, []float64{1, 1, -3, 2}}, 0.5, 100))(t)
	s := must.Get(NewServer(f, f.Isotropic(1), []Client{c}))(t)
	must.Get(s.Ask(t.Context(), 0))(t)
	if !floats.Equal(s.Factor(0), []float64{0, 0.5, 0, 1}) {
		t.Errorf("factor %v", s.Factor(0))
	}
}

// A client computes nothing for a task that is none: no law, no factor, another family's.
func TestLocalRefuses(t *testing.T) {
	c := must.Get(NewLocal(constant{Family{Dim: 1}, []float64{1, 1}}, 1, 100))(t)
	nan, inf := math.NaN(), math.Inf(1)
	for _, task := range []Task{
		{1, []float64{0, -1}, []float64{0, 0}},
		{1, []float64{nan, 1}, []float64{0, 0}},
		{1, []float64{0, 1}, []float64{0, inf}},
		{1, []float64{0, 1}, []float64{0}},
		{1, []float64{0, 1, 1}, []float64{0, 0}},
	} {
		if change, err := c.Update(t.Context(), task); err == nil || change != nil {
			t.Errorf("%v: change %v, error %v", task, change, err)
		}
	}
}

func TestServerRefuses(t *testing.T) {
	f := Family{Dim: 1, Full: true}
	c := must.Get(NewLocal(constant{f, []float64{1, 1}}, 1, 100))(t)
	for what, make := range map[string]func() (*Server, error){
		"no clients":     func() (*Server, error) { return NewServer(f, f.Isotropic(1), nil) },
		"improper prior": func() (*Server, error) { return NewServer(f, []float64{0, -1}, []Client{c}) },
		"other family": func() (*Server, error) {
			s := must.Get(NewServer(Family{Dim: 2, Full: true}, []float64{0, 0, 1, 0, 1}, []Client{c}))(t)
			_, err := s.Ask(t.Context(), 0)
			return s, err
		},
	} {
		if _, err := make(); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
}
