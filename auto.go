package dpreg

import (
	"fmt"
	"math"
	"slices"

	"github.com/dpreg/dpreg/gibbs"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/nuts/exact"
	"github.com/dpreg/dpreg/nuts/individual"
)

// Auto is the method that takes the engine which is exact under the model and
// affordable, and says which and why; see Fit.Why. All its engines have the same
// posterior.
const Auto = "auto"

// Where gibbs-ss-update is the faster engine: with fewer rows the normal approximation that it
// proposes from is poor, a latent number of rows moves slowly, a sweep costs O(m⁴), and moves
// parameters given sums about as far as they stray by the choice of rows. See docs/engines.md.
const (
	manyCustodians = 10
	manyCounted    = 30  // custodians, where the number of rows of one is latent
	manyRows       = 20  // a column
	mostColumns    = 11  // the response counted
	clearOfNoise   = 10. // exact.Clearance
	mostNoise      = 0.5 // √n/Clearance: noise over what the choice of rows adds to the least eigenvalue
)

// mostLatent is the number of rows up to which Auto takes mcmc-ind, whose cost grows with
// them: minutes, at that many.
const mostLatent = 10_000

// choose returns the method that Auto takes for custodians of the same columns, and why:
//
//   - mcmc-exact where the response is of a family;
//   - gibbs-ss-update where a kernel is asked for, which only the Gibbs methods have;
//   - mcmc-ind where clamping is to be modelled, which only it can;
//   - mcmc-exact where sums are by the levels of a factor;
//   - gibbs-ss-update for many custodians of many rows, since it looks at one release at a
//     time, and trajectories of all together grow long (docs/custodians.md);
//   - gibbs-ss-update where columns are few and noise is small beside their spread, and, unless
//     pooling is partial, beside what the choice of rows adds: there parameters given sums move
//     as far as they can (docs/engines.md);
//   - mcmc-exact elsewhere, if the scatter of n rows of m columns has a density, n > m;
//   - mcmc-ind where a release has fewer rows, whose cost grows with n, but is small there.
//
// It is an error where mcmc-ind alone can do what is asked and all releases together have
// more than mostLatent rows.
func (o Options) choose(custodians []Custodian) (m model.Method, why string, err error) {
	if o.SameRows {
		custodians = custodians[:1]
	}
	m, why = o.prefer(custodians)
	rows := int64(0)
	for _, c := range custodians {
		rows += c.Release.N
	}
	if _, ok := m.(individual.Method); ok && rows > mostLatent {
		err = fmt.Errorf("method %s takes %s for at most %d rows, and here are %d: %s, but its time grows with the rows. If that may be, say --method %s; else %s",
			Auto, m.Name(), mostLatent, rows, why, m.Name(), o.otherwise(custodians))
	}
	if err == nil {
		m, err = o.variant(m)
	}
	return m, why, err
}

// otherwise says how to do without mcmc-ind.
func (o Options) otherwise(custodians []Custodian) string {
	switch {
	case o.ModelClamping:
		return "leave --model-clamping out"
	case len(custodians) > 1:
		return "leave releases of so few rows out, or infer a smaller model by --formula"
	}
	return "infer a smaller model by --formula"
}

// prefer is choose at any number of rows.
func (o Options) prefer(custodians []Custodian) (m model.Method, why string) {
	columns := int64(custodians[0].Release.Dim())
	few := slices.IndexFunc(custodians, func(c Custodian) bool { return c.Release.N <= columns && c.Release.NNoise == 0 })
	faster := o.gibbsIsFaster(custodians)
	switch {
	case o.Family != model.Normal:
		return exact.Method{}, "it alone has the families of responses"
	case o.Kernel != "":
		return gibbs.Method{Moments: gibbs.Update, Kernel: gibbs.Kernel(o.Kernel)}, "a kernel was asked for"
	case o.ModelClamping:
		return individual.Method{ModelClamping: true}, "it alone can model what clamping did"
	case custodians[0].Release.Levels != nil:
		return exact.Method{}, "it alone has the law of sums by levels"
	case faster != "":
		return gibbs.Method{Moments: gibbs.Update}, "it is exact for normal columns, and the faster one " + faster
	case few < 0:
		return exact.Method{}, "it is exact for normal columns, at a cost that does not depend on n"
	}
	return individual.Method{}, fmt.Sprintf("it is exact for normal columns, and can do with n = %d rows of %d columns", custodians[few].Release.N, columns)
}

// gibbsIsFaster says where gibbs-ss-update is faster than mcmc-exact, if it is here; else it is
// empty. It looks at the releases alone.
func (o Options) gibbsIsFaster(custodians []Custodian) string {
	columns := custodians[0].Release.Dim()
	many := manyCustodians
	if slices.ContainsFunc(custodians, func(c Custodian) bool { return c.Release.NNoise > 0 }) {
		many = manyCounted
	}
	partial := o.Pooling == PartialPooling
	switch {
	case slices.ContainsFunc(custodians, func(c Custodian) bool { return c.Release.N < int64(manyRows*columns) }):
		return ""
	case len(custodians) >= many:
		return "with so many releases"
	case o.SameRows || columns > mostColumns || slices.ContainsFunc(custodians, func(c Custodian) bool { return hides(c, partial) }):
		return ""
	case partial:
		return "where pooling is partial and noise is small beside the columns' spread"
	}
	return "where noise is small beside the choice of rows"
}

// hides tells whether the number of rows is noisy, or noise is not small beside what a column has that the others have
// not and, but where pooling is partial, what the choice of rows adds to that.
func hides(c Custodian, partial bool) bool {
	obs, err := model.Observe(c.Release)
	least := clearOfNoise
	if err == nil && !partial {
		least = max(least, math.Sqrt(obs.N)/mostNoise)
	}
	return err != nil || obs.Count.Latent() || exact.Clearance(obs) < least
}
