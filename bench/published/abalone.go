package main

import (
	"context"
	"fmt"
	"math"

	"github.com/dpreg/dpreg/mechanisms/accounting"
	"github.com/dpreg/dpreg/vi"
)

const abaloneIntro = `Abalone, ten rings or more (Jälkö et al. 2016, poster): 3341 rows to train, 836 to
test, 2000 steps of rate 0.01. published is what the authors' files have. eps is theirs, by
the moments accountant, δ = 1e-3; proved is what the same noise proves for data sets that
differ in one row's values, by privacy-loss distributions.

Columns are z-scored by mean and sd of all rows, as published: a leak, which no ε here
covers. Noise is simulated: a study on public data.`

const (
	abaloneTrain   = 3341
	abaloneRate    = 0.01
	abaloneSteps   = 2000
	abaloneDelta   = 1e-3
	abaloneMoments = 99 // that the authors' accountant takes
)

// abaloneAccuracy is the authors', by clipping norm and σ = 2, 4, 6, 8, 10.
var abaloneAccuracy = map[float64][]float64{5: {.753, .753, .753, .748, .748}, 1: {.741, .742, .742, .738, .740}}

// abaloneStudy is the logistic regression of Jälkö, Dikmen & Honkela (UAI 2017; in the form
// of their poster's code, 2016). There is no intercept.
func abaloneStudy(from source) (*study, error) {
	data, err := readAbalone(from.path)
	if err != nil {
		return nil, err
	}
	s := &study{intro: abaloneIntro, settings: []string{"clip", "sigma", "eps", "proved", "published"}, header: []string{"accuracy"}}
	add := func(a abaloneRun, values ...string) {
		s.arms = append(s.arms, one(func(ctx context.Context, seed uint64) (float64, error) { return a.run(ctx, data, seed) }, values...))
	}
	add(abaloneRun{}, "none", "0", "", "", ".7667")
	for _, clip := range []float64{5, 1} {
		for i, sigma := range []float64{2, 4, 6, 8, 10} {
			a := abaloneRun{sigma, clip}
			epsilon, err := moments(abaloneDelta, abaloneMoments, accounting.Training{Multiplier: sigma, Rate: abaloneRate, Steps: abaloneSteps})
			if err != nil {
				return nil, err
			}
			proved, err := accounting.Training{Multiplier: 2 * sigma, Rate: abaloneRate, Steps: abaloneSteps, Scheme: accounting.PoissonReplaceOne}.Epsilon(accounting.PLD, abaloneDelta)
			if err != nil {
				return nil, err
			}
			add(a, fmt.Sprint(clip), fmt.Sprint(sigma), fmt.Sprintf("%.5f", epsilon), fmt.Sprintf("%.4f", proved), fmt.Sprintf("%.3f", abaloneAccuracy[clip][i]))
		}
	}
	return s, nil
}

// defaultMoments is how many moments Abadi et al. (2016) take.
const defaultMoments = 32

// moments is the ε of the moments accountant, with the bound of Poisson's sampling and
// add-remove neighbours, whatever the batches are: with α(λ) the log moment log E_P e^{λℓ} of
// all steps, which is λ times the Rényi divergence of order λ + 1,
//
//	ε = min over λ = 1, …, most of (α(λ) + log(1/δ))/λ
//
// (Abadi et al., Deep Learning with Differential Privacy, CCS 2016, Theorem 2).
func moments(delta float64, most int, t accounting.Training) (float64, error) {
	t.Scheme = accounting.PoissonAddRemove
	best := math.Inf(1)
	for k := 1; k <= most; k++ {
		divergence, err := t.RDP(float64(k + 1))
		if err != nil {
			return 0, err
		}
		best = min(best, divergence-math.Log(delta)/float64(k))
	}
	return best, nil
}

// abaloneRun is a setting: sigma is the paper's σ, 0 without privacy, of noise with the
// standard deviation 2σ·clip on gradients scaled by N/B and clipped at clip.
type abaloneRun struct{ sigma, clip float64 }

// run returns the accuracy on the test rows: as in the paper, gradients are clipped
// jointly, with each record's share of prior and entropy.
func (a abaloneRun) run(ctx context.Context, data *parted, seed uint64) (float64, error) {
	o := vi.Options{
		Rate: abaloneRate, Steps: abaloneSteps, Seed: seed, Scheme: accounting.PoissonReplaceOne,
	}
	if a.sigma > 0 {
		o.Clip = a.clip * abaloneRate // per record, before the scaling by N/B
		o.Privacy = &vi.Privacy{Epsilon: math.MaxFloat64, Delta: abaloneDelta, Multiplier: 2 * a.sigma, Entropy: simulated(seed, entropyOfVI)}
	}
	climb := windowed{rate: 0.1, window: 10}
	fit, err := joint{abaloneTrain, climb.step}.run(ctx, vi.Logistic(data.train, 1), o)
	if err != nil {
		return 0, err
	}
	mean, sd := fit.Moments()
	accuracy, _ := predict(data.test, mean, sd)
	return accuracy, nil
}

// entropyOfVI is the stream of the noise of package vi.
const entropyOfVI = 0x7669
