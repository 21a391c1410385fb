package predict_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/predict"
)

// pooledDraws are draws, in the data's units, of a regression that two custodians pool
// partially; width numbers a draw.
func pooledDraws(n int) (d *posterior.Draws, width int) {
	rng := rand.New(rand.NewPCG(7, 1))
	names := []string{"theta[0]", "theta[1]", "theta[2]", "sigma2"}
	for _, pair := range []string{"0,0", "0,1", "0,2", "1,1", "1,2", "2,2"} {
		names = append(names, "omega["+pair+"]")
	}
	names = append(names, "theta_at[1,0]", "theta_at[1,1]", "theta_at[1,2]", "theta_at[2,0]", "theta_at[2,1]", "theta_at[2,2]",
		"spread_log_sigma", "sigma_at[1]", "sigma_at[2]")
	d = &posterior.Draws{Names: names, Chains: make([][]float64, 2)}
	for i := range 2 * n {
		theta := []float64{20 + rng.NormFloat64(), 0.1 * rng.NormFloat64(), 3 + rng.NormFloat64()}
		s := 1 + rng.Float64()
		l := []float64{1 + rng.Float64(), 0.3 * rng.NormFloat64(), 0.2 + 0.1*rng.Float64(), rng.NormFloat64(), 0.2, 0.5 + rng.Float64()} // Ω = LLᵀ
		row := append(theta, s, l[0]*l[0], l[0]*l[1], l[0]*l[3], l[1]*l[1]+l[2]*l[2], l[1]*l[3]+l[2]*l[4], l[3]*l[3]+l[4]*l[4]+l[5]*l[5])
		row = append(row, theta[0]+1, theta[1], theta[2]+2, theta[0]-5, theta[1]+rng.NormFloat64(), theta[2])
		row = append(row, 0.2+0.3*rng.Float64(), 2*math.Sqrt(s), 0.5*math.Sqrt(s))
		d.Chains[i%2] = append(d.Chains[i%2], row...)
	}
	return d, len(names)
}

// TestPredictNewCustodian: of a new custodian, moments and tails are those of
// y ~ N(θᵀa, σ_new² + aᵀΩa), log σ_new ~ N(log σ, υ²), over the draws, computed here in the
// data's units by 200 quantiles of σ_new; those of the line are without σ_new², and draws
// without υ have one σ for all.
func TestPredictNewCustodian(t *testing.T) {
	const levels = 200
	design, _ := twoSlopes(1)
	own, _ := pooledDraws(500)
	shared := own.Map(own.Names[:16], func(dst, src []float64) { copy(dst, src) })
	x := []float64{2013, 0.5}
	a := []float64{1, x[0], x[1]}
	for i, c := range []struct {
		draws *posterior.Draws
		mean  bool
	}{{own, false}, {own, true}, {shared, false}} {
		d, mean, width := c.draws, c.mean, len(c.draws.Names)
		p := must.Get(predict.New(d, design, dpreg.Original, predict.Options{Level: 0.9, Mean: mean}))(t)
		got := must.Get(p.Predict(x))(t)
		var line, variance, fixed, sigma2, upsilon []float64
		for _, chain := range d.Chains {
			for i := 0; i < len(chain); i += width {
				r := chain[i : i+width]
				o := [][]float64{{r[4], r[5], r[6]}, {r[5], r[7], r[8]}, {r[6], r[8], r[9]}}
				v, l, s2, u := 0.0, 0.0, r[3], 0.0
				if width > 16 {
					u = r[16]
				}
				if mean {
					s2 = 0
				}
				for j := range a {
					l += r[j] * a[j]
					for k := range a {
						v += a[j] * o[j][k] * a[k]
					}
				}
				line, variance = append(line, l), append(variance, v+s2*math.Exp(2*u*u))
				fixed, sigma2, upsilon = append(fixed, v), append(sigma2, s2), append(upsilon, u)
			}
		}
		centre, sd := meanSD(line)
		within, _ := meanSD(variance)
		must.Near(t, "mean", got.Fitted, centre, 1e-7)
		must.Near(t, "sd", got.SD, math.Sqrt(sd*sd+within), 1e-6*got.SD)
		for end, want := range map[float64]float64{got.Lower: 0.05, got.Upper: 0.95} {
			below := 0.0
			for i := range line {
				for k := range levels {
					e := math.Sqrt2 * math.Erfinv((2*float64(k)+1)/levels-1)
					sd := math.Sqrt(fixed[i] + sigma2[i]*math.Exp(2*upsilon[i]*e))
					below += math.Erfc((line[i]-end)/(math.Sqrt2*sd)) / 2 / float64(len(line)*levels)
				}
			}
			must.Near(t, "tail", below, want, []float64{1e-3, 1e-6, 1e-6}[i])
		}
	}
}

// TestPredictForCustodian: each custodian has its own coefficients and σ_j; which there is not
// is said.
func TestPredictForCustodian(t *testing.T) {
	design, _ := twoSlopes(1)
	d, _ := pooledDraws(200)
	first := d.Map(d.Names[:4], func(dst, src []float64) { copy(dst, src[10:13]); dst[3] = src[17] * src[17] })
	of := func(d *posterior.Draws, custodian int) predict.Prediction {
		p := must.Get(predict.New(d, design, dpreg.Original, predict.Options{Custodian: custodian}))(t)
		return must.Get(p.Predict([]float64{2003, 0.2}))(t)
	}
	if got, want := of(d, 1), of(first, 0); got != want {
		t.Errorf("the first custodian: %+v, from its coefficients alone %+v", got, want)
	}
	common := must.Get(predict.New(d, design, dpreg.Original, predict.Options{Common: true}))(t)
	got := must.Get(common.Predict([]float64{2003, 0.2}))(t)
	if want := of(d.Map(d.Names[:4], func(dst, src []float64) { copy(dst, src) }), 0); got != want {
		t.Errorf("the common regression: %+v, from its coefficients alone %+v", got, want)
	}
	if of(d, 1) == of(d, 2) {
		t.Error("both custodians have one prediction")
	}
	for want, draws := range map[string]*posterior.Draws{"no custodian 3": d, "without partial pooling": first} {
		must.Fail(t, must.Err(predict.New(draws, design, dpreg.Original, predict.Options{Custodian: 3})), want)
	}
}
