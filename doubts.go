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

// The draws that contradictions are found by, and their stream of random numbers, which no chain has.
const contradictionDraws, contradictionStream = 1000, math.MaxInt32

// contradictions names the custodians whose releases complete pooling does not fit.
func (f *Fit) contradictions() (names []string) {
	if f.problem.PartialPooling || f.SameRows() || len(f.Custodians) < 2 || !Checkable(f.Method) {
		return nil
	}
	var releases []*model.Observation
	var sites []agree.Site
	for j, c := range f.Custodians {
		obs, err := model.Observe(c.Release)
		if err != nil {
			return nil // the method has refused it
		}
		releases, sites = append(releases, obs), append(sites, agree.NewSite(f.apparent, model.ShapeOf(c.Release), f.frame, f.Family.Design(&c.Release.Schema).Frame(), j))
	}
	of := agree.Response{Family: f.Family, Most: f.Design.Response.Upper}
	_, of.Apart = model.Apart(f.Custodians[0].Release)
	rng := mcmc.Stream(f.Plan.Seed, contradictionStream)
	for _, j := range agree.Contradicting(of, releases, sites, f.apparent.Thin(contradictionDraws), rng) {
		names = append(names, f.Custodians[j].Name)
	}
	return names
}

// contradictionWarning says what these contradict, and the way out.
func contradictionWarning(of model.Family, names []string, all int) string {
	what, who := "its coefficients or its sigma", "the releases "+strings.Join(names, ", ")+" contradict"
	if of != model.Normal {
		what = "its coefficients or the normal law of x"
	}
	if len(names) == 1 {
		who = "the release " + names[0] + " contradicts"
	}
	return fmt.Sprintf("complete pooling does not hold: %s the regression of all %d, %s, by more than noise and chance explain (p at most %g): --pooling partial gives each a regression of its own, or infer each by itself", who, all, what, agree.Level)
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
func (f *Fit) SameRows() bool { return f.problem.SameRows }

// OneDealing tells whether the fit is of several parts that rows were dealt to.
func (f *Fit) OneDealing() bool {
	return len(f.problem.Releases) > 1 && release.OneDealing(f.problem.Releases...)
}

// TotalPrivacy is what all of several releases of the same rows cost a person together, by
// basic composition: the sums of ε and δ; nil where a release does not state its privacy. Of parts of one
// dealing it is that of one.
func (f *Fit) TotalPrivacy() *release.Privacy {
	var total release.Privacy
	if f.OneDealing() {
		return f.problem.Releases[0].Privacy
	}
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
		joint, err := p.Join()
		if err != nil {
			return 0, err
		}
		return int64(joint.Rows()), nil
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
// findPriorWidths in those of a normal law, in the data's units.
//
// Data from the prior have such a coefficient once in twenty-two times, less where noise
// keeps the median near the prior mean. Under the default prior a slope has to be five times
// sd_y/sd_x, which it cannot be but where it shares 24/25 of its column with others.
func (f *Fit) conflictWarnings() (warnings []string) {
	draws, given := f.Draws(Original), f.coefficientSDs(Original)
	for k, label := range f.labels(false)[:f.shape().Q()] {
		x := slices.Concat(draws.Column(k)...)
		slices.Sort(x)
		median := posterior.Quantile(x, 0.5)
		off, sds := math.Abs(median-f.original.Theta.Mean[k]), reference.Column(given, k)
		if off < farFromPrior*slices.Min(sds) {
			continue // and of the mean of all the more
		}
		distance := off * posterior.NormalIQR / (2 * reference.Quantile(0.75, sds))
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

// Limits of Converged.
const (
	ampleESS   = 1000 // from here R-hat is precise enough for strictRHat
	strictRHat = 1.01
	laxRHat    = 1.02
	leastESS   = 400 // 100 for each of four chains
)

// Converged tells whether the draws may be trusted, and if not, why: every diagnostic
// that failed, with its limit and the parameter that is farthest beyond it. They may not
// be where R-hat of any parameter is above 1.01, or where the smallest effective sample
// size, bulk or tail, is below 400, unless the plan set the number of draws: Vehtari et
// al. (2021), Bayesian Analysis 16(2), section 4.
//
// Where that size is below 1000 the limit of R-hat is 1.02, since R-hat of chains that
// agree is then that large by chance: the mean of each of the 2m halves of m chains has
// variance W/e, e = ESS/2m, so that R-hat² − 1 ≈ B/(NW) ≈ χ²_{2m−1}/((2m−1)e). Of four
// chains R-hat is 1.01 on average at an ESS of 400, and above 1.01 once in seventy times at
// 1000. Draws of non-private are independent: there is nothing to fail.
func (f *Fit) Converged() (ok bool, reason string) {
	reason = f.failure()
	return reason == "", reason
}

// diagnose is the reason of Converged; empty where there is none.
func (f *Fit) diagnose() string {
	if f.Method == nonPrivate {
		return ""
	}
	parameters := f.checked()
	var failed []string
	if at := slices.IndexFunc(parameters, func(p posterior.Parameter) bool { return p.Undefined != "" }); at >= 0 {
		failed = append(failed, fmt.Sprintf("R-hat or ESS of %s does not exist: %s; give more warm-up and draws", parameters[at].Label, parameters[at].Undefined))
	}
	worst, least := posterior.Worst(parameters)
	if worst == nil {
		return failed[0]
	}
	limit, of := limitOfRHat(least), "Vehtari et al. 2021"
	if limit == laxRHat {
		of = fmt.Sprintf("as ESS is below %d and R-hat less precise; else %v, %s", ampleESS, strictRHat, of)
	}
	if worst.RHat > limit {
		failed = append(failed, fmt.Sprintf("R-hat of %s is %.3f, above %v (%s): the chains do not agree; leave out a column of which the release tells next to nothing, or state a prior (dpreg help diagnostics), or give more warm-up and draws", worst.Label, worst.RHat, limit, of))
	}
	if f.Plan.Draws == 0 && least.ESS() < leastESS {
		failed = append(failed, fmt.Sprintf("the effective sample size of %s is %.0f, below %d (Vehtari et al. 2021); give more draws", least.Label, least.ESS(), leastESS))
	}
	return strings.Join(failed, "; ")
}

func limitOfRHat(least *posterior.Parameter) float64 {
	if least.ESS() < ampleESS {
		return laxRHat
	}
	return strictRHat
}

// untilMixed is the plan, of which a run by ESS goes on where Converged would fail of R-hat,
// or of the size of a parameter that the sampler does not see: the intercept in the data's
// units. A plan for fewer than leastESS fails of that anyway, and is as short as it asks.
func (f *Fit) untilMixed() mcmc.Plan {
	plan := f.Plan
	if plan.ESS >= leastESS {
		plan.Mixed = func(draws *posterior.Draws) bool {
			soFar := *f
			soFar.frame, soFar.apparent, soFar.draws = f.Frame(), draws, draws
			worst, least := posterior.Worst(soFar.findChecked())
			return worst == nil || worst.RHat <= limitOfRHat(least) && least.ESS() >= leastESS
		}
	}
	return plan
}

// findChecked finds the parameters that Converged looks at. Diagnostics are invariant to
// monotone maps of a parameter, so that units matter for the intercept alone, and both of
// its are among them.
func (f *Fit) findChecked() []posterior.Parameter {
	all, shown := posterior.Summarise(f.Apparent(Original), posterior.DefaultLevel).Parameters, f.layout().Shown(false)
	for i, label := range f.labels(false) {
		if all[i].Label = label; shown[i].Kind == model.Rows { // noise may tell n: it does not vary, or hardly
			all[i].Undefined = ""
		}
	}
	if f.Design.Intercept {
		scaled := f.apparent.Map([]string{"the intercept in scaled units"}, func(dst, src []float64) { dst[0] = src[0] })
		all = append(all, posterior.Summarise(scaled, posterior.DefaultLevel).Parameters...)
	}
	return all
}

// normalityWarnings say of the columns that are 0 or 1 what the method made of them,
// a sentence each: methods that take the covariates to be normal do so of dummies too.
func (f *Fit) normalityWarnings() []string {
	var warnings []string
	y := f.Design.Response
	if f.Family == model.Normal && (y.Binary() || len(f.Custodians) == 1 && model.Looks01(f.Custodians[0].Release)) {
		warnings = append(warnings, fmt.Sprintf("the response %q is 0 or 1, and modelled as a line with normal residuals: --family binomial models its probability, see dpreg help factors", y.Name))
	}
	if c := Traits(f.Method).Covariates; c == model.NoCovariates || c == model.ReleasedCovariates {
		return warnings
	}
	warnings = append(warnings, model.HiddenWarnings(f.Design, f.problem.Releases)...)
	if names := f.dummiesTakenForNormal(); names != nil {
		are := "are dummies"
		if len(names) == 1 {
			are = "is a dummy"
		}
		warnings = append(warnings, fmt.Sprintf("x is modelled as normal, and %s %s, 0 or 1: see dpreg help factors", model.Listed(names), are))
	}
	d := f.Design.Uncrossed(f.Custodians[0].Release.Levels.Crossed())
	d.Covariates = d.Covariates[f.Custodians[0].Release.OwnLaw():]
	if names := d.Related(); names != nil {
		warnings = append(warnings, fmt.Sprintf("x is modelled as normal, and %s is made of what other covariates are: see dpreg help formulas", names[0]))
	}
	return warnings
}

// dummiesTakenForNormal quotes the columns that are 0 or 1, and have no law of their own.
func (f *Fit) dummiesTakenForNormal() (names []string) {
	var apart []int
	if f.Family != model.Normal {
		_, rows := model.Apart(f.Custodians[0].Release)
		apart = slices.Concat(rows...)
	}
	for _, j := range model.Dummies(f.Custodians[0].Release) {
		if j >= f.Custodians[0].Release.OwnLaw() && !slices.Contains(apart, j) {
			names = append(names, strconv.Quote(f.Design.Covariates[j].Name))
		}
	}
	return names
}

// doubt takes draws of slopes on a link's scale, by the law of normal x, to those that rows may have, of all custodians by
// one factor, see model.Doubt, and says so where they are strong. The spread between custodians stays.
func (f *Fit) doubt() {
	if f.Family == model.Normal {
		return
	}
	told := model.Releases(f.problem.Releases, &f.frame)
	x, mean, variance := told.Law, model.NewParams(f.shape()), model.NewParams(f.shape())
	mean.Copy(x) // where draws leave it out
	means, variances := f.apparent.Moments()
	f.read(mean, means)
	f.read(variance, variances)
	var prior, sds, doubts []float64
	given, q := f.coefficientSDs(Scaled), len(x.Theta)
	for k := range q {
		prior = append(prior, 2*reference.Quantile(0.75, reference.Column(given, k))/posterior.NormalIQR)
	}
	f.doubts = model.NewDoubt(f.Family, f.Custodians[0].Release)
	f.doubts.Anchor(mean, variance, f.apparent.Covariance(q), f.Prior.Theta.Mean, prior, told, float64(f.N), f.problem.PartialPooling)
	theta := f.at(model.Parameter{Kind: model.ThetaAt, Custodian: 1, K: f.shape().First()})
	f.draws = f.apparent.Map(f.apparent.Names, func(dst, src []float64) {
		copy(dst, src)
		f.read(x, src)
		s, w := f.doubts.Next(dst[:q], x)
		sds, doubts = append(sds, s), append(doubts, w)
		for at := theta; at >= 0 && at < theta+q*len(f.Custodians); at += q {
			f.doubts.Again(dst[at:at+q], x)
		}
	})
	slices.Sort(sds)
	slices.Sort(doubts)
	if f.doubts.Strained() {
		f.draws.Warnings = append(f.draws.Warnings, "effects of columns that are 0 or 1 are so strong that normal x cannot have them, and intervals may be too narrow: a release --by-level of one of them has its law")
	}
	if posterior.Quantile(doubts, 0.1) > 0.1 { // else the prior may have made it so
		f.draws.Warnings = append(f.draws.Warnings, fmt.Sprintf("the linear predictor has an sd of about %.1f: how strong such slopes are hangs on the law of x, of which sums tell mean and covariance alone, and intervals are wider for it", posterior.Quantile(sds, 0.5)))
	}
}
