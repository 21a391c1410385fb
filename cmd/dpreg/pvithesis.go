package main

import (
	"context"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/dpreg/dpreg/vi/pvi"
)

const thesisIntro = `Linear regression with one coefficient, θ ~ N(0, 5²) where nothing else is said,
x ~ N(0, 1). KL is of the global law to the exact posterior, averaged over the last ten
rounds; its median and quartiles over the seeds. ε is a client's over all rounds at
δ = 1e-5, by the moments accountant and by privacy-loss distributions. Data and noise
are simulated.`

const datasetNote = `

Clients are protected as a whole; sd of y's noise 1.75, damping 0.1. Noise of sd σC is
added by each client (individual), or in shares of which only the sum is seen
(aggregated); published is the thesis's way to share it, for which no ε holds.`

const datapointNote = `

Records are protected one by one; ten a client, sd of y's noise 0.5. Damping is 1 for
DP-SGD and 0.1 for the others.`

// thesisDataset has the published settings, then how they depend on M, ρ and C.
func thesisDataset() *pviStudy {
	setting := func(sharing pvi.Sharing, m, rho int, clip, multiplier float64) pvi.Thesis {
		return pvi.Thesis{Clients: m, Records: rho, SD: 1.75, Damping: 0.1, Rounds: 77, Prior: 5,
			Guard: &pvi.Guard{Sharing: sharing, Clip: clip, Multiplier: multiplier}}
	}
	s := thesisStudy(datasetNote)
	for _, sharing := range []pvi.Sharing{pvi.Published, pvi.Aggregated, pvi.Individual} {
		for _, k := range [][2]int{{20, 10}, {10, 10}, {30, 10}, {50, 10}, {20, 50}, {20, 90}} {
			s.add(setting(sharing, k[0], k[1], float64(k[1])/2, 5), sharing.String())
		}
	}
	adaptive := setting(pvi.Aggregated, 20, 10, 5, 5)
	adaptive.Guard.Quantile = &pvi.Quantile{Target: 0.5, Rate: 0.2, Noise: 5}
	s.add(adaptive, "aggregated, C → median")
	for _, clip := range []float64{0.25, 1, 4, 5, 8, 16, 32, 64} {
		noiseless := setting(pvi.Individual, 20, 10, clip, 0)
		noiseless.Rounds = 100 + int(600/clip) // a factor grows by αC a round at most
		s.add(noiseless, "no noise")
	}
	return s.pviStudy
}

// thesisDatapoint has the analytic updates for each C, then stochastic ones.
func thesisDatapoint() *pviStudy {
	s := thesisStudy(datapointNote)
	for _, clip := range []float64{0.25, 1, 4, 8, 16, 32, 64} {
		s.add(pvi.Thesis{Clients: 20, Records: 10, SD: 0.5, Damping: 0.1, Rounds: 77, Prior: 5, Clip: clip, Multiplier: 5}, pvi.Closed.String())
	}
	damping := map[pvi.Local]float64{pvi.Descent: 1, pvi.Hybrid: 0.1}
	for _, local := range []pvi.Local{pvi.Descent, pvi.Hybrid} {
		for _, prior := range []float64{5, 1} {
			t := pvi.Thesis{Clients: 5, Records: 10, Prior: prior, SD: 0.5, Damping: damping[local], Rounds: 500, Clip: 10, Multiplier: 1, Local: local}
			s.add(t, fmt.Sprintf("%v, θ ~ N(0, %v²)", local, prior))
		}
	}
	return s.pviStudy
}

// thesisSettings is a study of Thesis, and what its settings are.
type thesisSettings struct {
	*pviStudy
	all []pvi.Thesis
}

func thesisStudy(note string) *thesisSettings {
	s := &thesisSettings{pviStudy: &pviStudy{
		intro:    thesisIntro + note,
		settings: []string{"", "M", "rho", "C", "sigma", "rounds"},
		measures: []string{"kl", "rejections"},
		header:   []string{"median KL", "quartiles", "rejected rounds", "ε moments", "ε pld"},
	}}
	s.summary = func(arm int, runs [][]float64) []string { return thesisRow(s.all[arm], runs) }
	return s
}

func (s *thesisSettings) add(t pvi.Thesis, name string) {
	clip, multiplier := t.Clip, t.Multiplier
	if t.Guard != nil {
		clip, multiplier = t.Guard.Clip, t.Guard.Multiplier
	}
	s.all = append(s.all, t)
	s.arms = append(s.arms, pviArm{
		values: []string{name, fmt.Sprint(t.Clients), fmt.Sprint(t.Records), fmt.Sprint(clip), fmt.Sprint(multiplier), fmt.Sprint(t.Rounds)},
		run: func(ctx context.Context, seed uint64) ([]float64, error) {
			r, err := t.Run(ctx, seed)
			if err != nil {
				return nil, err
			}
			return []float64{r.KL, float64(r.Rejections)}, nil
		},
	})
}

func thesisRow(t pvi.Thesis, runs [][]float64) []string {
	kl := column(runs, 0)
	slices.Sort(kl)
	quantile := func(p float64) string { return fmt.Sprintf("%.3g", stat.Quantile(p, stat.Empirical, kl, nil)) }
	row := []string{quantile(0.5), quantile(0.25) + " - " + quantile(0.75), fmt.Sprintf("%.2g", stat.Mean(column(runs, 1), nil))}
	if t.Guard != nil && t.Guard.Sharing == pvi.Published {
		return append(row, "none", "none")
	}
	for _, a := range []pvi.Accounting{pvi.Paper, pvi.Tight} {
		spent, err := t.Spent(a)
		switch {
		case err != nil:
			row = append(row, "NA")
		case spent == 0:
			row = append(row, "")
		default:
			row = append(row, fmt.Sprintf("%.3f", spent))
		}
	}
	return row
}
