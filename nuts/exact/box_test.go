package exact

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/model/modeltest"
	"github.com/dpreg/dpreg/nuts"
	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/release"
)

// TestBoxTenTimesAsWide reads the same noisy sums in their box and in one ten times as wide,
// for all columns or for the covariates, the noise in data units as it is: under the default
// prior, posterior means and sds of all parameters, in data units, differ by less than 0.3 sd,
// of which Monte Carlo error is a quarter at most. Trajectories are as short, where the noise of the response's
// square is not that of the covariates' too: taken for it, they had 40 to 120 steps.
//
// Of data v the box [−1, 1] has v, and one c_j times as wide w_j = v_j/c_j:
//
//	Σ w_j = Σ v_j/c_j,  Σ w_j w_k = Σ v_j v_k/(c_j c_k)
//
// and their noise likewise. No release says so of its own noise, which has one scale for all
// sums: the observation is made from one.
func TestBoxTenTimesAsWide(t *testing.T) {
	for _, p := range []int{1, 2} {
		if p > 1 && testing.Short() {
			continue
		}
		for _, kind := range []release.Kind{release.Laplace, release.Gaussian}[:testsize.Of(1, 2/p)] { // of two columns one
			for _, c := range []modeltest.Simulation{{N: 1000, Scale: 1}, {N: 200, Scale: 30}}[:testsize.Of(1, 2)] {
				c.Shape, c.Kind = model.Shape{P: p, Intercept: true}, kind
				t.Run(fmt.Sprintf("p=%d %s %g", p, kind, c.Scale), func(t *testing.T) {
					t.Parallel()
					x := model.NewParams(c.Shape)
					for j := range p {
						x.MuX[j], x.Theta[j+1], x.Tau[j*p+j] = 0.4, 0.8/math.Sqrt(float64(p)), 0.09
					}
					x.Theta[0], x.Sigma2 = 0.1, 0.03
					obs, _ := c.Release(x, rand.New(rand.NewPCG(uint64(p), 71)))
					own := boxed(t, obs, 1, 1)
					agree(t, own, boxed(t, obs, 10, 10))
					agree(t, own, boxed(t, obs, 10, 1))
				})
			}
		}
	}
}

// boxed samples from sums that are read in boxes wider by wx and wy than [−1, 1], and
// returns draws in data units: of σ² and T standard deviations and correlations.
func boxed(t *testing.T, obs *model.Observation, wx, wy float64) *posterior.Draws {
	t.Helper()
	r := modeltest.Problem(obs, nil).Releases[0]
	box := r.Schema
	box.Covariates = slices.Clone(box.Covariates)
	for j := range box.Covariates {
		box.Covariates[j].Lower, box.Covariates[j].Upper = -wx, wx
	}
	box.Response.Lower, box.Response.Upper = -wy, wy
	prior := must.Get(model.Normal.DefaultPrior(&box, r))(t)
	read := *obs
	read.Z, read.Scale = make([]float64, len(obs.Z)), make([]float64, len(obs.Z))
	units := model.UnitsBetween(box.Frame(), r.Schema.Frame())
	units.Common(read.Z, obs.Z, obs.N)
	units.Common(read.Scale, obs.Scale, obs.N) // about the same middle, an entry is divided
	start := func(_ int, rng *rand.Rand) (mcmc.Kernel[nuts.Info], error) {
		return newKernel(newDensity(alone(&read), prior), rng)
	}
	d := must.Get(mcmc.Run(context.Background(), mcmc.Columns{Params: obs.Names(), Info: nuts.InfoNames}, start, nuts.Keep, mcmc.Plan{Chains: 4, Warmup: 500, ESS: 900, Seed: uint64(wx + wy)}))(t)
	if steps := infoSum(d, "n_leapfrog__") / float64(d.NumDraws()*d.NumChains()); steps > 15 {
		t.Errorf("%.0f leapfrogs a draw", steps)
	}
	frame, p := box.Frame(), obs.Shape.P
	sd := make([]float64, p)
	return d.Map(obs.Names(), func(dst, src []float64) {
		q := obs.Shape.Q()
		frame.ThetaToOriginal(dst[:q], src[:q])
		dst[q] = math.Sqrt(frame.Sigma2ToOriginal(src[q]))
		dst, src = dst[q+1:], src[q+1:]
		frame.MuXToOriginal(dst[:p], src[:p])
		dst, src = dst[p:], src[p:]
		at := 0
		for j := range sd {
			sd[j] = math.Sqrt(src[at])
			at += p - j
		}
		at = 0
		for j := range sd {
			dst[at] = wx * sd[j]
			for k := j + 1; k < p; k++ {
				dst[at+k-j] = src[at+k-j] / (sd[j] * sd[k])
			}
			at += p - j
		}
	})
}

// agree compares means and sds, in sds of a.
func agree(t *testing.T, a, b *posterior.Draws) {
	t.Helper()
	for j, name := range a.Names {
		x, y := a.Column(j), b.Column(j)
		meanX, sd := modeltest.Pooled(x)
		meanY, sdY := modeltest.Pooled(y)
		mean, spread := (meanY-meanX)/sd, (sdY-sd)/sd
		mcse := math.Hypot(posterior.Of(x).MCSEMean(), posterior.Of(y).MCSEMean()) / sd
		mcseSD := math.Hypot(posterior.Of(x).MCSESD(), posterior.Of(y).MCSESD()) / sd
		t.Logf("%s: mean %.2f ± %.2f, sd %.2f ± %.2f", name, mean, mcse, spread, mcseSD)
		if !(max(mcse, mcseSD) < 0.075) {
			t.Errorf("%s: Monte Carlo errors of %.2f sd and %.2f sd", name, mcse, mcseSD)
		}
		if !(math.Abs(mean) < 0.3) || !(math.Abs(spread) < 0.3) {
			t.Errorf("%s: mean %g and %g, sd %g and %g", name, meanX, meanY, sd, sdY)
		}
	}
}
