package exact

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/model/modeltest"
	"github.com/dpreg/dpreg/release"
)

// leveledSites are custodians that differ in rows, noise, frames and units.
func leveledSites(levels, q int, prior *model.Prior, partial bool) jointRows {
	s := model.Shape{P: levels - 1 + q, Intercept: true}
	return jointRows{[]leveledRows{
		{s, levels, 60, release.Laplace, 3, prior, false, 0, 0},
		{s, levels, 30, release.Gaussian, 2, prior, false, 0.6, 0},
		{s, levels, 90, release.Ball, 1.5, prior, true, 0.8, 0},
	}, partial}
}

// latent are such custodians, whose numbers of rows have noise.
func latent(sites []leveledRows) (all []leveledRows) {
	for _, c := range sites {
		c.most = 2 * c.n
		all = append(all, c)
	}
	return all
}

// jointRows are custodians whose rows share a regression, or where partial have regressions alike.
type jointRows struct {
	sites   []leveledRows
	partial bool
}

// draw returns parameters in the order of the problem's names, and the problem.
func (c jointRows) draw(rng *rand.Rand) (truth []float64, problem *model.Joint) {
	first := c.sites[0]
	problem = &model.Joint{Shape: first.shape, Prior: first.prior, Partial: c.partial}
	hub, own := model.NewHub(problem), model.NewParams(first.shape)
	model.NewConditionals(first.shape, first.prior, true).DrawPrior(own, rng)
	coordinates := make([]float64, hub.Dim())
	hub.Unconstrain(coordinates, own)
	if c.partial {
		hub.Spread.DrawPrior(coordinates[hub.Dim()-hub.Spread.Dim():], rng)
	}
	hub.Constrain(coordinates)
	drawn := make([]float64, first.shape.Q()+1)
	var regressions, rows []float64
	for _, site := range c.sites {
		site = site.counted(rng)
		copy(drawn, hub.Centre)
		if c.partial {
			hub.Spread.Draw(drawn, hub.Centre, rng)
		}
		own.Sigma2 = math.Exp(drawn[copy(own.Theta, drawn)])
		problem.Sites = append(problem.Sites, site.site(site.drawRows(own, rng)))
		regressions = append(append(regressions, own.Theta...), math.Sqrt(own.Sigma2))
		if site.most > 0 {
			rows = append(rows, float64(site.n))
		}
	}
	truth = make([]float64, len(problem.Names()))
	if at := hub.Write(truth); c.partial {
		copy(truth[at:], regressions)
	}
	copy(truth[len(truth)-len(rows):], rows)
	return truth, problem
}

// TestJointLevelsGradient compares the gradient with differences of the smooth density, a level of one custodian empty.
func TestJointLevelsGradient(t *testing.T) {
	rng := rand.New(rand.NewPCG(51, 1))
	for _, partial := range []bool{false, true} {
		for _, levels := range []int{2, 4} {
			for _, q := range []int{0, 2} {
				c := leveledSites(levels, q, modeltest.TamePrior(model.Shape{P: levels - 1 + q, Intercept: true}), partial)
				_, problem := c.draw(rng)
				problem.Prior = freePriors(problem.Shape)[q/2]
				f := newJoint(problem)
				y := make([]float64, f.Dim())
				for !f.start(problem, y, rng) {
				}
				checkLevelsGradient(t, fmt.Sprintf("partial=%t levels=%d q=%d", partial, levels, q), f, y, 0.3, 1e-4, rng)
			}
		}
	}
}

// checkLevelsGradient compares slopes, off a start y by so many sds, with differences of a step, where the second level
// of the first custodian is empty.
func checkLevelsGradient(t *testing.T, name string, f *joint, y []float64, off, step float64, rng *rand.Rand) {
	t.Helper()
	for _, s := range f.spokes {
		if s, of := s.(*levelSpoke); of {
			s.levelSums.noise = flatNoise(s.Observation)
		}
	}
	for _, s := range f.spokes {
		sumsOf(s).dispersion.sharpen()
	}
	first := sumsOf(f.spokes[0])
	first.counts[0] += first.counts[1]
	first.counts[1] = 0
	first.take(first.counts)
	for near, tries := slices.Clone(y), 0; ; tries++ {
		if tries == mostStarts {
			t.Fatalf("%s: no point near the start that rows can have", name)
		}
		for i, v := range near {
			y[i] = v + off*rng.NormFloat64()
		}
		if _, err := f.LogDensity(make([]float64, len(y)), y); err == nil { // no rows have other sums
			break
		}
	}
	f.Reach(y)
	f.checkSlopes(t, name, y, step)
}

func sumsOf(s part) *levelSums {
	if s, of := s.(*countSpoke); of {
		return s.levelSums
	}
	return s.(*levelSpoke).levelSums
}

// leveledChain is a chain of spokes by levels, which have more coordinates to be tuned to.
func leveledChain() modeltest.Chain {
	c := chainOf(4)
	c.Warmup = max(c.Warmup, 200)
	return c
}

// TestJointLevelsSBC is TestJointSBC of sums by levels: rows one by one, counts multinomial. Noise hides a level of
// few rows. The prior is of rows in the box: of rows far out of it noise is small, and chains so short do not arrive. Ranks are
// judged case by case, and over all with one regression, which are 54. The long form, of one case of -run with 500 data sets, takes twenty minutes of processor time:
//
//	go test ./nuts/exact -run TestJointLevelsSBC//levels=3 -sbc.long -v -timeout 8h
func TestJointLevelsSBC(t *testing.T) {
	trials := testsize.Of(5, dataSets/3)
	if *sbcLong {
		trials = 500
	}
	var common together
	t.Run("", func(t *testing.T) { jointLevelsSBC(t, trials, &common) })
	common.uniform(t)
}

func jointLevelsSBC(t *testing.T, trials int, common *together) {
	for i, levels := range []int{3, 2, 4} { // of 4 n is latent
		for _, partial := range []bool{false, true} {
			if partial && (levels == 4 || levels == 3 && !*sbcLong) || testing.Short() && (i > 0 || partial) {
				continue
			}
			trials := trials
			if partial && !*sbcLong { // a data set takes three seconds; as many as TestPooledFamilySBC has
				trials = 8
			}
			t.Run(fmt.Sprintf("levels=%d partial=%t", levels, partial), func(t *testing.T) {
				t.Parallel()
				s := model.Shape{P: levels, Intercept: true}
				c := leveledSites(levels, 1, model.Normal.BoxPrior(s), partial)
				if !*sbcLong { // two custodians, each kind of them with another
					c.sites = c.sites[i%2 : i%2+2]
				}
				if levels == 4 {
					c.sites = latent(c.sites)
				}
				names, ranks := jointRanks(t, 53, leveledChain(), trials, c.draw, nil)
				modeltest.Report(t, names, ranks)
				common.add(names, ranks, fmt.Sprintf("partial=%t", partial))
			})
		}
	}
}

// TestJointLevelsSBCFindsFaults: levels of one custodian in another order are found.
func TestJointLevelsSBCFindsFaults(t *testing.T) {
	testsize.Planted(t)
	t.Parallel()
	c := leveledSites(3, 1, model.Normal.BoxPrior(model.Shape{P: 3, Intercept: true}), false)
	c.sites = c.sites[:2]
	_, ranks := jointRanks(t, 53, leveledChain(), 60, c.draw, func(p *model.Joint) {
		told := p.Sites[1].Told
		for i := range 2 { // the columns behind the dummies
			z := told.Z[3+2:]
			z[i], z[2+i] = z[2+i], z[i]
		}
		told.Z[1], told.Z[2] = told.Z[2], told.Z[1]
	})
	if !modeltest.Unlike(ranks) {
		t.Error("levels in another order went unnoticed")
	}
}

// TestJointLevelsOfOne: of one release, of public n or latent, p(F, D, μ, σ, θ | z) is the density that byLevel has of (F, D, μ, σ), θ integrated
// out, times the normal law of θ given these, at any counts, but for a constant.
func TestJointLevelsOfOne(t *testing.T) {
	rng := rand.New(rand.NewPCG(52, 1))
	for _, levels := range []int{2, 4} {
		for _, q := range []int{0, 2} {
			s := model.Shape{P: levels - 1 + q, Intercept: true}
			for which, prior := range []*model.Prior{modeltest.TamePrior(s), model.Normal.BoxPrior(s)} {
				sites := leveledSites(levels, q, prior, false).sites
				for _, c := range append(sites, latent(sites)...) {
					c = c.counted(rng)
					_, obs := c.draw(rng)
					problem := &model.Joint{Shape: s, Prior: prior, Sites: []*model.Site{c.site(obs)}}
					f, hub := newByLevel(problem.Sites[0], prior), model.NewHub(problem)
					part := newLevelSpoke(problem, 0, hub, nil)
					constant := math.NaN()
					for range 5 {
						phi, counts, sums, w := randomSums(hub, f, rng)
						part.takeSigma()
						x, y := make([]float64, f.Dim()), make([]float64, part.dim())
						if !f.resum(x, counts, sums, w) || !part.resum(y, counts, sums, w) {
							t.Fatal("no coordinates")
						}
						f.ell = 0.5 * phi[s.Q()]
						f.keep(x)
						for i := range f.end() - f.zetaAt() {
							x[f.zetaAt()+i] = rng.NormFloat64()
							y[part.zetaAt()+i] = x[f.zetaAt()+i]
						}
						one, ok := f.value(x)
						all, also := part.value(y)
						if !ok || !also {
							t.Fatal("no density")
						}
						all += hub.LogPrior(make([]float64, hub.Dim()), phi)
						all -= part.logJ
						part.levelSums.prior.see(part.within, part.sums, part.law.roots)
						got := all - (one - f.logJ) - logTheta(t, part, prior)
						if math.IsNaN(constant) {
							constant = got
						}
						if !(math.Abs(got-constant) < 1e-6*(1+math.Abs(all))) {
							t.Errorf("%v prior %d: apart by %v, and before by %v", c, which, got, constant)
						}
					}
				}
			}
		}
	}
}

// randomSums are parameters of a hub, and counts, sums and a scatter.
func randomSums(hub *model.Hub, f *byLevel, rng *rand.Rand) (phi, counts, sums, w []float64) {
	for range hub.Dim() {
		phi = append(phi, 0.5*rng.NormFloat64())
	}
	hub.Constrain(phi)
	d := f.q + 1
	for range f.levels - 1 {
		counts = append(counts, float64(rng.IntN(int(f.obs.N)/f.levels)))
	}
	counts = append(counts, f.obs.N-floats.Sum(counts))
	if f.latent() > 0 {
		for l := range counts {
			counts[l] = f.obs.Count.Least + float64(rng.IntN(20))
		}
	}
	for _, c := range counts {
		for range d {
			sums = append(sums, math.Sqrt(c)*rng.NormFloat64())
		}
	}
	root := make([]float64, d*d)
	for i := range d {
		for j := range i + 1 {
			root[i*d+j] = rng.NormFloat64()
		}
	}
	w = make([]float64, d*d)
	dense.LLt(w, root, d)
	floats.Scale(f.obs.N, w)
	return phi, counts, sums, w
}

// logTheta is the log density of θ given statistics and σ, where the part was last: normal, by Bayes.
func logTheta(t *testing.T, s *levelSpoke, prior *model.Prior) float64 {
	t.Helper()
	size, d, k, per := s.k+s.q+1, s.q+1, s.k, 1/(s.sigma*s.sigma)
	m, linear := make([]float64, size*size), make([]float64, size)
	scale := per
	if prior.Unscaled {
		scale = 1
	}
	for i, v := range prior.Theta.Precision {
		m[i] = scale * v
		linear[i/size] += scale * v * prior.Theta.Mean[i%size]
	}
	add := func(row []float64, y, n float64) {
		for i, v := range row {
			linear[i] += per * n * v * y
			addScaled(m[i*size:(i+1)*size], per*n*v, row)
		}
	}
	row, seen := make([]float64, size), s.levelSums.prior
	for l, root := range s.law.roots {
		row[0] = root
		for c := range k {
			if row[1+c] = -root; c == l-1 {
				row[1+c] = root
			}
		}
		copy(row[1+k:], seen.sums[l*d:l*d+s.q])
		add(row, seen.sums[l*d+s.q], 1)
	}
	for h := range d { // columns of D
		clear(row)
		for j := range s.q {
			row[1+k+j] = seen.d[j*d+h]
		}
		add(row, seen.d[s.q*d+h], s.n)
	}
	if !dense.Cholesky(m, size) {
		t.Fatal("no law of θ")
	}
	dense.Solve(m, size, linear)
	floats.SubTo(linear, s.theta, linear)
	dense.MulLowerTVec(linear, m, size, linear)
	return 0.5 * (dense.LogDet(m, size) - floats.Dot(linear, linear))
}
