package plan

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/dpreg/dpreg/adaptive"
	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/internal/variate"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/ssp"
)

// A release in several steps finds the frame of its last look in what the looks before it
// published (docs/adaptive.md). Foresee has the sums of n normal rows, and no rows. A crowd stands
// for them: normal rows of the same mean and covariance, whose counts and clipped sums count
// n times over their number. The rules of package adaptive see them with
// noise, as a release's: where it nearly hides the rows, frames that it turned are what makes
// intervals wide.
//
// Tails of fewer rows than one of the crowd are not seen: they matter to the radius only where
// n is so large that noise does not matter.

// crowdSize is the number of rows of a crowd: shares are known to a few per cent.
const crowdSize = 4096

// crowd are the rows, one after another, in scaled units, and what each stands for.
type crowd struct {
	m    int
	rows []float64
	each float64
}

// standardRows are crowdSize rows of m normal values, always the same, of mean 0 and covariance 1
// but for rounding.
func standardRows(m int) []float64 {
	rng, z := rand.New(rand.NewPCG(crowdSize, uint64(m))), make([]float64, crowdSize*m)
	for i := range z {
		z[i] = rng.NormFloat64()
	}
	mean, chol := meanChol(sumsOf(z, m, math.Inf(1)), m, crowdSize)
	for at := 0; at < len(z); at += m {
		row := z[at : at+m]
		for j := range row {
			row[j] -= mean[j]
		}
		dense.SolveLower(chol, m, row)
	}
	return z
}

// newCrowd gives standard rows the mean and the covariance of n rows with these sums.
func newCrowd(sums []float64, m int, n float64, standard []float64) (*crowd, error) {
	mean, chol := meanChol(sums, m, n)
	if chol == nil {
		return nil, errSingular
	}
	c := &crowd{m, make([]float64, len(standard)), n * float64(m) / float64(len(standard))}
	for at := 0; at < len(standard); at += m {
		v := c.rows[at : at+m]
		dense.MulLowerVec(v, chol, m, standard[at:at+m])
		for j := range v {
			v[j] += mean[j]
		}
	}
	return c, nil
}

// meanChol is the mean of n rows with these sums, in canonical order, and the Cholesky factor of
// their covariance, nil where it is singular in float64.
func meanChol(sums []float64, m int, n float64) (mean, chol []float64) {
	mean, chol = make([]float64, m), make([]float64, m*m)
	for j := range m {
		mean[j] = sums[j] / n
		for k := range j + 1 {
			chol[j*m+k] = sums[release.Index(m, j, k)]/n - mean[j]*mean[k]
		}
	}
	if !dense.Cholesky(chol, m) {
		return mean, nil
	}
	return mean, chol
}

// sumsOf are those of rows u clipped to a radius, in canonical order.
func sumsOf(u []float64, m int, radius float64) []float64 {
	z := make([]float64, release.Length(m))
	for at := 0; at < len(u); at += m {
		row := u[at : at+m]
		shrunk := min(1, radius/math.Sqrt(square(row)))
		for j, x := range row {
			x *= shrunk
			z[j] += x
			first := release.Index(m, j, j) - j
			for k := j; k < m; k++ {
				z[first+k] += x * shrunk * row[k]
			}
		}
	}
	return z
}

func square(u []float64) (sum float64) {
	for _, x := range u {
		sum += x * x
	}
	return sum
}

var errSingular = errors.New("what is assumed of the columns gives covariance matrices that are singular in float64")

// order is what is asked of a release: that of custody, and how many rows there will be.
type order struct {
	*custody.Settled
	n float64
}

// newOrder settles a release as custody does: the law of the noise, and δ where that needs
// none. Errors: those of custody.Settle on privacy.
func newOrder(d *schema.Design, byLevel string, pr release.Privacy, steps int, n int64) (*order, error) {
	o := custody.Order{Rows: custody.Scaled{Name: "simulated rows"}, Design: d, ByLevel: byLevel, Privacy: pr, Steps: steps}
	if steps == 0 || steps == custody.AutoSteps {
		columns := len(d.Covariates) + 1
		if first, k, err := release.LevelsFirst(d, byLevel); err == nil && first.Response.Name == d.Response.Name {
			columns = len(first.Covariates) + 1 - k // a frame is of the others
		}
		o.Steps, _ = adaptive.Auto(columns, float64(n), pr)
	}
	if o.Steps > 1 && pr.Neighbours == release.AddRemove {
		o.StatedRows = n
	}
	s, err := custody.Settle(o)
	if err != nil {
		return nil, err
	}
	return &order{s, float64(n)}, nil
}

// looker takes the looks of an order at a crowd, with the noise that a release has, but for the
// lattice: as the draws are the same for any ε and n, and only scales differ, what comes of it
// hardly jumps from one ε to the next.
type looker struct {
	*order
	*crowd
	budget ssp.Budget
	plan   adaptive.Plan
	rng    *rand.Rand
}

// looks are those of the order at a crowd.
func (o *order) looks(c *crowd, rng *rand.Rand) (l *looker, err error) {
	l = &looker{order: o, crowd: c, rng: rng, plan: adaptive.NewPlan(c.m, o.n, o.Privacy, o.Steps)}
	l.budget, err = ssp.NewBudget(o.Privacy)
	return l, err
}

// before takes the looks before step t, from 0, and returns its frame.
func (l *looker) before(t int) (frame *release.Frame, err error) {
	frame = l.Frame
	for before := range t {
		look, err := l.look(before, frame)
		if err != nil {
			return nil, err
		}
		frame = ssp.RoundFrame(adaptive.Next(&look, l.n, l.m))
	}
	return frame, nil
}

// within gives a look of step t its radii, of rows in a frame, and the frame with the radius that they tell, or the
// box, and returns the rows in that.
func (l *looker) within(look *release.Look, t int, f *release.Frame, noiseIn func(*release.Frame) (release.Noise, error)) (u []float64, err error) {
	u = l.in(f)
	if look.Radii, err = l.radii(t, f, u); err != nil {
		return nil, err
	}
	look.Frame = ssp.RoundFrame(l.plan.Radius(t, f, look.Radii, l.n, func(f *release.Frame) release.Noise {
		noise, failed := noiseIn(f)
		err = errors.Join(err, failed)
		return noise
	}))
	if !slices.Equal(f.Centre, look.Frame.Centre) {
		u = l.in(look.Frame)
	}
	return u, err
}

// look takes the look of step t, from 0.
func (l *looker) look(t int, f *release.Frame) (look release.Look, err error) {
	noise := func(f *release.Frame) (release.Noise, error) { return l.budget.Noise(l.m, f, l.plan.Looks[t]) }
	u, err := l.within(&look, t, f, noise)
	if err != nil {
		return look, err
	}
	if look.Noise, err = noise(look.Frame); err != nil {
		return look, err
	}
	z, count := l.noise(look.Noise)
	for i, x := range sumsOf(u, l.m, look.Frame.Radius) {
		z[i] += x * l.each
	}
	if l.Privacy.Neighbours == release.AddRemove {
		look.NNoise = math.Nextafter(look.Noise.Scale/(look.Frame.Weight*look.Frame.Weight), math.Inf(1))
		look.N = int64(math.Round(l.n + look.NNoise*count))
	}
	look.Statistics = release.StatisticsFromVector(l.m, z)
	return look, nil
}

// noise is that on sums, in canonical order, and on the number of rows, of scale 1.
func (l *looker) noise(n release.Noise) (z []float64, count float64) {
	z = make([]float64, release.Length(l.m))
	wide := 1.
	if n.Kind == release.Ball { // as release.Ball has it
		wide = math.Sqrt(variate.Chi2(n.Freedom, l.rng))
	}
	for j := range l.m {
		z[j] = n.Linear * wide * l.rng.NormFloat64()
		for k := j; k < l.m; k++ {
			scale := n.Cross
			if k == j {
				scale = n.Scale
			}
			z[release.Index(l.m, j, k)] = scale * wide * l.rng.NormFloat64()
		}
	}
	return z, wide * l.rng.NormFloat64()
}

// radii counts ‖u‖² in the bins, and with the scale, that ssp has.
func (l *looker) radii(t int, f *release.Frame, u []float64) (*release.Radii, error) {
	ball, err := ssp.NewBall(f, l.m)
	if err != nil {
		return nil, err
	}
	r, _, err := l.budget.PublishRadii(ball.Radii(), l.plan.Radii[t], mechanisms.Simulated(rand.New(rand.NewPCG(1, 1))))
	if err != nil {
		return nil, err
	}
	counts := make([]float64, len(r.Counts))
	for at := 0; at < len(u); at += l.m {
		bin := math.Ceil(2*math.Log2(square(u[at:at+l.m]))) - float64(r.Least)
		counts[int(min(max(bin, 0), float64(len(counts)-1)))] += l.each
	}
	for i := len(counts) - 1; i >= 0; i-- { // from the outermost, which all frames have
		noise := l.rng.NormFloat64()
		if l.budget.Kind == release.Ball {
			noise = l.rng.ExpFloat64() - l.rng.ExpFloat64()
		}
		r.Counts[i] = int64(math.Round(counts[i] + r.Scale*noise))
	}
	return r, nil
}

// in are the rows in a frame, u = W(v − c).
func (c *crowd) in(f *release.Frame) []float64 {
	u := make([]float64, len(c.rows))
	for at := 0; at < len(u); at += c.m {
		for j, row := range f.Matrix {
			for i, w := range row {
				u[at+j] += w * (c.rows[at+i] - f.Centre[i])
			}
		}
	}
	return u
}

// publish makes a release in several steps of rows with sums z: of a factor, whose columns are the first, by its levels.
func (o *order) publish(z []float64, standard []float64, rng *rand.Rand) (*release.Release, error) {
	k := 0
	if o.ByLevel != "" {
		_, k, _ = release.LevelsFirst(o.Design, o.ByLevel) // which were settled
	}
	c, err := newLevelCrowd(z, len(o.Design.Columns()), k, o.n, standard)
	if err != nil {
		return nil, err
	}
	l, err := o.looks(c.crowd, rng)
	if err != nil {
		return nil, err
	}
	frame, err := l.before(o.Steps - 1)
	if err != nil {
		return nil, err
	}
	var look release.Look
	var own *release.LevelNoise
	var measured []float64
	if k == 0 {
		look, err = l.look(o.Steps-1, frame)
	} else {
		look, own, measured, err = l.levelLook(o.Steps-1, frame, c.weights)
	}
	if err != nil {
		return nil, err
	}
	privacy := o.Privacy
	r := &release.Release{Format: release.FormatFrame, Simulated: true, Schema: *o.Design, Privacy: &privacy, N: int64(o.n), NNoise: look.NNoise,
		Noise: look.Noise, Statistics: look.Statistics, Frame: look.Frame, Radii: look.Radii}
	if look.NNoise > 0 {
		r.N = look.N
	}
	if k > 0 {
		r.Format = release.FormatLevels
		r.TakeLevels(release.NewLevels(o.ByLevel, k, own), measured)
	}
	return r, nil
}
