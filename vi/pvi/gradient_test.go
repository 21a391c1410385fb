package pvi

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/vi"
)

// oneStep is the gradient of −F in (μ, log v) at a law, from all rows at once.
func oneStep(t *testing.T, model Likelihood, law []float64, o GradientOptions) []float64 {
	o.Steps, o.Rate, o.LearningRate = 1, 1, 1
	if o.Protect.Stream == nil {
		o.Protect.Stream = simulated(3)
	}
	g := must.Get(NewGradient(model, o))(t)
	g.Aim(make([]float64, len(law)), law, []float64{0.1, -0.2, 0.3, 0.2, 0.3, 0.4})
	return g.gradient
}

// Gradients for normal likelihoods are those of the free energy in closed form,
//
//	F = Σ_i ((y_i − x_iᵀμ)² + Σ_d x_id² v_d)/2s² + KL(q ‖ cavity),
//
// by differences.
func TestNormalGradient(t *testing.T) {
	const sd = 0.8
	rows := linearRows(7, 3, sd, rand.New(rand.NewPCG(2, 2)))
	model := must.Get(Normal(rows, sd))(t)
	energy := func(lambda []float64) float64 {
		law, cavity := make([]float64, 6), []float64{0.5, 0.2, 0.7, 1.5, 2, 0.9}
		for j := range 3 {
			law[3+j] = math.Exp(-lambda[3+j])
			law[j] = lambda[j] * law[3+j]
		}
		total := 0.
		for j := range 3 { // KL(q ‖ cavity)
			ratio, gap := cavity[3+j]/law[3+j], lambda[j]-cavity[j]/cavity[3+j]
			total += (ratio - 1 - math.Log(ratio) + gap*gap*cavity[3+j]) / 2
		}
		for i, y := range rows.Y {
			for j, x := range rows.X[3*i : 3*i+3] {
				y -= x * lambda[j]
				total += x * x / law[3+j] / (2 * sd * sd)
			}
			total += y * y / (2 * sd * sd)
		}
		return total
	}
	law := []float64{0.6, 0, 1, 1.7, 2.3, 1.3} // whose cavity, with oneStep's factor, is the one above
	at := []float64{law[0] / law[3], law[1] / law[4], law[2] / law[5], -math.Log(law[3]), -math.Log(law[4]), -math.Log(law[5])}
	got := oneStep(t, model, law, GradientOptions{})
	for j := range got {
		up, down := slices.Clone(at), slices.Clone(at)
		up[j] += 1e-5
		down[j] -= 1e-5
		want := -(energy(up) - energy(down)) / 2e-5
		must.Near(t, "gradient", got[j], want, 1e-6)
	}
}

// Gradients for logistic likelihoods by many draws of z are those by integration:
// a Monte Carlo error of 1/√(2·10⁶) times numbers of order 10, for six numbers; in the short form,
// of a quarter of the draws, of twice that.
func TestLogisticGradient(t *testing.T) {
	rows := logisticRows(6, rand.New(rand.NewPCG(3, 3)))
	rows = &vi.Rows{P: 3, X: rows.X[:18], Y: rows.Y}
	model := must.Get(Logistic(rows))(t)
	law := []float64{0.6, 0, 1, 1.7, 2.3, 1.3}
	within := 0.01 * float64(testsize.Of(2, 1))
	got := oneStep(t, model, law, GradientOptions{Draws: 1 << testsize.Of(19, 21)})
	mute := Likelihood{rows, func(_, _ float64) float64 { return 0 }}
	none := oneStep(t, mute, law, GradientOptions{Draws: 1}) // the divergence's
	for j := range 3 {
		inMean, inLogVar := none[j], none[3+j]
		for i := range rows.Y {
			x := rows.X[3*i : 3*i+3]
			m, s := 0., 0.
			for k, v := range x {
				m += v * law[k] / law[3+k]
				s += v * v / law[3+k]
			}
			s = math.Sqrt(s)
			const h = 0.01
			for z := -9.; z < 9; z += h { // trapezoids: exact to rounding
				w := h * math.Exp(-z*z/2) / math.Sqrt(2*math.Pi) * model.Slope(rows.Y[i], m+s*z)
				inMean += w * x[j]
				inLogVar += w * z / (2 * s) * x[j] * x[j] / law[3+j]
			}
		}
		must.Near(t, "in the mean", got[j], inMean, within)
		must.Near(t, "in the log variance", got[3+j], inLogVar, within)
	}
}

// With the same randomness, one record instead of another moves a protected step by 2C at
// most, and an unprotected one by more.
func TestGradientSensitivity(t *testing.T) {
	rows := linearRows(20, 3, 1, rand.New(rand.NewPCG(4, 4)))
	other := &vi.Rows{P: 3, X: slices.Clone(rows.X), Y: slices.Clone(rows.Y)}
	other.X[0], other.Y[0] = 1e6, -1e9
	law := []float64{0, 0, 0, 1, 1, 1}
	for _, clip := range []float64{0.5, 3} {
		gap := make([]float64, 6)
		step := func(rows *vi.Rows, p Protection) []float64 {
			return oneStep(t, must.Get(Normal(rows, 1))(t), law, GradientOptions{Protect: p})
		}
		floats.SubTo(gap, step(rows, Protection{clip, 2, simulated(5)}), step(other, Protection{clip, 2, simulated(5)}))
		if length := floats.Norm(gap, 2); length > 2*clip*(1+1e-6) || length == 0 {
			t.Errorf("clip %v: a record moves a step by %v", clip, length)
		}
		floats.SubTo(gap, step(rows, Protection{Stream: simulated(5)}), step(other, Protection{Stream: simulated(5)}))
		if floats.Norm(gap, 2) < 1e6 {
			t.Error("without protection a record moves a step by no more: the test tests nothing")
		}
	}
}

// What a record adds is a function of the record and of what is public, to the bit: its place
// among the rows and in a batch does not matter, and it is no more than 2⁴⁰ steps of the lattice.
// So sums, whose noise is the same, differ by what a record adds, in exact integers.
func TestRecordsStandAlone(t *testing.T) {
	const n, p = 30, 5
	const steps = (1 << 40) * (1 - 1./(1<<30)) // of the clip
	rng := rand.New(rand.NewPCG(6, 6))
	rows, order := linearRows(n, p, 1, rng), rng.Perm(n)
	moved := &vi.Rows{P: p}
	for _, i := range order {
		moved.X, moved.Y = append(moved.X, rows.X[i*p:(i+1)*p]...), append(moved.Y, rows.Y[i])
	}
	limit := new(big.Int).Lsh(big.NewInt(1), 80)
	for _, draws := range []int{0, 5, 20} {
		sum := func(rows *vi.Rows, batch []int) []int64 {
			g := must.Get(NewGradient(must.Get(Normal(rows, 1))(t), GradientOptions{Steps: 1, Rate: 1, Draws: draws, LearningRate: 1, Protect: Protection{1, 1, simulated(7)}}))(t)
			copy(g.at, []float64{1e3, -1e3, 0.1, 0.2, 0.3})
			for j := range g.variance {
				g.variance[j] = float64(j + 1)
			}
			for j := range g.z {
				g.z[j] = float64(j) - 2
			}
			g.door.Add(g.at, batch)
			g.door.Release(g.gradient)
			lattice := make([]int64, 2*p)
			for j, v := range g.gradient {
				lattice[j] = int64(math.Round(v * steps))
			}
			return lattice
		}
		none, all := sum(rows, nil), make([]int64, 2*p)
		for k, i := range order {
			here, there, size := sum(rows, []int{i}), sum(moved, []int{k}), new(big.Int)
			if !slices.Equal(here, there) {
				t.Fatalf("%d draws: record %d adds %v, and %v where it stands elsewhere", draws, i, here, there)
			}
			for j, v := range here {
				all[j] += v - none[j]
				of := big.NewInt(v - none[j])
				size.Add(size, of.Mul(of, of))
			}
			if size.Cmp(limit) > 0 || size.Sign() == 0 {
				t.Fatalf("%d draws: record %d adds %v steps, squared", draws, i, size)
			}
		}
		for j, v := range sum(rows, order) {
			if v-none[j] != all[j] {
				t.Fatalf("%d draws: a batch adds %d in entry %d, and its records alone %d", draws, v-none[j], j, all[j])
			}
		}
	}
}

// By Analytic a record more moves an aim by C/s² at most.
func TestAnalyticSensitivity(t *testing.T) {
	rows := linearRows(20, 2, 1, rand.New(rand.NewPCG(5, 5)))
	fewer := &vi.Rows{P: 2, X: rows.X[2:], Y: rows.Y[1:]}
	rows.X[0], rows.Y[0] = 1e8, 1e8
	aim := func(rows *vi.Rows, p Protection) []float64 {
		a := must.Get(NewAnalytic(rows, 0.5, p))(t)
		dst := make([]float64, a.Family().Len())
		a.Aim(dst, nil, nil)
		return dst
	}
	gap := make([]float64, 5)
	floats.SubTo(gap, aim(rows, Protection{3, 2, simulated(6)}), aim(fewer, Protection{3, 2, simulated(6)}))
	if part := floats.Norm(gap, 2); part > 12 || part < 12*(1-1e-6) { // a record is coded to 2⁻²⁰ of its norm
		t.Errorf("a record moves an aim by %v, and by 3/0.25 at most", part)
	}
	floats.SubTo(gap, aim(rows, Protection{}), aim(fewer, Protection{}))
	if floats.Norm(gap, 2) < 1e15 {
		t.Error("without protection a record has no larger part: the test tests nothing")
	}
}

func TestRulesRefuse(t *testing.T) {
	rows := linearRows(5, 2, 1, rand.New(rand.NewPCG(7, 7)))
	good := GradientOptions{Steps: 1, Rate: 0.5, LearningRate: 1, Protect: Protection{Stream: simulated(8)}}
	model := must.Get(Normal(rows, 1))(t)
	must.Get(NewGradient(model, good))(t)
	for what, spoil := range map[string]func(o *GradientOptions){
		"steps":    func(o *GradientOptions) { o.Steps = 0 },
		"rate":     func(o *GradientOptions) { o.Rate = 1.5 },
		"no rate":  func(o *GradientOptions) { o.Rate = math.NaN() },
		"draws":    func(o *GradientOptions) { o.Draws = -1 },
		"learning": func(o *GradientOptions) { o.LearningRate = 0 },
		"stream":   func(o *GradientOptions) { o.Protect.Stream = nil },
		"clip":     func(o *GradientOptions) { o.Protect.Clip = 1 },
		"noise":    func(o *GradientOptions) { o.Protect.Clip, o.Protect.Multiplier = 1, 1e7 },
	} {
		o := good
		spoil(&o)
		if _, err := NewGradient(model, o); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
	for what, rows := range map[string]*vi.Rows{
		"none":       {P: 2},
		"lengths":    {P: 2, X: []float64{1}, Y: []float64{1}},
		"not finite": {P: 1, X: []float64{math.NaN()}, Y: []float64{1}},
	} {
		if _, err := Normal(rows, 1); err == nil {
			t.Errorf("%s: no error", what)
		}
		if _, err := Logistic(rows); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
	if _, err := NewAnalytic(rows, 0, Protection{}); err == nil {
		t.Error("sd 0: no error")
	}
	if _, err := Logistic(rows); err == nil {
		t.Error("responses outside [0, 1]: no error")
	}
	rule := must.Get(NewAnalytic(rows, 1, Protection{}))(t)
	if _, err := NewLocal(rule, 0, 1); err == nil {
		t.Error("damping 0: no error")
	}
	if _, err := NewLocal(rule, 1, 0); err == nil {
		t.Error("no updates: no error")
	}
}
