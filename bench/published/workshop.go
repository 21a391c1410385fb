package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/mechanisms/accounting"
	"github.com/dpreg/dpreg/vi"
	"github.com/dpreg/dpreg/vi/pvi"
)

const workshopIntro = `Adult, %d rows to train and %d to test; ten clients, rho = %v, kappa = %v. Means ± sd.
In brackets what the paper has.

dp-pvi by the accounting of the paper: batches of fixed size are counted by the moments
accountant as if they were Poisson's, which proves nothing, and the last update passes ε. By
pld: Poisson's batches, by privacy-loss distributions, and no update passes ε.

The six numeric columns are z-scored by mean and sd of all rows, as in the paper: a
leak, which no ε here covers. Noise is simulated: a study on public data.`

// publishedWorkshop is accuracy in % and mean log-likelihood of Table 5.
var publishedWorkshop = map[string]map[string][2]float64{
	"A": {"pvi": {85.23, -.3181}, "global-vi": {85.21, -.3184}, "dp-pvi0.5": {84.57, -.3439}, "dp-pvi0.75": {84.78, -.3372}, "dp-pvi1": {85.02, -.3332}},
	"B": {"pvi": {85.15, -.3216}, "global-vi": {78.76, -.7006}, "dp-pvi0.5": {84.43, -.3379}, "dp-pvi0.75": {84.87, -.3332}, "dp-pvi1": {84.94, -.3323}},
	"C": {"pvi": {85.13, -.3193}, "global-vi": {53.96, -1.1997}, "dp-pvi0.5": {81.83, -.4218}, "dp-pvi0.75": {82.38, -.4130}, "dp-pvi1": {82.46, -.4070}},
}

// workshopStudy is Sharma, Hutchinson, Swaroop, Honkela & Turner (Differentially Private
// Federated Variational Inference, 2019): logistic regression on the Adult data by clients
// that are drawn one after the other.
func workshopStudy(distribution string) func(source) (*study, error) {
	return func(from source) (*study, error) {
		data, err := readAdult(from.path, from.split)
		if err != nil {
			return nil, err
		}
		p := partitions[distribution]
		s := &study{
			intro:    fmt.Sprintf(workshopIntro, len(data.train.Y), len(data.test.Y), p.rho, p.kappa),
			settings: []string{"method", "eps", "accounting"},
			header:   []string{"accuracy %", "", "mean log-lik", "", "updates small/large", "most ε small/large"},
		}
		add := func(w workshop, eps, accounting string) {
			w.partition, w.counts = p, make(map[string]int)
			accuracy, logLik := "", ""
			if v, ok := publishedWorkshop[distribution][w.method+eps]; ok {
				accuracy, logLik = fmt.Sprintf("(%.2f)", v[0]), fmt.Sprintf("(%.4f)", v[1])
			}
			s.arms = append(s.arms, arm{[]string{w.method, eps, accounting},
				func(ctx context.Context, seed uint64) ([]float64, error) { return w.run(ctx, data, seed) },
				func(runs [][]float64) []string { return workshopRow(runs, accuracy, logLik) }})
		}
		add(workshop{method: pviMethod}, "", "")
		add(workshop{method: globalVI}, "", "")
		for _, paper := range []bool{true, false} {
			for _, epsilon := range []float64{0.5, 0.75, 1} {
				add(workshop{method: dpPVI, epsilon: epsilon, paper: paper}, fmt.Sprint(epsilon), map[bool]string{true: "paper", false: "pld"}[paper])
			}
		}
		return s, nil
	}
}

func workshopRow(runs [][]float64, accuracy, logLik string) []string {
	percent := column(runs, 0)
	floats.Scale(100, percent)
	mean := func(measure int) float64 { return stat.Mean(column(runs, measure), nil) }
	row := []string{meanSD(percent, 2), accuracy, meanSD(column(runs, 1), 4), logLik, fmt.Sprintf("%.0f / %.0f", mean(2), mean(3)), ""}
	if mean(4) > 0 {
		row[5] = fmt.Sprintf("%.3f / %.3f", floats.Max(column(runs, 4)), floats.Max(column(runs, 5)))
	}
	return row
}

// How the workshop's clients learn.
const (
	pviMethod = "pvi" // without privacy
	// globalVI has no factors: the client that is drawn takes one step of its own records,
	// as if all were like them, on the global law.
	globalVI = "global-vi"
	dpPVI    = "dp-pvi" // private for each record
)

// workshop is a setting.
type workshop struct {
	partition
	method string
	// epsilon is each client's, δ being 10^⌊log₁₀(1/N)⌋ for N records; of dp-pvi.
	epsilon float64
	paper   bool           // accounting as published
	counts  map[string]int // updates that a client may do, from run to run: clients are often alike
}

// run returns accuracy and log-likelihood, then of small and of large clients the mean
// number of updates, then the largest ε of any, 0 without privacy.
func (w workshop) run(ctx context.Context, data *parted, seed uint64) ([]float64, error) {
	rng := rand.New(rand.NewPCG(seed, 0))
	dealt, err := w.deal(data.train.Y, rng)
	if err != nil {
		return nil, err
	}
	weights := make([]float64, len(dealt)) // client m is drawn with probability proportional to 1/N_m
	r := &workshopRun{workshop: w}
	for m, records := range dealt {
		weights[m] = 1 / float64(len(records))
		if err := r.add(subset(data.train, records), len(data.train.Y), mechanisms.NewStream(simulated(seed, uint64(m)+1))); err != nil {
			return nil, fmt.Errorf("client %d: %w", m+1, err)
		}
	}
	law := distuv.NewCategorical(weights, rng)
	draw := func() int { return int(law.Rand()) }
	fit := r.partitioned
	if w.method == globalVI {
		fit = r.global
	}
	fitted, updates, err := fit(ctx, draw)
	if err != nil {
		return nil, err
	}
	return r.measures(fitted, updates, data.test)
}

// workshopRun is the state of a run.
type workshopRun struct {
	workshop
	rules  []*pvi.Gradient
	spends []accounting.Training // what an update is to the accountant, with Poisson's batches
	left   []int                 // updates that a client may do
	deltas []float64             // of each client
}

// add makes the rule of a client, in the paper's settings, and counts what it may do.
func (r *workshopRun) add(rows *vi.Rows, all int, stream *mechanisms.Stream) error {
	n, batch := float64(len(rows.Y)), 100.
	model, err := pvi.Logistic(rows)
	if err != nil {
		return err
	}
	o := pvi.GradientOptions{Draws: 50, Protect: pvi.Protection{Stream: stream}}
	switch r.method {
	case pviMethod:
		o.Steps, o.LearningRate = 20, 2
	case globalVI: // each record counts as many
		o.Steps, o.LearningRate = 1, 0.05
		model.Slope = func(y, eta float64) float64 { return float64(all) / n * vi.BernoulliSlope(y, eta) }
	case dpPVI: // C = 75 is of gradients that are N/L times as long
		batch = math.Max(20, math.Ceil(0.02*n))
		o.Steps, o.LearningRate = 25, 0.5
		o.Protect.Clip, o.Protect.Multiplier = 75*batch/n, 5
	}
	o.Rate = min(1, batch/n)
	if r.paper || r.method != dpPVI {
		o.Batches = vi.Uniform(len(rows.Y), int(min(batch, n)), stream)
	}
	rule, err := pvi.NewGradient(model, o)
	if err != nil {
		return err
	}
	one := accounting.Training{Multiplier: o.Protect.Multiplier, Rate: o.Rate, Steps: o.Steps}
	delta, left := math.Pow(10, math.Floor(-math.Log10(n))), math.MaxInt
	if r.method == dpPVI {
		key := fmt.Sprint(one, delta)
		if _, ok := r.counts[key]; !ok {
			if r.counts[key], err = r.updates(one, delta); err != nil {
				return err
			}
		}
		left = r.counts[key]
	}
	r.rules, r.spends, r.left, r.deltas = append(r.rules, rule), append(r.spends, one), append(r.left, left), append(r.deltas, delta)
	return nil
}

// updates is how many a client may do. The paper's last one begins below the budget and
// ends above it, since an update is tested before it is done.
func (w workshop) updates(one accounting.Training, delta float64) (int, error) {
	if !w.paper {
		steps, err := one.FindSteps(accounting.PLD, w.epsilon, delta)
		return steps / one.Steps, err
	}
	for n := 1; ; n++ {
		if spent, err := w.spent(one, n, delta); err != nil || spent > w.epsilon {
			return n, err
		}
	}
}

// spent is the ε that so many updates come to.
func (w workshop) spent(one accounting.Training, updates int, delta float64) (float64, error) {
	one.Steps *= updates
	if !w.paper {
		if updates == 0 {
			return 0, nil
		}
		return one.Epsilon(accounting.PLD, delta)
	}
	return moments(delta, defaultMoments, one)
}

// partitioned runs rounds of as many draws as there are clients, until no budget is left.
func (r *workshopRun) partitioned(ctx context.Context, draw func() int) (law []float64, updates []int, err error) {
	var rules []pvi.Rule
	for _, rule := range r.rules {
		rules = append(rules, rule)
	}
	f := r.rules[0].Family()
	rounds := 1000
	if r.method == pviMethod {
		rounds = 100
	}
	server, err := serve(f, f.Isotropic(1), 0.1, rounds*len(rules), rules...)
	if err != nil {
		return nil, nil, err
	}
	updates = make([]int, len(rules))
	for range rounds {
		for range rules {
			if m := draw(); updates[m] < r.left[m] {
				if _, err := server.Ask(ctx, m); err != nil {
					return nil, nil, err
				}
				updates[m]++
			}
		}
		if slices.Equal(updates, r.left) {
			break
		}
	}
	return server.Global(), updates, nil
}

// global is 10000 steps of single clients on q, with the divergence to the prior.
func (r *workshopRun) global(ctx context.Context, draw func() int) (law []float64, updates []int, err error) {
	f := r.rules[0].Family()
	prior := f.Isotropic(1)
	law, factor := slices.Clone(prior), make([]float64, f.Len())
	updates = make([]int, len(r.rules))
	for range 10000 {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		m := draw()
		floats.SubTo(factor, law, prior) // so that the cavity is the prior
		r.rules[m].Aim(factor, law, factor)
		floats.AddTo(law, prior, factor)
		updates[m]++
	}
	return law, updates, nil
}

func (r *workshopRun) measures(law []float64, updates []int, test *vi.Rows) ([]float64, error) {
	mean, covariance, err := r.rules[0].Family().Moments(law)
	if err != nil {
		return nil, err
	}
	sd := make([]float64, len(mean))
	for j := range sd {
		sd[j] = math.Sqrt(covariance.At(j, j))
	}
	measures := make([]float64, 6)
	measures[0], measures[1] = predict(test, mean, sd)
	half := len(updates) / 2
	for m, n := range updates {
		measures[2+m/half] += float64(n) / float64(half)
		if r.method != dpPVI {
			continue
		}
		spent, err := r.spent(r.spends[m], n, r.deltas[m])
		if err != nil {
			return nil, err
		}
		measures[4+m/half] = math.Max(measures[4+m/half], spent)
	}
	return measures, nil
}

func subset(rows *vi.Rows, records []int) *vi.Rows {
	of := &vi.Rows{P: rows.P}
	for _, i := range records {
		of.X = append(of.X, rows.X[i*rows.P:(i+1)*rows.P]...)
		of.Y = append(of.Y, rows.Y[i])
	}
	return of
}
