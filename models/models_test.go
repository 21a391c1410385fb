package models_test

import (
	"bytes"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/models"
	"github.com/dpreg/dpreg/release"
)

// made are n rows of p covariates and a response on which the first has an effect, a third a small
// one, and the release of their sums with noise of a scale.
func made(n, p int, scale float64) (rows [][]float64, r *release.Release) {
	rng := rand.New(rand.NewPCG(3, uint64(p)))
	d, m := dpreg.UnitDesign(p), p+1
	v := make([]float64, release.Length(m))
	for range n {
		row := make([]float64, m)
		for j := range p {
			row[j] = 0.3*rng.NormFloat64() + 0.1*float64(j)
			if j > 0 {
				row[j] += 0.5 * row[0]
			}
		}
		row[p] = 0.3*row[0] + 0.12*row[min(2, p-1)] + 0.25*rng.NormFloat64()
		rows = append(rows, row)
		for i := range m {
			v[i] += row[i]
			for j := range i + 1 {
				v[release.Index(m, i, j)] += row[i] * row[j]
			}
		}
	}
	for i := range v {
		v[i] += scale * rng.NormFloat64()
	}
	return rows, &release.Release{Format: release.Format, Simulated: true, Schema: *d, N: int64(n),
		Noise: release.Noise{Kind: release.Gaussian, Scale: scale}, Statistics: release.StatisticsFromVector(m, v)}
}

// marginal is log p(y | rows, the covariates of a set) up to what all sets share, by rows rather
// than sums: y ~ N(mean, σ²I + XSXᵀ), integrated over log σ by the trapezoidal rule. The prior is that of
// theta of independent normals, the intercept at x = centre, and σ half-t of 3 degrees and scale
// sigma.
func marginal(rows [][]float64, set uint, mean float64, centre, sds []float64, sigma float64) float64 {
	n, p := len(rows), len(centre)
	var logs []float64
	const step = 0.02
	for t := -6.0; t <= 2; t += step {
		s := math.Exp(t)
		l := make([]float64, n*n)
		for i, a := range rows {
			for j, b := range rows[:i+1] {
				cov := sds[0] * sds[0]
				for k := range p {
					if set>>k&1 == 1 {
						cov += sds[k+1] * sds[k+1] * (a[k] - centre[k]) * (b[k] - centre[k])
					}
				}
				if i == j {
					cov += s * s
				}
				l[i*n+j] = cov
			}
		}
		log := t - 2*math.Log1p(s*s/(3*sigma*sigma)) // of half-t, with dσ = σ dt
		e := make([]float64, n)
		for i := range n { // Cholesky, and L⁻¹(y - mean)
			e[i] = rows[i][p] - mean
			for j := range i + 1 {
				sum := l[i*n+j]
				for k := range j {
					sum -= l[i*n+k] * l[j*n+k]
				}
				if i == j {
					l[i*n+i] = math.Sqrt(sum)
				} else {
					l[i*n+j] = sum / l[j*n+j]
					e[i] -= l[i*n+j] * e[j]
				}
			}
			e[i] /= l[i*n+i]
			log -= math.Log(l[i*n+i]) + e[i]*e[i]/2
		}
		logs = append(logs, log)
	}
	most, sum := math.Inf(-1), 0.0
	for _, x := range logs {
		most = max(most, x)
	}
	for _, x := range logs {
		sum += math.Exp(x - most)
	}
	return most + math.Log(sum*step)
}

// priorOf are the numbers of the default prior of a release that marginal takes.
func priorOf(t *testing.T, r *release.Release) (mean float64, centre, sds []float64, sigma float64) {
	t.Helper()
	prior := must.Get(dpreg.Options{}.Family.DefaultPrior(&r.Schema, r))(t)
	// Λ₀ = λvvᵀ + blockdiag(0, S), v = (1, c).
	p := len(r.Schema.Covariates)
	q, lambda := p+1, prior.Theta.Precision[0]
	sds, mean = []float64{1 / math.Sqrt(lambda)}, prior.Theta.Mean[0]
	for j := range p {
		c := prior.Theta.Precision[j+1] / lambda
		centre = append(centre, c)
		sds = append(sds, 1/math.Sqrt(prior.Theta.Precision[(j+1)*q+j+1]-lambda*c*c))
	}
	// σ² ~ InvGamma(3/2, b₀/a), a ~ InvGamma(½, 1/A²): half-t of 3 and scale A√(b₀/3).
	return mean, centre, sds, prior.Scales[0].SD * math.Sqrt(prior.Theta.Scale/3)
}

// As noise goes to 0, weights of models are those of the rows themselves.
func TestWithoutNoise(t *testing.T) {
	testsize.Full(t, "TestFactorIsWhole compares with rows, too")
	p := 3
	rows, r := made(80, p, 1e-6)
	c := must.Get(models.Compare(t.Context(), dpreg.One(r), dpreg.Options{Plan: mcmc.Plan{Chains: 4, Seed: 2}}, nil))(t)
	mean, centre, sds, sigma := priorOf(t, r)
	whole := marginal(rows, 1<<p-1, mean, centre, sds, sigma)
	if len(c.Models) != 1<<p || c.Unweighed != 0 || c.Unsettled != 0 {
		t.Errorf("%+v", c)
	}
	total := 0.0
	for _, m := range c.Models {
		var set uint
		for _, name := range m.Covariates {
			set |= 1 << (name[1] - '1')
		}
		want := marginal(rows, set, mean, centre, sds, sigma) - whole
		// The kernel's bias comes to some hundredths a step.
		if off := math.Abs(m.LogBayes - want); off > 4*m.MCSE+0.05*float64(p-len(m.Covariates)) {
			t.Errorf("%s: log Bayes factor %.3f ± %.3f, want %.3f", m.Formula, m.LogBayes, m.MCSE, want)
		}
		total += m.Probability
	}
	if math.Abs(total-1) > 1e-12 {
		t.Errorf("probabilities add up to %v", total)
	}
}

// TestFreeScale: of slopes that share a free scale, weights of models are those of the rows, averaged over the scale
// that they have given the slopes that are 0.
func TestFreeScale(t *testing.T) {
	testsize.Full(t, "TestFactorIsWhole has slopes of fixed scales")
	rows, r := made(10, 2, 1e-6)
	prior := must.Get(dpreg.Options{}.Family.DefaultPrior(&r.Schema, r))(t)
	mean, centre, sds, sigma := priorOf(t, r)
	prior.Scales = append(prior.Scales, model.Scale{SD: 4, Coefficients: []int{1, 2}, Precision: []float64{1 / (sds[1] * sds[1]), 0, 0, 1 / (sds[2] * sds[2])}})
	c := must.Get(models.Compare(t.Context(), dpreg.One(r), dpreg.Options{Prior: prior, Plan: mcmc.Plan{Seed: 2, ESS: 4000}}, nil))(t)
	const points = 20
	averaged := func(set uint) float64 {
		law, sum, first := distuv.Gamma{Alpha: 0.5 * float64(1+2-bits.OnesCount(set)), Beta: 1. / 16}, 0.0, 0.0
		for i := range points {
			a := 1 / law.Quantile((float64(i)+0.5)/points)
			log := marginal(rows, set, mean, centre, []float64{sds[0], sds[1] * math.Sqrt(a), sds[2] * math.Sqrt(a)}, sigma)
			if i == 0 {
				first = log
			}
			sum += math.Exp(log - first)
		}
		return first + math.Log(sum/points)
	}
	whole := averaged(3)
	for _, m := range c.Models {
		var set uint
		for _, name := range m.Covariates {
			set |= 1 << (name[1] - '1')
		}
		if want := averaged(set) - whole; math.Abs(m.LogBayes-want) > 4*m.MCSE+0.05*float64(2-len(m.Covariates)) {
			t.Errorf("%s: log Bayes factor %.3f ± %.3f, want %.3f", m.Formula, m.LogBayes, m.MCSE, want)
		}
	}
}

// R finds the same from the rows, by its own integration.
func TestAgainstR(t *testing.T) {
	testsize.Full(t, "starts R")
	rscript, err := exec.LookPath("Rscript")
	if err != nil {
		if os.Getenv("DPREG_REQUIRE_R") == "1" {
			t.Fatal("R is required")
		}
		t.Skip("R is not here")
	}
	rows, r := made(60, 2, 1e-6)
	mean, centre, sds, sigma := priorOf(t, r)
	var table strings.Builder
	for _, row := range rows {
		fmt.Fprintf(&table, "%.17g %.17g %.17g\n", row[0], row[1], row[2])
	}
	path := filepath.Join(t.TempDir(), "rows")
	must.Do(t, os.WriteFile(path, []byte(table.String()), 0o600))
	script := fmt.Sprintf(`d <- as.matrix(read.table(%q)); n <- nrow(d)
x <- cbind(1, d[,1] - %.17g, d[,2] - %.17g); s <- c(%.17g, %.17g, %.17g); y <- d[,3] - %.17g
l <- function(keep) {
  f <- function(t) sapply(t, function(t) { v <- exp(2*t)*diag(n) + x[,keep,drop=FALSE] %%*%% diag(s[keep]^2, length(keep)) %%*%% t(x[,keep,drop=FALSE])
    -0.5*determinant(v)$modulus - 0.5*sum(y*solve(v, y)) + t - 2*log1p(exp(2*t)/(3*%.17g^2)) })
  m <- optimize(f, c(-6, 2), maximum = TRUE)$objective
  m + log(integrate(function(t) exp(f(t) - m), -6, 2, rel.tol = 1e-9)$value)
}
w <- l(1:3); cat(sprintf("%%.12f", c(l(c(1,2)), l(c(1,3)), l(1)) - w), sep = "\n")`, path, centre[0], centre[1], sds[0], sds[1], sds[2], mean, sigma)
	out, err := exec.Command(rscript, "-e", script).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	c := must.Get(models.Compare(t.Context(), dpreg.One(r), dpreg.Options{Plan: mcmc.Plan{Chains: testsize.Of(2, 4), Seed: 2}}, nil))(t)
	whole := marginal(rows, 3, mean, centre, sds, sigma)
	for i, line := range strings.Fields(string(out)) {
		want, err := strconv.ParseFloat(line, 64)
		if err != nil {
			t.Fatalf("R says %s", out)
		}
		set, formula := []uint{1, 2, 0}[i], []string{"y ~ x1", "y ~ x2", "y ~ 1"}[i]
		if here := marginal(rows, set, mean, centre, sds, sigma) - whole; math.Abs(here-want) > 1e-4 {
			t.Errorf("%s: %v by the test's own integration, %v in R", formula, here, want)
		}
		for _, m := range c.Models {
			if off := math.Abs(m.LogBayes - want); m.Formula == formula && off > 4*m.MCSE+0.1 {
				t.Errorf("%s: %v ± %v, in R %v", formula, m.LogBayes, m.MCSE, want)
			}
		}
	}
}

// Noise makes models more alike; the one that all noise hides has each model alike but for the
// prior's densities, which no rows speak against.
func TestNoise(t *testing.T) {
	testsize.Full(t, "TestFactorIsWhole has weights of models")
	_, sharp := made(500, 2, 0.01)
	_, hidden := made(500, 2, 100)
	plan := dpreg.Options{Plan: mcmc.Plan{Chains: 4, Seed: 1}}
	a := must.Get(models.Compare(t.Context(), dpreg.One(sharp), plan, nil))(t)
	b := must.Get(models.Compare(t.Context(), dpreg.One(hidden), plan, nil))(t)
	if a.Covariates[0].Probability < 0.999 || math.Abs(b.Covariates[0].Probability-0.5) > 0.2 {
		t.Errorf("x1 is in the model with probability %v, and of noise alone %v", a.Covariates[0].Probability, b.Covariates[0].Probability)
	}
	var text bytes.Buffer
	if err := b.WriteCSV(&text); err != nil || strings.Count(text.String(), "\n") != len(b.Models)+1 {
		t.Errorf("%v\n%s", err, &text)
	}
}

func TestRefused(t *testing.T) {
	_, r := made(50, 2, 1)
	two := []dpreg.Custodian{{Name: "a", Release: r}, {Name: "b", Release: r}}
	if _, err := models.Compare(t.Context(), two, dpreg.Options{}, nil); err == nil {
		t.Error("two releases were taken")
	}
	_, r = made(50, 11, 1)
	must.Fail(t, must.Err(models.Compare(t.Context(), dpreg.One(r), dpreg.Options{}, nil)), "at most 10 terms")
}
