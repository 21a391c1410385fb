package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/mechanisms/accounting"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/ssp"
	"github.com/dpreg/dpreg/vi"
	"github.com/dpreg/dpreg/vi/pvi"
)

const federatedIntro = `Adult, hours per week on four columns: five clients, to which the rows of adult.data are
dealt anew for each seed; those of adult.test are predicted. δ = 1e-5 for each client. One
release from each, and DP-PVI, which is told the σ² of all rows. Means ± sd.

θ off: root mean square of its distance from the fit of all rows without noise, in scaled
units. θ held, test held: share, in %, of that fit's coefficients, and of the test rows, in
90 % intervals. RMSE in hours. Noise is simulated.`

// federatedDelta is below one over the rows of any client.
const (
	federatedDelta   = 1e-5
	federatedClients = 5
)

// hours is hours per week on the other numeric columns that describe a person, capital
// gains and losses by log(1 + x). The bounds are those of the census's codes, public.
var hours = &schema.Design{
	Response: schema.Column{Name: "hours-per-week", Lower: 1, Upper: 99},
	Covariates: []schema.Column{{Name: "age", Lower: 17, Upper: 90}, {Name: "education-num", Lower: 1, Upper: 16},
		{Name: "log capital-gain", Lower: 0, Upper: 12}, {Name: "log capital-loss", Lower: 0, Upper: 9}},
	Intercept: true,
}

// hoursFields are the places of its columns in the files.
var hoursFields = []int{0, 4, 10, 11, 12}

// readHours returns the rows of a file in scaled units.
func readHours(directory, name string) (rows [][]float64, err error) {
	frame := hours.Frame()
	return rows, scanFile(filepath.Join(directory, name), adultFields, func(words []string) error {
		row := make([]float64, len(hoursFields))
		for i, column := range hours.Columns() {
			v, err := number(words, hoursFields[i])
			if err != nil {
				return err
			}
			if strings.HasPrefix(column.Name, "log ") {
				v = math.Log1p(v)
			}
			row[i] = min(max(v, column.Lower), column.Upper)
		}
		frame.Scale(row, row)
		rows = append(rows, row)
		return nil
	})
}

// federatedStudy compares two ways to learn one linear regression from clients that keep
// their rows: one release from each, and partitioned variational inference.
func federatedStudy(from source) (*study, error) {
	train, err := readHours(from.path, "adult.data")
	if err != nil {
		return nil, err
	}
	test, err := readHours(from.path, "adult.test")
	if err != nil {
		return nil, err
	}
	pooled, err := pool(context.Background(), train)
	if err != nil {
		return nil, err
	}
	s := &study{intro: federatedIntro, settings: []string{"eps", "method"},
		header: []string{"θ off", "θ held", "test RMSE", "test log score", "test held", "rounds"}}
	add := func(epsilon, method string, run func(context.Context, uint64) ([]float64, error)) {
		s.arms = append(s.arms, arm{[]string{epsilon, method}, run, federatedRow})
	}
	add("none", "pooled", func(context.Context, uint64) ([]float64, error) {
		return append(pooled.measures(pooled, test), 0), nil
	})
	for _, epsilon := range []float64{0.1, 0.5, 1, 5} {
		f := &federation{train, test, pooled, epsilon, make(map[uint64][][]float64)}
		for i, m := range federatedMethods {
			add(fmt.Sprint(epsilon), m.name, func(ctx context.Context, seed uint64) ([]float64, error) {
				all, err := f.run(ctx, seed)
				if err != nil {
					return nil, err
				}
				return all[i], nil
			})
		}
	}
	return s, nil
}

func federatedRow(runs [][]float64) []string {
	percent := func(measure int) string { return fmt.Sprintf("%.0f", 100*stat.Mean(column(runs, measure), nil)) }
	return []string{meanSD(column(runs, 0), 4), percent(1), meanSD(column(runs, 2), 2), meanSD(column(runs, 3), 3), percent(4), fmt.Sprint(runs[0][5])}
}

// federation is a budget, and what all methods measured at it, by seed: they share the
// clients.
type federation struct {
	train, test [][]float64
	pooled      *law
	epsilon     float64
	done        map[uint64][][]float64
}

func (f *federation) run(ctx context.Context, seed uint64) ([][]float64, error) {
	if f.done[seed] != nil {
		return f.done[seed], nil
	}
	rng := rand.New(rand.NewPCG(seed, 1))
	rows := slices.Clone(f.train)
	rng.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	var dealt [][][]float64
	for each := len(rows) / federatedClients; len(dealt) < federatedClients; rows = rows[each:] {
		dealt = append(dealt, rows[:each])
	}
	var all [][]float64
	for _, m := range federatedMethods {
		l, rounds, err := m.learn(ctx, dealt, f, rng)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.name, err)
		}
		all = append(all, append(l.measures(f.pooled, f.test), float64(rounds)))
	}
	f.done[seed] = all
	return all, nil
}

// federatedMethods learn from clients' rows under (ε, δ) for each client and its own rows.
// They also return the rounds.
var federatedMethods = []struct {
	name  string
	learn func(context.Context, [][][]float64, *federation, *rand.Rand) (l *law, rounds int, err error)
}{
	{"releases, mcmc-exact", releases("mcmc-exact")},
	{"releases, naive", releases("naive")},
	{"DP-PVI, analytic", byAnalytic},
	{"DP-PVI, gradients", byGradients},
}

// releases is one release of each client, of the noise that is smaller, and the joint
// posterior by this method, of one law of the covariates, since rows are dealt at random.
func releases(name string) func(context.Context, [][][]float64, *federation, *rand.Rand) (*law, int, error) {
	return func(ctx context.Context, clients [][][]float64, f *federation, rng *rand.Rand) (*law, int, error) {
		var custodians []dpreg.Custodian
		for m, rows := range clients {
			s, err := sums(rows)
			if err != nil {
				return nil, 0, err
			}
			privacy := release.Privacy{Epsilon: f.epsilon, Delta: federatedDelta, Neighbours: release.AddRemove}
			r, err := ssp.Publish(ctx, s, hours, privacy, ssp.Auto, ssp.Exact, simulated(rng.Uint64(), 0))
			if err != nil {
				return nil, 0, err
			}
			custodians = append(custodians, dpreg.Custodian{Name: fmt.Sprintf("client %d", m+1), Release: r})
		}
		plan := mcmc.Plan{Chains: 1, Warmup: 300, Draws: 700, Seed: rng.Uint64(), Workers: 1}
		fit, err := dpreg.Infer(ctx, custodians, dpreg.Options{Method: name, Covariates: dpreg.SharedCovariates, Plan: plan})
		if err != nil {
			return nil, 0, err
		}
		return lawOf(fit), 1, nil
	}
}

// byAnalytic is DP-PVI by Sharma's analytic update (thesis, equations 4.21 and 4.22), once
// and undamped. C is half the length of the longest row's factor.
func byAnalytic(ctx context.Context, clients [][][]float64, f *federation, rng *rand.Rand) (*law, int, error) {
	once := accounting.Training{Rate: 1, Steps: 1}
	noise, err := once.FindMultiplier(accounting.PLD, f.epsilon, federatedDelta)
	if err != nil {
		return nil, 0, err
	}
	family := pvi.Family{Dim: len(f.pooled.mean), Full: true}
	clip := 0.5 * math.Sqrt(float64(family.Len()))
	return f.rounds(ctx, clients, rng, family, 1, 1, func(rows *vi.Rows, stream *mechanisms.Stream) (pvi.Rule, error) {
		return pvi.NewAnalytic(rows, math.Sqrt(f.pooled.sigma2), pvi.Protection{Clip: clip, Multiplier: noise, Stream: stream})
	})
}

// byGradients is DP-PVI by stochastic gradients, in the settings of Sharma et al. (2019) for
// Adult: 25 steps of 2 % of a client's rows in an update, Adagrad of rate 0.5, noise of 5 C,
// in rounds of all clients that go 1/M of their way; at most 50 rounds, with less noise where
// that leaves budget. C is half the length of the longest row's gradient at a residual of σ.
func byGradients(ctx context.Context, clients [][][]float64, f *federation, rng *rand.Rand) (*law, int, error) {
	one := accounting.Training{Multiplier: 5, Rate: 0.02, Steps: 25}
	all, rounds := one, 50
	all.Steps *= rounds
	spent, err := all.Epsilon(accounting.PLD, federatedDelta)
	switch {
	case err != nil:
	case spent > f.epsilon:
		var steps int
		steps, err = one.FindSteps(accounting.PLD, f.epsilon, federatedDelta)
		rounds = steps / one.Steps
	default:
		one.Multiplier, err = all.FindMultiplier(accounting.PLD, f.epsilon, federatedDelta)
	}
	if err != nil {
		return nil, 0, err
	}
	sd, q := math.Sqrt(f.pooled.sigma2), len(f.pooled.mean)
	return f.rounds(ctx, clients, rng, pvi.Family{Dim: q}, rounds, 1/float64(len(clients)), func(rows *vi.Rows, stream *mechanisms.Stream) (pvi.Rule, error) {
		likelihood, err := pvi.Normal(rows, sd)
		if err != nil {
			return nil, err
		}
		return pvi.NewGradient(likelihood, pvi.GradientOptions{Steps: one.Steps, Rate: one.Rate,
			LearningRate: 0.5, Protect: pvi.Protection{Clip: 0.5 * math.Sqrt(float64(q)) / sd, Multiplier: one.Multiplier, Stream: stream}})
	})
}

// rounds runs so many rounds of all clients. The prior of θ is N(0, I) in scaled
// units; σ is known, that of the pooled fit, which no ε covers.
func (f *federation) rounds(ctx context.Context, dealt [][][]float64, rng *rand.Rand, family pvi.Family, rounds int, damping float64, rule func(*vi.Rows, *mechanisms.Stream) (pvi.Rule, error)) (*law, int, error) {
	var rules []pvi.Rule
	for _, rows := range dealt {
		r, err := rule(withIntercept(rows), mechanisms.NewStream(simulated(rng.Uint64(), 0)))
		if err != nil {
			return nil, 0, err
		}
		rules = append(rules, r)
	}
	server, err := serve(family, family.Isotropic(1), damping, rounds, rules...)
	if err != nil {
		return nil, 0, err
	}
	for range rounds {
		if _, err := server.Ask(ctx); err != nil {
			return nil, 0, err
		}
	}
	mean, covariance, err := family.Moments(server.Global())
	return &law{mean, covariance, f.pooled.sigma2}, rounds, err
}

func withIntercept(rows [][]float64) *vi.Rows {
	out := &vi.Rows{P: len(rows[0])}
	for _, row := range rows {
		last := len(row) - 1
		out.X, out.Y = append(append(out.X, 1), row[:last]...), append(out.Y, row[last])
	}
	return out
}

// law is what a method says of θ, by mean and covariance, and of E σ², in scaled units.
type law struct {
	mean       []float64
	covariance *mat.SymDense
	sigma2     float64
}

// lawOf takes the moments of a fit's draws.
func lawOf(f *dpreg.Fit) *law {
	d, q := f.Draws(dpreg.Scaled), len(hours.Covariates)+1
	means, _ := d.Moments()
	return &law{means[:q], d.Covariance(q), means[q]}
}

func pool(ctx context.Context, rows [][]float64) (*law, error) {
	s, err := sums(rows)
	if err != nil {
		return nil, err
	}
	f, err := dpreg.NonPrivate(ctx, s, hours, dpreg.Options{Plan: mcmc.Plan{Chains: 1, Draws: 4000}})
	if err != nil {
		return nil, err
	}
	return lawOf(f), nil
}

func sums(rows [][]float64) (*ssp.Statistics, error) {
	a := ssp.NewAccumulator(len(rows[0]))
	err := a.AddRows(slices.Concat(rows...))
	return a.Statistics(), err
}

// measures compares with the pooled fit, and predicts rows by the normal law with the
// posterior predictive's mean and variance. They are the first five of the table.
func (l *law) measures(pooled *law, test [][]float64) []float64 {
	m, q, z90 := make([]float64, 5), float64(len(l.mean)), distuv.UnitNormal.Quantile(0.95)
	for k, mean := range l.mean {
		gap := mean - pooled.mean[k]
		m[0] += gap * gap / q
		if math.Abs(gap) <= z90*math.Sqrt(l.covariance.At(k, k)) {
			m[1] += 1 / q
		}
	}
	half, n, rows := hours.Frame().Half[len(hours.Covariates)], float64(len(test)), withIntercept(test)
	theta := mat.NewVecDense(len(l.mean), l.mean)
	for i, y := range rows.Y {
		x := mat.NewVecDense(rows.P, rows.X[i*rows.P:(i+1)*rows.P])
		gap, variance := y-mat.Dot(x, theta), l.sigma2+mat.Inner(x, l.covariance, x)
		m[2] += gap * gap / n
		m[3] -= (0.5*(gap*gap/variance+math.Log(2*math.Pi*variance)) + math.Log(half)) / n
		if gap*gap <= z90*z90*variance {
			m[4] += 1 / n
		}
	}
	m[0], m[2] = math.Sqrt(m[0]), half*math.Sqrt(m[2])
	return m
}
