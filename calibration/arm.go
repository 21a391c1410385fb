package calibration

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/gibbs"
	"github.com/dpreg/dpreg/mcmc"
)

// Arm is a method, the sensitivity of the noise that it is to bear, and how long it
// runs: Draws kept of each chain, or until ESS, with at most MaxDraws.
type Arm struct {
	Method      string  `json:"method"`
	Kernel      string  `json:"kernel,omitempty"`
	Sensitivity string  `json:"sensitivity,omitempty"` // empty for non-private
	Chains      int     `json:"chains"`
	Warmup      int     `json:"warmup"`
	Draws       int     `json:"draws,omitempty"`
	ESS         float64 `json:"ess,omitempty"`
	MaxDraws    int     `json:"max_draws,omitempty"`
	// ModelClamping: the method infers with the law of clamped rows; mcmc-ind alone can.
	ModelClamping bool `json:"model_clamping,omitempty"`
}

// Setting names the arm's part of a cell; clients are those of a comparison's DPPVI.
func (a Arm) setting(clients int) Setting {
	switch a.Method {
	case DPVI:
		return Setting{Method: a.Method, Run: fmt.Sprintf("%d steps", viSteps)}
	case DPPVI:
		return Setting{Method: a.Method, Run: fmt.Sprintf("%d clients", clients)}
	case AdaSSP:
		return Setting{Method: a.Method}
	}
	run := fmt.Sprintf("%d x (%d + %d)", a.Chains, a.Warmup, a.Draws)
	if a.ESS > 0 {
		run = fmt.Sprintf("%d x %d, ESS %g", a.Chains, a.Warmup, a.ESS)
	}
	method := a.Method
	if a.ModelClamping {
		method += " (clamping)"
	}
	return Setting{Method: method, Kernel: a.Kernel, Sensitivity: a.Sensitivity, Run: run}
}

const (
	noisyMoments = "gibbs-ss-noisy" // its releases hold moments of the covariates
	individuals  = "mcmc-ind"       // it can model clamping
)

// MethodNames lists what an arm's method may be.
func MethodNames() []string {
	names := []string{NonPrivate}
	for _, m := range dpreg.Methods() {
		names = append(names, m.Name())
	}
	return names
}

// HasKernels tells whether a method has a choice of kernels.
func HasKernels(method string) bool { return dpreg.Traits(method).Kernels }

// PaperMethods are those of the paper's figures that take one kind of release and do not
// cost more for more rows, and mcmc-exact, whose posterior is that of the paper's
// mcmc-ind.
func PaperMethods() []string { return []string{NonPrivate, "naive", "gibbs-ss-update", "mcmc-exact"} }

// DefaultESS is the effective sample size of arms that are not as printed.
const DefaultESS = 400

// Arms combines methods with kernels and sensitivities, those that a method has; nil
// is all of them. Kernel plain runs as the paper's code does, a burn-in of 5000 and
// 2000 draws of one chain; all else runs to DefaultESS.
func Arms(methods, kernels, sensitivities []string) []Arm {
	if kernels == nil {
		kernels = []string{string(gibbs.Exact), string(gibbs.Plain)}
	}
	if sensitivities == nil {
		sensitivities = []string{PaperSensitivity, ExactSensitivity}
	}
	var arms []Arm
	for _, method := range methods {
		of, bears := kernels, sensitivities
		if !HasKernels(method) {
			of = []string{""}
		}
		switch method {
		case NonPrivate:
			bears = []string{""}
		case noisyMoments:
			bears = []string{ExactSensitivity}
		}
		for _, sensitivity := range bears {
			for _, kernel := range of {
				arms = append(arms, arm(method, kernel, sensitivity))
			}
		}
	}
	return arms
}

// arm runs as long as its kernel does by default.
func arm(method, kernel, sensitivity string) Arm {
	a := Arm{Method: method, Kernel: kernel, Sensitivity: sensitivity, Chains: 2, Warmup: 1000, ESS: DefaultESS}
	if kernel == string(gibbs.Plain) {
		a.Chains, a.Warmup, a.Draws, a.ESS = 1, 5000, 2000, 0
	}
	return a
}

// PopulationMethod is what Infer takes for one release of more rows than columns.
const PopulationMethod = "mcmc-exact"

// PopulationArms are Arms with the chains and the warm-up of Infer, and few draws; kernel
// plain aside.
func PopulationArms(methods, kernels, sensitivities []string) []Arm {
	arms, plan := Arms(methods, kernels, sensitivities), dpreg.DefaultPlan()
	for i := range arms {
		if a := &arms[i]; a.ESS > 0 {
			a.Chains, a.Warmup, a.Draws, a.ESS = plan.Chains, plan.Warmup, 500, 0
		}
	}
	return arms
}

// The methods of a comparison that do not infer from a release.
const (
	DPVI   = "dp-vi"
	DPPVI  = "dp-pvi"
	AdaSSP = "adassp"
)

// ComparedMethods lists what a comparison's method may be.
func ComparedMethods() []string { return append(MethodNames(), DPVI, DPPVI, AdaSSP) }

// DefaultCompared are all but mcmc-ind, whose cost grows as the number of rows does, and
// gibbs-ss-prior, which takes a law of the covariates from the prior that is not theirs.
func DefaultCompared() []string {
	return slices.DeleteFunc(ComparedMethods(), func(name string) bool { return name == individuals || name == "gibbs-ss-prior" })
}

// NeedsDelta tells whether a method has no other than Gaussian noise.
func NeedsDelta(method string) bool { return slices.Contains([]string{DPVI, DPPVI, AdaSSP}, method) }

// ComparisonArms are those of a comparison of methods: with their default kernel and noise of
// the proven sensitivity.
func ComparisonArms(methods []string) []Arm {
	var arms []Arm
	for _, method := range methods {
		arms = append(arms, arm(method, "", ""))
	}
	return arms
}

// plan is how long the arm runs.
func (a Arm) plan(seed uint64) mcmc.Plan {
	return mcmc.Plan{Chains: a.Chains, Warmup: a.Warmup, Draws: a.Draws, ESS: a.ESS, MaxDraws: a.MaxDraws, Seed: seed, Workers: 1}
}

func (a Arm) validate(d *Design) error {
	names := MethodNames()
	if d.Compares() {
		names = ComparedMethods()
	}
	if !slices.Contains(names, a.Method) {
		return fmt.Errorf("there is none of this name; choose of %s", strings.Join(names, ", "))
	}
	if d.Compares() {
		return a.validateCompared(d)
	}
	kernels := []string{""}
	if HasKernels(a.Method) {
		kernels = []string{string(gibbs.Exact), string(gibbs.Plain)}
	}
	if !slices.Contains(kernels, a.Kernel) {
		return fmt.Errorf("kernel %q: choose one of %q", a.Kernel, kernels)
	}
	switch {
	case a.Method == NonPrivate && a.Sensitivity != "":
		return fmt.Errorf("sensitivity %q: it bears no noise", a.Sensitivity)
	case a.Method != NonPrivate && a.Sensitivity != ExactSensitivity && a.Sensitivity != PaperSensitivity:
		return fmt.Errorf("sensitivity %q: choose %s or %s", a.Sensitivity, ExactSensitivity, PaperSensitivity)
	case a.Sensitivity == PaperSensitivity && d.Delta > 0:
		return errors.New("the paper's sensitivity is for Laplace noise: delta has to be 0")
	case a.ModelClamping && !dpreg.Traits(a.Method).Clamping:
		return fmt.Errorf("it cannot model clamping; %s can", individuals)
	case a.Sensitivity == PaperSensitivity && a.Method == noisyMoments:
		return errors.New("the paper's sensitivity is not for releases with moments")
	}
	plan := a.plan(0)
	if err := plan.Validate(); err != nil {
		return err
	}
	if a.Draws > 0 && a.Chains*a.Draws < Ranked || math.IsNaN(a.ESS) || a.ESS > 0 && a.ESS < Ranked {
		return fmt.Errorf("a truth is ranked among %d draws: an ESS of as many, or more draws in all, is needed", Ranked)
	}
	return nil
}

func (a Arm) validateCompared(d *Design) error {
	switch {
	case a != arm(a.Method, "", ""):
		return errors.New("in a comparison it runs as in all others")
	case NeedsDelta(a.Method) && d.Delta == 0:
		return errors.New("its noise is Gaussian, which needs a delta above 0, such as 1e-6")
	}
	for _, n := range d.ns() {
		if a.Method == DPPVI && (d.Clients < 1 || int64(d.Clients) > n) {
			return fmt.Errorf("clients: %d, and it has to be from 1 to the number of rows to infer from, %d: each holds some", d.Clients, n)
		}
	}
	return nil
}
