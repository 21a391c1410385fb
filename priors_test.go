package dpreg_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/conjugate"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/ssp"
)

const (
	priorsPage = "docs/priors.md"
	sharp      = "testdata/pums-eps1.release.json"
	weak       = "testdata/pums-weak.release.json"
)

// readPrior reads a file of testdata/priors for the model of the releases.
func readPrior(t *testing.T, name string, d *schema.Design) *model.Prior {
	t.Helper()
	path := "testdata/priors/" + name + ".json"
	p, err := model.ReadPrior(strings.NewReader(read(t, path)), path, d)
	must(t, err)
	return p
}

func readRelease(t *testing.T, path string) *release.Release {
	t.Helper()
	r, err := release.ReadFile(path)
	must(t, err)
	return r
}

// What docs/priors.md shows as prior files are priors, and files of
// testdata/priors, every one of them.
func TestPriorExamples(t *testing.T) {
	d := &readRelease(t, sharp).Schema
	files, err := filepath.Glob("testdata/priors/*.json")
	must(t, err)
	var texts []string
	for _, path := range files {
		texts = append(texts, read(t, path))
	}
	blocks := regexp.MustCompile("(?s)```json\n(.*?)```").FindAllStringSubmatch(read(t, priorsPage), -1)
	for _, b := range blocks {
		if _, err := model.ReadPrior(strings.NewReader(b[1]), priorsPage, d); err != nil {
			t.Errorf("%v in\n%s", err, b[1])
		}
		if !slices.Contains(texts, b[1]) {
			t.Errorf("%s shows a prior that is no file of testdata/priors:\n%s", priorsPage, b[1])
		}
	}
	if len(blocks) != len(files) {
		t.Errorf("%s shows %d of %d files of testdata/priors", priorsPage, len(blocks), len(files))
	}
}

// default.json is the default prior, to six digits.
func TestDefaultPriorFile(t *testing.T) {
	d := &readRelease(t, sharp).Schema
	got, want := readPrior(t, "default", d), model.DefaultPrior(model.Shape{P: 1, Intercept: true})
	flat := func(p *model.Prior) []float64 {
		return slices.Concat(p.Theta.Mean, p.Theta.Precision, []float64{p.Theta.Shape, p.Theta.Scale},
			p.Covariates.Mean, p.Covariates.Scale, []float64{p.Covariates.Kappa, p.Covariates.Dof})
	}
	for i, w := range flat(want) {
		wantClose(t, fmt.Sprintf("number %d of the default prior", i), flat(got)[i], w, 1e-6*math.Abs(w))
	}
}

// The weak release is of the same rows as the sharp one, with ε = 0.05 and noise
// from a seed, so that anybody can make it again.
func TestWeakRelease(t *testing.T) {
	e := open(t, "pums", "income ~ educ", nil)
	r, err := ssp.Publish(context.Background(), e.statistics, e.design,
		release.Privacy{Epsilon: 0.05, Neighbours: release.ReplaceOne}, release.Laplace, ssp.Exact, mechanisms.Simulated(rand.New(rand.NewPCG(1, 0))))
	must(t, err)
	if *update {
		must(t, r.WriteFile(weak))
	}
	var text strings.Builder
	_, err = r.WriteTo(&text)
	must(t, err)
	if text.String() != read(t, weak) {
		t.Errorf("%s is another release (go test . -run 'Weak|Printed' -update)", weak)
	}
}

// TestPrintedPriorQuantiles: what of the default prior does not depend on p.
func TestPrintedPriorQuantiles(t *testing.T) {
	prior := model.DefaultPrior(model.Shape{P: 1, Intercept: true})
	var b strings.Builder
	b.WriteString("| scaled units | 2.5 % | 25 % | 50 % | 75 % | 97.5 % |\n|---|---|---|---|---|---|\n")
	add := func(what string, quantile func(p float64) float64) {
		fmt.Fprintf(&b, "| %s |", what)
		for _, p := range []float64{0.025, 0.25, 0.5, 0.75, 0.975} {
			fmt.Fprintf(&b, " %.2f |", quantile(p))
		}
		b.WriteString("\n")
	}
	// The root of an inverse gamma variate.
	root := func(shape, scale float64) func(p float64) float64 {
		g := distuv.Gamma{Alpha: shape, Beta: scale}
		return func(p float64) float64 { return 1 / math.Sqrt(g.Quantile(1-p)) }
	}
	c := prior.Covariates // p = 1: T ~ InvGamma(ν₀/2, Ψ₀/2), as any T_jj is for larger p
	mu := distuv.StudentsT{Sigma: math.Sqrt(c.Scale[0] / (c.Dof * c.Kappa)), Nu: c.Dof}
	add("residual sd σ", root(prior.Theta.Shape, prior.Theta.Scale))
	add("sd of a covariate, √T_jj", root(c.Dof/2, c.Scale[0]/2))
	add("mean of a covariate, μ_xj", mu.Quantile)
	generated(t, priorsPage, "quantiles", b.String())
}

// TestPrintedPriorPredictive: what of the default prior depends on p, from 2·10⁵
// draws; a share is then known to 0.001.
func TestPrintedPriorPredictive(t *testing.T) {
	const draws = 200_000
	rng := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	b.WriteString("| p | sd of θ₀ | sd of a slope | y in its box | one x in its box | R², quartiles |\n|---|---|---|---|---|---|\n")
	for _, p := range []int{1, 3, 10} {
		s := model.Shape{P: p, Intercept: true}
		prior := model.DefaultPrior(s)
		nig, niw := conjugate.NewNIGSampler(s.Q()), conjugate.NewNIWSampler(p)
		nig.Set(prior.Theta)
		niw.Set(prior.Covariates)
		x, mo := model.NewParams(s), model.NewMoments(s)
		insideX, insideY, r2 := 0, 0, make([]float64, draws)
		for i := range r2 {
			x.Sigma2 = nig.Rand(x.Theta, rng)
			niw.Rand(x.MuX, x.Tau, rng)
			mo.Set(x)
			vy := mo.Cov[len(mo.Cov)-1]
			if math.Abs(mo.Mean[p]+math.Sqrt(vy)*rng.NormFloat64()) <= 1 {
				insideY++
			}
			if math.Abs(mo.Mean[0]+math.Sqrt(mo.Cov[0])*rng.NormFloat64()) <= 1 {
				insideX++
			}
			r2[i] = 1 - x.Sigma2/vy
		}
		slices.Sort(r2)
		v := make([]float64, s.Q())
		prior.Theta.VarTheta(v)
		fmt.Fprintf(&b, "| %d | %.2f | %.2f | %.2f | %.2f | %.2f, %.2f, %.2f |\n", p, math.Sqrt(v[0]), math.Sqrt(v[1]),
			float64(insideY)/draws, float64(insideX)/draws, r2[draws/4], r2[draws/2], r2[3*draws/4])
	}
	generated(t, priorsPage, "predictive", b.String())
}

// TestPrintedPriorUnits: priors of the example in the data's units.
func TestPrintedPriorUnits(t *testing.T) {
	d := &readRelease(t, sharp).Schema
	var b strings.Builder
	b.WriteString("| income ~ educ, in dollars | (Intercept) | educ, slope | correlation of the two | E σ² as a σ | mean of educ |\n|---|---|---|---|---|---|\n")
	for _, name := range []string{"default", "wide", "narrow", "noisy", "dollars"} {
		p, err := readPrior(t, name, d).Original(d.Frame())
		must(t, err)
		v, mu := make([]float64, 2), make([]float64, 1)
		p.Theta.VarTheta(v)
		p.Covariates.VarMu(mu)
		l := p.Theta.Precision
		fmt.Fprintf(&b, "| %s.json | %.0f ± %.0f | %.0f ± %.0f | %s | %.0f | %.1f ± %.1f |\n", name,
			p.Theta.Mean[0], math.Sqrt(v[0]), p.Theta.Mean[1], math.Sqrt(v[1]), unsigned(fmt.Sprintf("%.2f", -l[1]/math.Sqrt(l[0]*l[3]))),
			math.Sqrt(p.Theta.Scale/(p.Theta.Shape-1)), p.Covariates.Mean[0], math.Sqrt(mu[0]))
	}
	generated(t, priorsPage, "units", b.String())
}

// TestPrintedPriorEffect: the same releases under each prior, as dpreg infer
// --prior has them.
func TestPrintedPriorEffect(t *testing.T) {
	for name, path := range map[string]string{"sharp": sharp, "weak": weak} {
		r := readRelease(t, path)
		var b strings.Builder
		b.WriteString("| prior | educ | its 95 % interval | Learned | sigma | its 95 % interval | Learned |\n|---|---|---|---|---|---|---|\n")
		for _, prior := range []string{"default", "wide", "narrow", "noisy", "dollars"} {
			fit, err := dpreg.Infer(context.Background(), r, dpreg.Options{Prior: readPrior(t, prior, &r.Schema)})
			must(t, err)
			if ok, reason := fit.Converged(); !ok {
				t.Fatalf("%s, %s: %s", path, prior, reason)
			}
			s := fit.Summary(dpreg.Original, 0.95)
			fmt.Fprintf(&b, "| %s.json |", prior)
			for _, i := range []int{1, 3} {
				q := s.Parameters[i]
				fmt.Fprintf(&b, " %.0f ± %.0f | %.0f … %.0f | %.3f |", q.Mean, q.SD, q.Lower, q.Upper, *q.Learned)
			}
			b.WriteString("\n")
		}
		generated(t, priorsPage, name, b.String())
	}
}

func unsigned(zero string) string { return strings.Replace(zero, "-0.00", "0.00", 1) }
