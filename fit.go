package dpreg

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/dpreg/dpreg/gibbs"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/schema"
)

// Units are those in which results are stated.
type Units string

const (
	// Original units are the data's.
	Original Units = "original"
	// Scaled units have each column's bounds at -1 and 1.
	Scaled Units = "scaled"
)

// Fit is a posterior: what was asked, and the draws.
type Fit struct {
	Custodians []Custodian    // the releases, arranged alike by Join; none for non-private
	Design     *schema.Design // in common units
	Family     model.Family   // of the response; coefficients are on its link's scale
	Method     string         // as taken
	Why        string         // it was taken, where Auto chose it; else empty
	Kernel     string         // as asked for; empty is the method's default
	N          int64
	Prior      *model.Prior // scaled units
	stated     *model.Prior // as Options had it; nil: the default prior
	Plan       mcmc.Plan

	ModelClamping bool // the sums are taken for those of clamped rows

	frame    schema.Frame
	original *model.Prior
	apparent *posterior.Draws // scaled units, as the method gave them
	draws    *posterior.Draws // and with the doubts of a family's slopes, see doubt
	doubts   *model.Doubt     // these; nil of the normal family

	failure func() string                // see Converged; found once, like the next two
	checked func() []posterior.Parameter // that Converged looks at
	price   func() []float64             // see PriceOfPrivacy

	simulatedPrior func() *posterior.Draws // see findPriorWidths, which is found once for each units
	priorWidths    map[Units]func() []float64

	method        model.Method  // nil for non-private
	problem       model.Problem // that the method drew for; zero for non-private
	contradicting []string      // custodians whom complete pooling does not fit
}

func (f *Fit) shape() model.Shape {
	if len(f.Custodians) > 0 && f.Custodians[0].Release != nil {
		return model.ShapeOf(f.Custodians[0].Release)
	}
	return model.DesignShape(f.Design)
}

// Frame is that of parameters and the prior: the design's, with the response on its link's scale.
func (f *Fit) Frame() schema.Frame { return f.Family.Design(f.Design).Frame() }

// with completes the fit.
func (f *Fit) with(draws *posterior.Draws) (*Fit, error) {
	f.frame, f.apparent, f.draws = f.Frame(), draws, draws
	f.failure, f.checked, f.price = sync.OnceValue(f.diagnose), sync.OnceValue(f.findChecked), sync.OnceValue(f.findPrice)
	f.simulatedPrior = sync.OnceValue(f.drawPrior)
	f.priorWidths = make(map[Units]func() []float64)
	for _, u := range []Units{Original, Scaled} {
		f.priorWidths[u] = sync.OnceValue(func() []float64 { return f.findPriorWidths(u) })
	}
	var err error
	if f.original, err = f.Prior.Original(f.frame); err != nil {
		return nil, fmt.Errorf("prior in the data's units: %w", err)
	}
	draws.Warnings = append(draws.Warnings, f.conflictWarnings()...)
	return f, nil
}

// Options are those that repeat the fit by the method that was taken, and report nothing.
func (f *Fit) Options() Options {
	o := Options{Method: f.Method, Family: f.Family, Kernel: f.Kernel, ModelClamping: f.ModelClamping, SameRows: f.SameRows(), Prior: f.stated, Plan: f.Plan}
	o.Covariates, o.Pooling = f.Sharing()
	o.Plan.Progress, o.Plan.Expect = nil, nil
	return o
}

// hasCovariates tells whether the method draws μ_x and T.
func (f *Fit) hasCovariates() bool {
	return f.at(model.Parameter{Kind: model.MuX, K: 1}) >= 0
}

// Draws returns the draws of θ (theta[0] is the intercept, where there is one),
// sigma2 and sigma, and where the method has them μ_x (mu_x[j]) and the upper
// triangle of T (tau[j,k]) and n; of several releases the spread between custodians
// (spread[k], and spread_log_sigma of the logarithms of their residual sds) and each one's
// coefficients (theta_at[j,k]) and residual sd (sigma_at[j]), where these are pooled
// partially, and each latent number of rows (n[j]); mapped to the units one by one: the intercept in
// the data's units mixes with the slopes. It panics on units other than
// Original and Scaled.
func (f *Fit) Draws(u Units) *posterior.Draws { return f.mapped(f.draws, u, false) }

// Apparent is Draws as the law of the sums has them: of a family, by which x is normal, without model.Doubt.
func (f *Fit) Apparent(u Units) *posterior.Draws { return f.mapped(f.apparent, u, false) }

// StanDraws is Draws with the whole of T, and under partial pooling that of Ω
// (omega[k,l]), as files have it.
func (f *Fit) StanDraws(u Units) *posterior.Draws { return f.mapped(f.draws, u, true) }

// StanLabels are the labels of StanDraws' parameters, as Summary has them.
func (f *Fit) StanLabels() []string { return f.labels(true) }

func (f *Fit) mapped(draws *posterior.Draws, u Units, whole bool) *posterior.Draws {
	return draws.Map(f.names(whole), f.converter(u, whole))
}

// layout is that of the method's draws.
func (f *Fit) layout() model.Layout {
	l := model.Layout{Shape: f.shape(), Covariates: f.hasCovariates(), Family: f.Family, Partial: f.problem.PartialPooling, Latent: make([]bool, max(1, len(f.Custodians)))}
	if f.SameRows() {
		l.Latent = l.Latent[:1]
	}
	for j := range l.Latent {
		l.Latent[j] = f.at(l.Rows(j)) >= 0
	}
	return l
}

// at is the column of a parameter in the method's draws, -1 where it has none.
func (f *Fit) at(p model.Parameter) int { return f.draws.Index(p.Name()) }

// names lists the parameters in the order of Draws.
func (f *Fit) names(whole bool) []string { return model.Names(f.layout().Shown(whole)) }

// converter maps a draw of the method (θ, σ², where it has them μ_x and the
// upper triangle of T, and n where that is latent, in scaled units) to a row of Draws.
func (f *Fit) converter(u Units, whole bool) func(dst, src []float64) {
	if u != Original && u != Scaled {
		panic(fmt.Sprintf("dpreg: units %q are neither %q nor %q", string(u), Original, Scaled))
	}
	q, p, covariates := f.shape().Q(), f.shape().P, f.hasCovariates()
	tau := make([]float64, p*p)
	more, last := f.jointConverter(u, whole), f.layout().OfOne()
	return func(dst, src []float64) {
		more(dst, src)
		copy(dst, src[:q])
		if u == Original {
			f.frame.ThetaToOriginal(dst[:q], src[:q])
		}
		dst, src = dst[q:], src[q:]
		if f.Family == model.Normal {
			sigma2 := src[0]
			if u == Original {
				sigma2 = f.frame.Sigma2ToOriginal(sigma2)
			}
			dst[0], dst[1] = sigma2, math.Sqrt(sigma2)
			dst, src = dst[2:], src[1:]
		}
		copy(dst[len(dst)-last:], src[len(src)-last:])
		if !covariates {
			return
		}
		copy(dst, src[:p])
		model.Expand(tau, src[p:], p)
		if u == Original {
			f.frame.MuXToOriginal(dst[:p], src[:p])
			f.frame.TauToOriginal(tau, tau)
		}
		at := p
		for j := range p {
			for k := range p {
				if whole || k >= j {
					dst[at] = tau[j*p+k]
					at++
				}
			}
		}
		cells := src[p+p*(p+1)/2:][:f.shape().InCells()]
		if copy(dst[at:], cells); u == Original {
			f.shape().CellsToOriginal(&f.frame, dst[at:], cells)
		}
	}
}

// Summary summarises Draws(u), with equal-tailed intervals at a level between 0
// and 1 (else it panics). Labels are the columns' names: (Intercept), x, sigma,
// mean(x), var(x), cov(x, w). Contraction is the posterior's against
// the prior, see findPriorWidths; nil for n, whose prior is flat. Where Converged says no, the last warning says why.
func (f *Fit) Summary(u Units, level float64) *posterior.Summary {
	kernel := f.Kernel
	if kernel == "" && Traits(f.Method).Kernels {
		kernel = string(gibbs.Exact)
	}
	s := posterior.Summarise(f.Draws(u), level)
	s.Method, s.Kernel, s.ModelClamping, s.Formula = f.Method, posterior.Known(kernel), f.ModelClamping, posterior.Known(f.Design.Formula().String())
	s.N, s.Units, s.Seed, s.Prior, s.Releases = posterior.Known(f.N), string(u), f.Plan.Seed, f.Prior, f.releases()
	covariates, pooling := f.Sharing()
	s.Covariates, s.Pooling = posterior.Known(covariates), posterior.Known(pooling)
	s.SameRows, s.Family = f.SameRows(), posterior.Known(string(f.Family))
	ok, reason := f.Converged()
	if f.Method != nonPrivate {
		s.Converged, s.Checked = &ok, f.checked()
	}
	if !ok {
		s.Warnings = append(s.Warnings, "not converged: "+reason)
	}
	labels, prior := f.labels(false), f.priorWidths[u]()
	for i := range s.Parameters {
		p := &s.Parameters[i]
		p.Label = labels[i]
		p.Contract(prior[i])
	}
	for k, price := range f.PriceOfPrivacy() {
		s.Parameters[k].Price = &price
	}
	for k, share := range f.Shrinkage(u) {
		s.Parameters[k].Shrinkage = &share
	}
	return s
}

// releases are what the fit is of, for its summary; none where it is of rows.
func (f *Fit) releases() (of []posterior.Release) {
	for _, c := range f.Custodians {
		r := posterior.Release{Name: posterior.Known(c.Name), N: posterior.Known(c.Release.N), Simulated: c.Release.Simulated, Noise: posterior.Known(string(c.Release.Noise.Kind)), NoiseSD: c.Release.Noise.SD(), Contradicts: slices.Contains(f.contradicting, c.Name)}
		if c.Release.Privacy != nil {
			r.Privacy = c.Release.Privacy
		}
		of = append(of, r)
	}
	return of
}

// labels are in the order of Draws, or of StanDraws, which has the whole of matrices.
func (f *Fit) labels(whole bool) []string {
	x, custodians := schema.Names(f.Design.Covariates), Names(f.Custodians)
	var labels []string
	for _, p := range f.layout().Shown(whole) {
		labels = append(labels, p.Label(x, custodians))
	}
	return labels
}

// Naive is a fit by the method naive to f's releases and prior, to be drawn beside f; nil where it
// has nothing to say. It costs no privacy.
func (f *Fit) Naive(ctx context.Context) (*Fit, error) {
	method := model.Naive{}.Name()
	if f.FromRows() || f.Method == method {
		return nil, nil
	}
	o := Options{Method: method, SameRows: f.SameRows(), Prior: f.Prior, Plan: mcmc.Plan{Chains: 4, Draws: 1000, Seed: f.Plan.Seed}}
	_, o.Pooling = f.Sharing()
	other, err := Infer(ctx, f.Custodians, o)
	if err != nil && ctx.Err() == nil {
		return nil, nil // such releases it refuses
	}
	return other, err
}
