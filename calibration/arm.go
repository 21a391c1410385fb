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
	"github.com/dpreg/dpreg/rivals"
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

// Setting names the arm's part of a cell.
func (a Arm) setting() Setting {
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

// MethodNames lists what an arm's method may be: not the rivals, whose model has no
// intercept, as all designs here have.
func MethodNames() []string {
	names := []string{NonPrivate}
	for _, m := range dpreg.Methods() {
		switch m.(type) {
		case rivals.NormalX, rivals.FixedS:
		default:
			names = append(names, m.Name())
		}
	}
	return names
}

// HasKernels tells whether a method has a choice of kernels.
func HasKernels(method string) bool { return dpreg.Traits(method).Kernels }

// plan is how long the arm runs.
func (a Arm) plan(seed uint64) mcmc.Plan {
	return mcmc.Plan{Chains: a.Chains, Warmup: a.Warmup, Draws: a.Draws, ESS: a.ESS, MaxDraws: a.MaxDraws, Seed: seed, Workers: 1}
}

func (a Arm) validate(d *Design) error {
	if names := MethodNames(); !slices.Contains(names, a.Method) {
		return fmt.Errorf("there is none of this name; choose of %s", strings.Join(names, ", "))
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
