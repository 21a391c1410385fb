package dpreg

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/dpreg/dpreg/agree"
	"github.com/dpreg/dpreg/internal/reference"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/release"
)

// The draws that contradictions are found by, and their stream of random numbers, which no
// chain has.
const (
	contradictionDraws  = 1000
	contradictionStream = math.MaxInt32
)

// contradictions names the custodians whose releases complete pooling does not fit.
func (f *Fit) contradictions() (names []string) {
	if f.partial || f.sameRows || len(f.Custodians) < 2 || !Checkable(f.Method) {
		return nil
	}
	var releases []*model.Observation
	var sites []agree.Site
	for j, c := range f.Custodians {
		obs, err := model.Observe(c.Release)
		if err != nil {
			return nil // the method has refused it
		}
		releases, sites = append(releases, obs), append(sites, agree.NewSite(f.draws, f.frame, c.Release.Schema.Frame(), j))
	}
	rng := mcmc.Stream(f.Plan.Seed, contradictionStream)
	for _, j := range agree.Contradicting(releases, sites, f.draws.Thin(contradictionDraws), rng) {
		names = append(names, f.Custodians[j].Name)
	}
	return names
}

// contradictionWarning says what these contradict, and the way out.
func contradictionWarning(names []string, all int) string {
	who := "the releases " + strings.Join(names, ", ") + " contradict"
	if len(names) == 1 {
		who = "the release " + names[0] + " contradicts"
	}
	return fmt.Sprintf("complete pooling does not hold: %s the regression of all %d, its coefficients or its sigma, by more than noise and chance explain (p at most %g): --pooling partial gives each a regression of its own, or infer each by itself", who, all, agree.Level)
}

// sameRowsWarnings names pairs of releases that look like two of the same rows, of which the
// ratio of agree.Alike is at least 100 times the number of pairs: by Markov's inequality any of
// custodians of other rows, whose sums and noisy numbers are alike by chance alone, is with
// probability 1/100 at most.
func (f *Fit) sameRowsWarnings() (warnings []string) {
	pairs, numbers := len(f.Custodians)*(len(f.Custodians)-1)/2, map[int64]int{}
	for _, c := range f.Custodians {
		numbers[c.Release.N]++
	}
	for j, b := range f.Custodians {
		for _, a := range f.Custodians[:j] {
			if agree.Alike(a.Release, b.Release, numbers[b.Release.N] > 2) >= math.Log(100*float64(pairs)) {
				warnings = append(warnings, fmt.Sprintf("%s and %s may be two releases of the same rows: they have the same bounds, n = %d and %d, and sums that differ by no more than their noise. If they are, their rows count twice here; --same-rows takes releases for measurements of the same sums", a.Name, b.Name, a.Release.N, b.Release.N))
			}
		}
	}
	return warnings
}

// SameRows tells whether the fit took all releases for measurements of the same sums.
func (f *Fit) SameRows() bool { return f.sameRows }

// TotalPrivacy is what all of several releases of the same rows cost a person together, by
// basic composition: the sums of ε and δ; nil where a release does not state its privacy.
func (f *Fit) TotalPrivacy() *release.Privacy {
	var total release.Privacy
	for _, c := range f.Custodians {
		p := c.Release.Privacy
		if p == nil {
			return nil
		}
		total.Epsilon, total.Delta, total.Neighbours = total.Epsilon+p.Epsilon, total.Delta+p.Delta, p.Neighbours
	}
	return &total
}

// rowsOf is the number of rows that releases are of, as published.
func rowsOf(p *model.Problem) (n int64, err error) {
	if p.SameRows {
		obs, err := p.Single()
		if err != nil {
			return 0, err
		}
		return int64(obs.N), nil
	}
	for _, r := range p.Releases {
		n += r.N
	}
	return n, nil
}

// farFromPrior is the distance in prior sds from which an estimate and its prior disagree.
const farFromPrior = 2

// conflictWarnings name the coefficients whose posterior median lies more than farFromPrior
// prior sds from the prior mean, where the prior may pull the estimate. An sd is the interquartile range of
// priorWidths in those of a normal law, in the data's units.
//
// Data from the prior have such a coefficient once in twenty-two times, less where noise
// keeps the median near the prior mean. Under the default prior a slope has to be five times
// sd_y/sd_x, which it cannot be but where it shares 24/25 of its column with others.
func (f *Fit) conflictWarnings() (warnings []string) {
	draws, given := f.Draws(Original), f.coefficientSDs(Original)
	for k, label := range f.coefficients() {
		x := slices.Concat(draws.Column(k)...)
		slices.Sort(x)
		median := posterior.Quantile(x, 0.5)
		sd := 2 * reference.Quantile(0.75, reference.Column(given, k)) / posterior.NormalIQR
		distance := math.Abs(median-f.original.Theta.Mean[k]) / sd
		if !(distance > farFromPrior) {
			continue
		}
		name := "the slope of " + label
		if f.Design.Intercept && k == 0 {
			name = "the intercept"
		}
		wider, _ := strconv.ParseFloat(fmt.Sprintf("%.2g", 2*math.Abs(median)), 64)
		warnings = append(warnings, fmt.Sprintf("%s: the estimate lies %.1f prior standard deviations from the prior mean, and the prior may pull it: --prior-sd '%s=%s' states a wider one", name, distance, label, strconv.FormatFloat(wider, 'f', -1, 64)))
	}
	return warnings
}
