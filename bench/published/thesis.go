package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
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

Records are protected one by one; ten a client, sd of y's noise 0.5, damping 0.1.`

// thesisDataset has the published settings, then how they depend on M and ρ.
func thesisDataset(source) (*study, error) {
	base := thesis{clients: 20, records: 10, prior: 5, sd: 1.75, damping: 0.1, rounds: 77, sharing: individual, clip: 5, multiplier: 5}
	var arms []arm
	for _, sharing := range []string{published, aggregated, individual} {
		for _, k := range [][2]int{{20, 10}, {10, 10}, {30, 10}, {50, 10}, {20, 50}, {20, 90}} {
			t := base
			t.sharing, t.clients, t.records, t.clip = sharing, k[0], k[1], float64(k[1])/2
			arms = append(arms, t.arm(sharing))
		}
	}
	return thesisStudy(datasetNote, arms), nil
}

// thesisDatapoint has the analytic updates for each C, and for the first one by θ.
func thesisDatapoint(source) (*study, error) {
	var arms []arm
	base := thesis{clients: 20, records: 10, prior: 5, sd: 0.5, damping: 0.1, rounds: 77, multiplier: 5}
	for _, clip := range []float64{0.25, 1, 4, 8, 16, 32, 64} {
		t := base
		t.clip = clip
		arms = append(arms, t.arm("analytic"))
	}
	for _, theta := range []float64{1, 2, 3, 4} {
		t := base
		t.clip, t.theta = 0.25, theta
		arms = append(arms, t.arm(fmt.Sprintf("analytic, θ = %v", theta)))
	}
	return thesisStudy(datapointNote, arms), nil
}

func thesisStudy(note string, arms []arm) *study {
	return &study{intro: thesisIntro + note, arms: arms, settings: []string{"", "M", "rho", "C", "sigma", "rounds"},
		header: []string{"median KL", "quartiles", "rejected rounds", "ε moments", "ε pld"}}
}

func (t thesis) arm(name string) arm {
	return arm{[]string{name, fmt.Sprint(t.clients), fmt.Sprint(t.records), fmt.Sprint(t.clip), fmt.Sprint(t.multiplier), fmt.Sprint(t.rounds)}, t.run, t.row}
}

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
	theta            float64 // 0: drawn anew in each run
	damping          float64 // α
	rounds           int
	clip, multiplier float64
	// sharing is of the noise that protects clients as a whole; where it is empty, records
	// are protected.
	sharing string
}

// run returns the divergence of the global law from the exact posterior, averaged over the
// last ten rounds, and how many rounds were rejected.
func (t thesis) run(ctx context.Context, seed uint64) ([]float64, error) {
	rng := rand.New(rand.NewPCG(seed, 0))
	theta := cmp.Or(t.theta, t.prior*rng.NormFloat64())
	f := pvi.Family{Dim: 1, Full: true}
	prior := f.Isotropic(t.prior)
	exact := slices.Clone(prior)
	rules := make([]pvi.Rule, t.clients)
	for m := range rules {
		rows := t.simulate(theta, rng)
		for i, x := range rows.X {
			exact[0] += x * rows.Y[i] / (t.sd * t.sd)
			exact[1] += x * x / (t.sd * t.sd)
		}
		protect := pvi.Protection{}
		if t.sharing == "" {
			protect = pvi.Protection{Clip: t.clip, Multiplier: t.multiplier, Stream: mechanisms.NewStream(simulated(seed, uint64(m)+1))}
		}
		var err error
		if rules[m], err = pvi.NewAnalytic(rows, t.sd, protect); err != nil {
			return nil, fmt.Errorf("client %d: %w", m+1, err)
		}
	}
	s, err := t.server(f, prior, rules, seed)
	if err != nil {
		return nil, err
	}
	return t.iterate(ctx, s, exact)
}

func (t thesis) server(f pvi.Family, prior []float64, rules []pvi.Rule, seed uint64) (*pvi.Server, error) {
	if t.sharing != "" {
		return t.guard(f, prior, rules, mechanisms.NewStream(simulated(seed, math.MaxUint64)))
	}
	return serve(f, prior, t.damping, t.rounds, rules...)
}

func (t thesis) simulate(theta float64, rng *rand.Rand) *vi.Rows {
	rows := &vi.Rows{P: 1, X: make([]float64, t.records), Y: make([]float64, t.records)}
	for i := range rows.X {
		rows.X[i] = rng.NormFloat64()
		rows.Y[i] = theta*rows.X[i] + t.sd*rng.NormFloat64()
	}
	return rows
}

func (t thesis) iterate(ctx context.Context, s *pvi.Server, exact []float64) ([]float64, error) {
	const last = 10
	kl := 0.
	for round := range t.rounds {
		if _, err := s.Ask(ctx); err != nil {
			return nil, err
		}
		if round >= t.rounds-last {
			kl += divergence(s.Global(), exact) / float64(min(last, t.rounds))
		}
	}
	return []float64{kl, float64(s.Rejections())}, nil
}

// divergence is KL(q ‖ p) of normal laws of one coefficient in natural parameters, with
// v_q/v_p − 1 − log(v_q/v_p) by Log1p.
func divergence(q, p []float64) float64 {
	gap, excess := q[0]/q[1]-p[0]/p[1], (p[1]-q[1])/q[1]
	return (excess - math.Log1p(excess) + gap*gap*p[1]) / 2
}

// spent is the ε that a client's part in all rounds comes to at δ = 1e-5, by the moments
// accountant and by privacy-loss distributions.
func (t thesis) spent() (byMoments, byPLD float64, err error) {
	const delta = 1e-5
	all := accounting.Training{Multiplier: t.multiplier, Rate: 1, Steps: t.rounds}
	byPLD, err = all.Epsilon(accounting.PLD, delta)
	byMoments, err2 := moments(delta, defaultMoments, all)
	return byMoments, byPLD, errors.Join(err, err2)
}

// How the noise of clients that are protected as a whole is shared.
const (
	// individual: each client adds all of it, of standard deviation σC, and trusts nobody.
	individual = "individual"
	// aggregated: each adds a share σC/√M, and only the sum over clients is ever seen.
	// Clients measure from the factor that all have in common, (q − p)/M.
	aggregated = "aggregated"
	// published is Algorithm 3 of the thesis: shares as of aggregated, and a factor of each
	// client with its own share in it. The guarantee does not hold, even where only sums are
	// seen. To the server it is individual noise, of a share's size.
	published = "published"
)

// guarded is a client whose records are protected as a whole: neighbours are a client that takes
// part and one that sends nothing but noise. Each round its way to its aim, v, leaves as
//
//	α (v / max(1, ‖v‖/C) + noise).
//
// README.md has the proof for individual and aggregated, and the trust that aggregated
// needs.
type guarded struct {
	thesis // whose σ = 0 adds no noise
	rule   pvi.Rule
	prior  []float64
	change []float64
	stream *mechanisms.Stream
}

// guard has a server of clients that are guarded.
func (t thesis) guard(f pvi.Family, prior []float64, rules []pvi.Rule, stream *mechanisms.Stream) (*pvi.Server, error) {
	clients := make([]pvi.Client, len(rules))
	for m, rule := range rules {
		clients[m] = &guarded{t, rule, prior, make([]float64, f.Len()), stream}
	}
	return pvi.NewServer(f, prior, clients)
}

// Update implements pvi.Client. What the server makes of all changes, which it rejects where they
// would leave no law, is a function of the noisy sum.
func (g *guarded) Update(ctx context.Context, t pvi.Task) ([]float64, error) {
	factor := slices.Clone(t.Factor)
	if g.sharing == aggregated {
		floats.SubTo(factor, t.Global, g.prior)
		floats.Scale(1/float64(g.clients), factor)
	}
	g.rule.Aim(g.change, t.Global, factor)
	floats.Sub(g.change, factor)
	g.release(g.change)
	floats.Scale(g.damping, g.change)
	return g.change, ctx.Err()
}

// release clips a vector and adds the client's part of the noise.
func (g *guarded) release(v []float64) {
	multiplier := g.multiplier
	if g.sharing != individual {
		multiplier *= 1 / math.Sqrt(float64(g.clients))
	}
	if multiplier == 0 {
		floats.Scale(1/max(1, floats.Norm(v, 2)/g.clip), v)
		return
	}
	sum := vi.NewSum(len(v), g.clip, multiplier, g.stream)
	sum.Add(1, v, floats.Norm(v, 2))
	sum.Release(v)
}
