package plan

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

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

// crowd are the rows, one after another, in scaled units, and what each stands for. They have the columns that are not
// of a factor by whose levels sums are; row i is in level l of that by a weight. With π_l the share of a level, and c_l
// the covariance of being in it with the columns, of mean v̄ and covariance S, it is
//
//	w_il = π_l + c_lᵀ S⁻¹(v_i − v̄),   Σ_l w_il = 1,
//
// which gives each level the rows and the sums that it has.
type crowd struct {
	m       int
	rows    []float64
	each    float64
	weights [][]float64 // a row a level; without a factor there is one level
}

// standardRows are crowdSize rows of m normal values, always the same, of mean 0 and covariance 1
// but for rounding.
func standardRows(m int) []float64 {
	rng, z := rand.New(rand.NewPCG(crowdSize, uint64(m))), make([]float64, crowdSize*m)
	variate.Normals(z, 1, rng)
	mean, chol := meanChol(sumsOf(z, m, math.Inf(1)), m, crowdSize)
	for at := 0; at < len(z); at += m {
		row := z[at : at+m]
		floats.Sub(row, mean)
		dense.SolveLower(chol, m, row)
	}
	return z
}

// newCrowd gives standard rows the mean and the covariance of n rows with sums, in canonical order, of m columns of which
// the first k are the factor's, or none.
func newCrowd(sums []float64, m, k int, n float64, standard []float64) (*crowd, error) {
	d := m - k
	others := make([]float64, release.Length(d))
	for j := range d {
		others[j] = sums[k+j]
		for h := j; h < d; h++ {
			others[release.Index(d, j, h)] = sums[release.Index(m, k+j, k+h)]
		}
	}
	centre, chol := meanChol(others, d, n)
	if chol == nil {
		return nil, errSingular
	}
	rows := len(standard) / d
	c := &crowd{m: d, rows: make([]float64, len(standard)), each: n / float64(rows), weights: make([][]float64, k+1)}
	for i := range rows {
		v := c.rows[i*d : (i+1)*d]
		dense.MulLowerVec(v, chol, d, standard[i*d:(i+1)*d])
		floats.Add(v, centre)
	}
	c.weights[0] = slices.Repeat([]float64{1}, rows)
	along := make([]float64, d)
	for l := range k {
		mean := sums[l] / n
		for j := range d {
			along[j] = 0.5 * (sums[release.Index(m, l, k+j)]/n - mean*others[j]/n)
		}
		dense.SolveLower(chol, d, along) // L⁻¹c_l, and v_i − v̄ is L by the standard row
		for i := range rows {
			w := 0.5 * (1 + mean)
			for j, z := range standard[i*d : (i+1)*d] {
				w += along[j] * z
			}
			c.weights[l+1] = append(c.weights[l+1], w)
			c.weights[0][i] -= w
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

// settle settles a release of n rows as custody does: the law of the noise, and δ where that needs
// none. Errors: those of custody.Settle on privacy.
func settle(d *schema.Design, byLevel string, pr release.Privacy, steps int, n int64) (*custody.Settled, error) {
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
	return custody.Settle(o)
}

// looker takes the looks of an order at a crowd, with the noise that a release has, but for the
// lattice: as the draws are the same for any ε and n, and only scales differ, what comes of it
// hardly jumps from one ε to the next.
type looker struct {
	*custody.Settled
	*crowd
	n      float64 // rows that it stands for
	budget ssp.Budget
	plan   adaptive.Plan
	rng    *rand.Rand
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

// levelLook takes the look of step t by levels: counts, sums within them and products, as release.TakeLevels takes them.
func (l *looker) levelLook(t int, f *release.Frame) (look release.Look, own *release.LevelNoise, measured []float64, err error) {
	noise := func(f *release.Frame) (noise release.Noise, err error) {
		noise, own, err = l.budget.LevelNoise(l.m, f, l.plan.Looks[t])
		return noise, err
	}
	u, err := l.within(&look, t, f, noise)
	if err != nil {
		return look, nil, nil, err
	}
	look.Frame.Weight = look.Frame.Radius * l.budget.LevelWeight()
	look.Frame = ssp.RoundFrame(look.Frame)
	if look.Noise, err = noise(look.Frame); err != nil {
		return look, nil, nil, err
	}
	products, _ := l.noise(look.Noise)
	for i, x := range sumsOf(u, l.m, look.Frame.Radius) {
		products[i] += x * l.each
	}
	var sums []float64
	for _, w := range l.weights {
		wide := 1.
		if look.Noise.Kind == release.Ball {
			wide = math.Sqrt(variate.Chi2(own.Freedom, l.rng))
		}
		level := make([]float64, l.m)
		for j := range level {
			level[j] = own.Scale * wide * l.rng.NormFloat64()
		}
		count := own.Count * wide * l.rng.NormFloat64()
		for i, share := range w {
			row := u[i*l.m : (i+1)*l.m]
			count += share * l.each
			shrunk := share * l.each * min(1, look.Frame.Radius/math.Sqrt(square(row)))
			for j, x := range row {
				level[j] += shrunk * x
			}
		}
		measured, sums = append(measured, count), append(sums, level...)
	}
	return look, own, append(append(measured, sums...), products[l.m:]...), nil
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

// publishSteps makes a release in several steps, as ordered, of rows with these sums: of a factor, whose columns are the
// first, by its levels.
func publishSteps(o *custody.Settled, exact *ssp.Statistics, standard []float64, rng *rand.Rand) (*release.Release, error) {
	k, n, last := 0, float64(exact.N), o.Steps-1
	if o.ByLevel != "" {
		_, k, _ = release.LevelsFirst(o.Design, o.ByLevel) // which were settled
	}
	c, err := newCrowd(exact.Vector(), len(o.Design.Columns()), k, n, standard)
	if err != nil {
		return nil, err
	}
	budget, err := ssp.NewBudget(o.Privacy)
	if err != nil {
		return nil, err
	}
	l := &looker{o, c, n, budget, adaptive.NewPlan(c.m, n, o.Privacy, o.Steps), rng}
	frame := o.Frame
	for t := range last {
		look, err := l.look(t, frame)
		if err != nil {
			return nil, err
		}
		frame = ssp.RoundFrame(adaptive.Next(&look, n, c.m))
	}
	var look release.Look
	var own *release.LevelNoise
	var measured []float64
	if k == 0 {
		look, err = l.look(last, frame)
	} else {
		look, own, measured, err = l.levelLook(last, frame)
	}
	if err != nil {
		return nil, err
	}
	privacy := o.Privacy
	r := &release.Release{Format: release.FormatFrame, Simulated: true, Schema: *o.Design, Privacy: &privacy, N: exact.N, NNoise: look.NNoise,
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
