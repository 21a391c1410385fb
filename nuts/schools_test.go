package nuts

import (
	"math"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/mcmc"
)

// Eight schools (Rubin 1981): y_j ~ N(θ_j, s_j²), θ_j ~ N(μ, τ²), μ ~ N(0, 5²),
// τ ~ half-Cauchy(0, 5).
var (
	effect  = []float64{28, 8, -3, 7, -1, 1, 18, 12}
	errors8 = []float64{15, 10, 16, 11, 9, 11, 10, 18}
)

// prior is the log density of (μ, log τ), its gradient in g.
func schoolsPrior(g, x []float64) float64 {
	mu, t2 := x[0], math.Exp(2*x[1])/25
	g[0], g[1] = -mu/25, 1-2*t2/(1+t2)
	return -mu*mu/50 + x[1] - math.Log1p(t2)
}

// centred has the coordinates (μ, log τ, θ).
var centred = function{10, func(g, x []float64) (float64, error) {
	logp, mu, w := schoolsPrior(g, x), x[0], math.Exp(-2*x[1])
	for j, theta := range x[2:] {
		e, d := (effect[j]-theta)/errors8[j], theta-mu
		logp -= 0.5*e*e + 0.5*w*d*d + x[1]
		g[2+j] = e/errors8[j] - w*d
		g[0] += w * d
		g[1] += w*d*d - 1
	}
	return logp, nil
}}

// nonCentred has (μ, log τ, η), θ = μ + τη.
var nonCentred = function{10, func(g, x []float64) (float64, error) {
	logp, mu, tau := schoolsPrior(g, x), x[0], math.Exp(x[1])
	for j, eta := range x[2:] {
		e := (effect[j] - mu - tau*eta) / errors8[j]
		r := e / errors8[j]
		logp -= 0.5*e*e + 0.5*eta*eta
		g[2+j] = tau*r - eta
		g[0] += r
		g[1] += tau * eta * r
	}
	return logp, nil
}}

// schoolsMoments integrates over log τ: given it, μ and each θ_j are normal.
//
//	y_j | μ, τ ~ N(μ, v_j), v_j = s_j² + τ²;  μ | y, τ ~ N(m, 1/a),
//	a = 1/25 + Σ 1/v_j,  m = Σ (y_j/v_j)/a.
func schoolsMoments() (mu, mu2, logTau, first float64) {
	var norm float64
	const step = 0.001
	for l := -12.0; l < 9; l += step {
		t2 := math.Exp(2 * l)
		a, b, logp := 1.0/25, 0.0, l-math.Log1p(t2/25)
		for j, y := range effect {
			v := errors8[j]*errors8[j] + t2
			a += 1 / v
			b += y / v
			logp -= 0.5*math.Log(v) + 0.5*y*y/v
		}
		m := b / a
		p := math.Exp(logp + 0.5*b*m - 0.5*math.Log(a))
		shrink := t2 / (t2 + errors8[0]*errors8[0])
		norm += p
		mu += p * m
		mu2 += p * (m*m + 1/a)
		logTau += p * l
		first += p * (shrink*effect[0] + (1-shrink)*m)
	}
	return mu / norm, mu2 / norm, logTau / norm, first / norm
}

func TestEightSchools(t *testing.T) {
	checkGradient(t, centred)
	checkGradient(t, nonCentred)
	plan := mcmc.Plan{Chains: 4, Warmup: 1000, Draws: 2500, Seed: 8}
	d := draw(t, nonCentred, Options{TargetAccept: 0.95}, plan)
	if len(d.Warnings) > 0 {
		t.Errorf("non-centred: %q", d.Warnings)
	}
	mu, mu2, logTau, first := schoolsMoments()
	m, l, theta := d.Column(0), d.Column(1), d.Column(2)
	for c := range theta {
		for i := range theta[c] {
			theta[c][i] = m[c][i] + math.Exp(l[c][i])*theta[c][i]
		}
	}
	square := apply(m, func(v float64) float64 { return v * v })
	check(t, "E μ", mean(m), mu, mcseMean(m))
	check(t, "E μ²", mean(square), mu2, mcseMean(square))
	check(t, "E log τ", mean(l), logTau, mcseMean(l))
	check(t, "E θ₁", mean(theta), first, mcseMean(theta))

	d = draw(t, centred, Options{}, plan)
	must.Say(t, strings.Join(d.Warnings, " "), "diverged")
}
