package rivals

import (
	"flag"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpreg/dpreg/conjugate"
	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/internal/variate"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/model/modeltest"
)

var sbcLong = flag.Bool("sbc.long", false, "simulation-based calibration on 1000 data sets a case")

// simulation is the model as a whole.
type simulation struct {
	prior      *model.Prior
	rows       []float64 // of each party
	sdXX, sdXY []float64 // of each party's noise
	shared     bool
}

// three parties differ in rows and noise, and slopes are large: what S is then matters
// as much as what Σxy is.
func three(t testing.TB, shared bool) *simulation {
	nig := must.Get(conjugate.NewNIG([]float64{0.2, -0.3}, []float64{0.15, 0.03, 0.03, 0.12}, 4, 0.6))(t)
	niw := must.Get(conjugate.NewNIW([]float64{0, 0}, 1, []float64{1, 0.3, 0.3, 0.8}, 8))(t)
	return &simulation{&model.Prior{Theta: nig, Covariates: niw}, []float64{30, 12, 100}, []float64{3, 1.5, 9}, []float64{3, 1.5, 8}, shared}
}

// draw returns θ and σ² from the prior, and what is released at them.
func (s *simulation) draw(rng *rand.Rand) (truth []float64, parties []*party) {
	p := s.prior.Theta.Dim()
	shape := model.Shape{P: p}
	conditionals, x, own := model.NewConditionals(shape, s.prior, true), model.NewParams(shape), model.NewParams(shape)
	conditionals.DrawPrior(x, rng)
	own.Copy(x)
	truth = make([]float64, len(shape.Names()))
	x.Write(truth)
	truth = truth[:p+1]
	mu, factor, a, root, xx, xy := make([]float64, p), make([]float64, p*p), make([]float64, p*p), make([]float64, p*p), make([]float64, p*p), make([]float64, p)
	for j, n := range s.rows {
		if j > 0 && !s.shared {
			conditionals.DrawPrior(own, rng)
		}
		copy(factor, own.Tau)
		dense.Cholesky(factor, p)
		variate.WishartFactor(a, p, n, rng)
		for k := range p {
			clear(factor[k*p+k+1 : (k+1)*p])
		}
		dense.TransposeTo(xx, a, p)
		dense.MulABtLower(root, factor, dense.Lower, xx, dense.Upper, p)
		dense.LLt(xx, root, p)
		for k := range xy {
			xy[k] = math.Sqrt(truth[p]) * rng.NormFloat64()
		}
		dense.MulLowerVec(xy, root, p, xy) // N(0, σ²S)
		dense.SymMulVec(mu, xx, p, truth[:p])
		t := &party{p: p, n: n, xx: make([]float64, p*p), sdXX: make([]float64, p*p), xy: make([]float64, p), sdXY: make([]float64, p)}
		for k := range p {
			t.xy[k], t.sdXY[k] = xy[k]+mu[k]+s.sdXY[j]*rng.NormFloat64(), s.sdXY[j]
			for l := range k + 1 {
				v := xx[k*p+l] + s.sdXX[j]*rng.NormFloat64()
				t.xx[k*p+l], t.xx[l*p+k], t.sdXX[k*p+l], t.sdXX[l*p+k] = v, v, s.sdXX[j], s.sdXX[j]
			}
		}
		parties = append(parties, t)
	}
	return truth, parties
}

// ranks of θ and σ² over trials; plant, if not nil, changes what the chain is told, and then they end where that is found.
func (s *simulation) ranks(t *testing.T, trials int, plant func([]*party)) [][]float64 {
	chain := modeltest.Chain{Warmup: 1500, Draws: 39, Thin: 80}
	if *sbcLong {
		chain.Draws = 63
	}
	return modeltest.Calibrate(t, chain, trials, plant != nil, func(trial int) (mcmc.Kernel[Info], []float64, *rand.Rand) {
		rng := rand.New(rand.NewPCG(uint64(trial), 9))
		truth, parties := s.draw(rng)
		if plant != nil {
			plant(parties)
		}
		k := must.Get(NormalX.newChain(parties, s.prior, s.shared, rng))(t)
		return k, truth, rng
	})
}

// TestSBC is simulation-based calibration of normalx under its own model, of which it
// is an exact sampler: ranks are uniform, and 95 % intervals cover in 95 % of the
// trials. Each of the 36 bounds has a false-alarm rate of 1e-6. TestSBC of package gibbs says what 39 draws of 56
// data sets find. Long form, whose -v prints coverage:
//
//	go test ./bench/rivals -run SBC -sbc.long -v
func TestSBC(t *testing.T) {
	trials := testsize.Of(20, 56)
	if *sbcLong {
		trials = 1000
	}
	free := three(t, false)
	free.prior = modeltest.TamePrior(model.Shape{P: 2})
	for name, s := range map[string]*simulation{"shared": three(t, true), "separate": three(t, false), "free scales": free} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			modeltest.Report(t, model.Shape{P: s.prior.Theta.Dim()}.Names(), s.ranks(t, trials, nil))
		})
	}
}

// Faults that SBC has to find.
func TestSBCFindsFaults(t *testing.T) {
	testsize.Planted(t)
	for name, plant := range map[string]func([]*party){
		"noise on the sums of xy forgotten": func(parties []*party) {
			for _, t := range parties {
				for j := range t.sdXY {
					t.sdXY[j] /= 10
				}
			}
		},
		"noise on the sums of xx forgotten": func(parties []*party) {
			for _, t := range parties {
				for j := range t.sdXX {
					t.sdXX[j] /= 10
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if !modeltest.Unlike(three(t, true).ranks(t, 100, plant)) {
				t.Error("the fault went unnoticed")
			}
		})
	}
}
