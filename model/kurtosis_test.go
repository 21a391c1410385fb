package model

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Σe² of rows whose residuals have a kurtosis κ has the mean nσ² and the variance n(κ − 1)σ⁴; κ here
// is known, and σ is 1. Bounds are of five standard errors, of log-normal w of variance V.
func TestKurtosis(t *testing.T) {
	const n, draws = 100, 400_000
	rng := rand.New(rand.NewPCG(7, 1))
	for _, kappa := range []float64{3, 8, 60} {
		k := Kurtosis{Least: kappa, Most: math.Max(kappa, 3.0001), Rows: n}
		mean, square, fourth := 0.0, 0.0, 0.0
		for range draws {
			chi2 := 0.0
			for range 10 { // ten degrees of freedom each are as good as a hundred rows of one
				v := rng.NormFloat64()
				chi2 += v * v
			}
			sum := math.Exp(k.Rand(rng)) * n * (1 + (chi2-10)/10/math.Sqrt(10))
			d := sum - n
			mean, square, fourth = mean+d/draws, square+d*d/draws, fourth+d*d*d*d/draws
		}
		want := n * (kappa - 1)
		if se := math.Sqrt(square / draws); math.Abs(mean) > 5*se {
			t.Errorf("kurtosis %g: mean %g off, of %g", kappa, mean, se)
		}
		if se := math.Sqrt((fourth - square*square) / draws); math.Abs(square-want) > 5*se {
			t.Errorf("kurtosis %g: variance %g, want %g ± %g", kappa, square, want, se)
		}
	}
	if v, want := (Kurtosis{Least: 11, Most: 21, Rows: 98}).Variance(), (10/math.Ln2-2)/100; math.Abs(v-want) > 1e-12 {
		t.Errorf("variance of w is %g, want %g", v, want)
	}
}

// No law on [−1, 1] has a kurtosis out of the bounds that its mean and sd give, and laws of two values,
// one of them a bound, have the least.
func TestBoundedKurtosis(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 2))
	moments := func(values, weights []float64) (mean, sd, kurtosis float64) {
		sum, square, fourth := 0.0, 0.0, 0.0
		for i, w := range weights {
			sum, mean = sum+w, mean+w*values[i]
		}
		mean /= sum
		for i, w := range weights {
			d := values[i] - mean
			square, fourth = square+w/sum*d*d, fourth+w/sum*d*d*d*d
		}
		return mean, math.Sqrt(square), fourth / (square * square)
	}
	for range 20_000 {
		values, weights := make([]float64, 2+rng.IntN(4)), []float64{}
		for i := range values {
			values[i] = 2*rng.Float64() - 1
			if rng.IntN(2) == 0 {
				values[i] = math.Copysign(1, values[i])
			}
			weights = append(weights, math.Pow(rng.Float64(), 4)+1e-6)
		}
		mean, sd, kurtosis := moments(values, weights)
		if !(sd > 0.01) {
			continue
		}
		k := boundedKurtosis(mean, sd)
		if least, most := k.ends(); least > 3 && kurtosis < least*(1-1e-6) || kurtosis > most*(1+1e-6) {
			t.Fatalf("values %v of weights %v have a kurtosis of %g, out of %g to %g", values, weights, kurtosis, least, most)
		}
	}
	mean, sd, kurtosis := moments([]float64{-1, 0.8}, []float64{0.99, 0.01})
	if k := boundedKurtosis(mean, sd); math.Abs(k.Least/kurtosis-1) > 1e-9 {
		t.Errorf("two values have a kurtosis of %g, and the least is %g", kurtosis, k.Least)
	}
	if k := boundedKurtosis(0.9, 3); math.IsNaN(k.Most) { // an sd that no column has, as noise may make it
		t.Error(k)
	}
}
