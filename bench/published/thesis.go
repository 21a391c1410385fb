package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/mechanisms/accounting"
	"github.com/dpreg/dpreg/vi"
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
DP-SGD and 0.1 for the analytic update.`

// How the noise of clients that are protected as a whole is shared.
const (
	individual = "individual"
	aggregated = "aggregated"
	// published is Algorithm 3 of the thesis: shares as of aggregated, and a factor of each
	// client with its own share in it. The guarantee does not hold, even where only sums are
	// seen. To the server it is individual noise, of a share's size.
	published = "published"
)

// How clients find their factors.
const (
	analytic = "analytic"
	descent  = "DP-SGD"
)

// thesisDataset has the published settings, then how they depend on M, ρ and C.
func thesisDataset(source) (*study, error) {
	base := thesis{clients: 20, records: 10, prior: 5, sd: 1.75, damping: 0.1, rounds: 77, local: analytic, sharing: individual, clip: 5, multiplier: 5}
	s := newThesisStudy(datasetNote)
	for _, sharing := range []string{published, aggregated, individual} {
		for _, k := range [][2]int{{20, 10}, {10, 10}, {30, 10}, {50, 10}, {20, 50}, {20, 90}} {
			t := base
			t.sharing, t.clients, t.records, t.clip = sharing, k[0], k[1], float64(k[1])/2
			s.add(t, sharing)
		}
	}
	adaptive := base
	adaptive.sharing, adaptive.quantile = aggregated, &pvi.Quantile{Target: 0.5, Rate: 0.2, Noise: 5}
	s.add(adaptive, "aggregated, C → median")
	return s.study, nil
}

// thesisDatapoint has the analytic updates for each C, then stochastic ones.
func thesisDatapoint(source) (*study, error) {
	s := newThesisStudy(datapointNote)
	for _, clip := range []float64{0.25, 1, 4, 8, 16, 32, 64} {
		s.add(thesis{clients: 20, records: 10, prior: 5, sd: 0.5, damping: 0.1, rounds: 77, clip: clip, multiplier: 5, local: analytic}, analytic)
	}
	for _, prior := range []float64{5, 1} {
		t := thesis{clients: 5, records: 10, prior: prior, sd: 0.5, damping: 1, rounds: 500, clip: 10, multiplier: 1, local: descent}
		s.add(t, fmt.Sprintf("%s, θ ~ N(0, %v²)", descent, prior))
	}
	return s.study, nil
}

type thesisStudy struct{ *study }

func newThesisStudy(note string) thesisStudy {
	return thesisStudy{&study{intro: thesisIntro + note, settings: []string{"", "M", "rho", "C", "sigma", "rounds"},
		header: []string{"median KL", "quartiles", "rejected rounds", "ε moments", "ε pld"}}}
}

func (s thesisStudy) add(t thesis, name string) {
	s.arms = append(s.arms, arm{
		[]string{name, fmt.Sprint(t.clients), fmt.Sprint(t.records), fmt.Sprint(t.clip), fmt.Sprint(t.multiplier), fmt.Sprint(t.rounds)},
		t.run, t.row})
}

// row is what is shown of all runs.
func (t thesis) row(runs [][]float64) []string {
	kl := column(runs, 0)
	slices.Sort(kl)
	quantile := func(p float64) string { return fmt.Sprintf("%.3g", stat.Quantile(p, stat.Empirical, kl, nil)) }
	row := []string{quantile(0.5), quantile(0.25) + " - " + quantile(0.75), fmt.Sprintf("%.2g", stat.Mean(column(runs, 1), nil))}
	if t.sharing == published {
		return append(row, "none", "none")
	}
	byMoments, byPLD, err := t.spent()
	if err != nil {
		return append(row, "NA", "NA")
	}
	return append(row, fmt.Sprintf("%.3f", byMoments), fmt.Sprintf("%.3f", byPLD))
}

// thesis is an experiment of Sharma (Differentially Private Federated Variational
// Inference, MEng thesis, Cambridge 2019): linear regression with one coefficient,
//
//	y = θx + e,  x ~ N(0, 1),  θ ~ N(0, prior²),  e ~ N(0, sd²),
//
// by clients that all move at once.
type thesis struct {
	clients, records int     // M, and ρ for each client
	prior, sd        float64 // of θ, and σ_e
	damping          float64 // α
	rounds           int
	clip, multiplier float64
	local            string
	// sharing is of the noise that protects clients as a whole; where it is empty, records
	// are protected.
	sharing  string
	quantile *pvi.Quantile // that C follows; nil: C stays
}

// run returns the divergence of the global law from the exact posterior, averaged over the
// last ten rounds, and how many rounds were rejected.
func (t thesis) run(ctx context.Context, seed uint64) ([]float64, error) {
	rng := rand.New(rand.NewPCG(seed, 0))
	theta := t.prior * rng.NormFloat64()
	f := pvi.Family{Dim: 1, Full: t.local == analytic}
	prior := f.Isotropic(t.prior)
	exact := slices.Clone(prior)
	rules := make([]pvi.Rule, t.clients)
	for m := range rules {
		rows := t.simulate(theta, rng)
		for i, x := range rows.X {
			exact[0] += x * rows.Y[i] / (t.sd * t.sd)
			exact[1] += x * x / (t.sd * t.sd)
		}
		var err error
		if rules[m], err = t.rule(rows, mechanisms.NewStream(simulated(seed, uint64(m)+1))); err != nil {
			return nil, fmt.Errorf("client %d: %w", m+1, err)
		}
	}
	server, err := serve(f, prior, t.damping, nil, t.guard(seed), rules...)
	if err != nil {
		return nil, err
	}
	return t.iterate(ctx, f, server, exact)
}

// simulate draws the records of a client.
func (t thesis) simulate(theta float64, rng *rand.Rand) *vi.Rows {
	rows := &vi.Rows{P: 1, X: make([]float64, t.records), Y: make([]float64, t.records)}
	for i := range rows.X {
		rows.X[i] = rng.NormFloat64()
		rows.Y[i] = theta*rows.X[i] + t.sd*rng.NormFloat64()
	}
	return rows
}

// guard protects clients as a whole.
func (t thesis) guard(seed uint64) *pvi.Guard {
	if t.sharing == "" {
		return nil
	}
	g := &pvi.Guard{Clip: t.clip, Multiplier: t.multiplier, Quantile: t.quantile, Stream: mechanisms.NewStream(simulated(seed, math.MaxUint64))}
	switch t.sharing {
	case aggregated:
		g.Sharing = pvi.Aggregated
	case published:
		g.Multiplier /= math.Sqrt(float64(t.clients))
	}
	return g
}

// rule makes a client's, in the thesis's settings.
func (t thesis) rule(rows *vi.Rows, stream *mechanisms.Stream) (pvi.Rule, error) {
	protect := pvi.Protection{Clip: t.clip, Multiplier: t.multiplier, Stream: stream}
	if t.sharing != "" {
		protect = pvi.Protection{}
	}
	closed, err := pvi.NewAnalytic(rows, t.sd, protect)
	if err != nil || t.local == analytic {
		return closed, err
	}
	o := pvi.GradientOptions{Steps: 50, Batch: 1, Scale: 1 / float64(t.records), InVariance: true, Mean: &vi.SGD{Rate: 1e-5}, LogVar: &vi.SGD{Rate: 1e-2}, Protect: protect}
	return pvi.NewGradient(closed.Normal, o)
}

func (t thesis) iterate(ctx context.Context, f pvi.Family, server *pvi.Server, exact []float64) ([]float64, error) {
	const last = 10
	kl := 0.
	for round := range t.rounds {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		server.Synchronous()
		if round < t.rounds-last {
			continue
		}
		divergence, err := f.KL(server.Global(), exact)
		if err != nil {
			return nil, err
		}
		kl += divergence / float64(min(last, t.rounds))
	}
	return []float64{kl, float64(server.Rejections())}, nil
}

// spent is the ε that a client's part in all rounds comes to at δ = 1e-5, by the moments
// accountant and by privacy-loss distributions.
func (t thesis) spent() (byMoments, byPLD float64, err error) {
	const delta = 1e-5
	var one []accounting.Training
	if t.sharing != "" {
		one = t.guard(0).Spends()
	} else {
		rng := rand.New(rand.NewPCG(0, 0))
		rule, err := t.rule(t.simulate(0, rng), mechanisms.NewStream(mechanisms.Simulated(rng)))
		if err != nil {
			return 0, 0, err
		}
		one = rule.Spends()
	}
	byPLD, err = pvi.Budget{Delta: delta}.Spent(one, t.rounds)
	for i := range one {
		one[i].Steps *= t.rounds
	}
	byMoments, err2 := moments(delta, accounting.DefaultMoments, one...)
	return byMoments, byPLD, errors.Join(err, err2)
}
