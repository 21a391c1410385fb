package calibration

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/conjugate"
	"github.com/dpreg/dpreg/gibbs"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/schema"
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
	s := Setting{Method: a.Method, Kernel: a.Kernel, Sensitivity: a.Sensitivity}
	switch {
	case a.Method == DPVI:
		s.Run = fmt.Sprintf("%d steps", viSteps)
	case a.Method == DPPVI:
		s.Run = fmt.Sprintf("%d clients", clients)
	case a.Method == AdaSSP:
	case a.ESS > 0:
		s.Run = fmt.Sprintf("%d x %d, ESS %g", a.Chains, a.Warmup, a.ESS)
	default:
		s.Run = fmt.Sprintf("%d x (%d + %d)", a.Chains, a.Warmup, a.Draws)
	}
	if a.ModelClamping {
		s.Method += " (clamping)"
	}
	return s
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

// choices are the kernels and the sensitivities that a method can have, of all that there are.
func choices(method string) (kernels, sensitivities []string) {
	kernels, sensitivities = []string{""}, []string{PaperSensitivity, ExactSensitivity}
	if dpreg.Traits(method).Kernels {
		kernels = []string{string(gibbs.Exact), string(gibbs.Plain)}
	}
	switch method {
	case NonPrivate:
		sensitivities = []string{""}
	case noisyMoments:
		sensitivities = []string{ExactSensitivity}
	}
	return kernels, sensitivities
}

// PaperMethods are those of the paper's figures that take one kind of release and do not
// cost more for more rows, and mcmc-exact, whose posterior is that of the paper's
// mcmc-ind.
func PaperMethods() []string { return []string{NonPrivate, "naive", "gibbs-ss-update", "mcmc-exact"} }

// DefaultESS is the effective sample size of arms that are not as printed.
const DefaultESS = 400

// Arms combines methods with kernels and sensitivities, those that a method has; nil
// is all of them. Kernel plain runs as the paper's code does, a burn-in of 5000 and
// 2000 draws of one chain; all else runs to DefaultESS.
func Arms(methods, kernels, sensitivities []string) (arms []Arm) {
	for _, method := range methods {
		of, bears := choices(method)
		for _, sensitivity := range wanted(bears, sensitivities) {
			for _, kernel := range wanted(of, kernels) {
				arms = append(arms, arm(method, kernel, sensitivity))
			}
		}
	}
	return arms
}

// wanted are those asked for, where a method has more than one.
func wanted(has, asked []string) []string {
	if asked == nil || len(has) == 1 {
		return has
	}
	return asked
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
// gibbs-ss-prior, which takes a law of the covariates from the prior that is not theirs; of a family
// those that have it.
func DefaultCompared(family model.Family) []string {
	if family != model.Normal {
		return []string{NonPrivate, "mcmc-exact", DPVI, DPPVI}
	}
	return slices.DeleteFunc(ComparedMethods(), func(name string) bool { return name == individuals || name == "gibbs-ss-prior" })
}

// NeedsDelta tells whether a method has no other than Gaussian noise.
func NeedsDelta(method string) bool { return slices.Contains([]string{DPVI, DPPVI, AdaSSP}, method) }

// ComparisonArms are those of a comparison of methods: with their default kernel and noise of
// the proven sensitivity.
func ComparisonArms(methods []string) (arms []Arm) {
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
	kernels, sensitivities := choices(a.Method)
	switch {
	case !slices.Contains(names, a.Method):
		return fmt.Errorf("there is none of this name; choose of %s", strings.Join(names, ", "))
	case d.Compares():
		return a.validateCompared(d)
	case !slices.Contains(kernels, a.Kernel):
		return fmt.Errorf("kernel %q: choose one of %q", a.Kernel, kernels)
	case !slices.Contains(sensitivities, a.Sensitivity):
		return fmt.Errorf("sensitivity %q: choose one of %q", a.Sensitivity, sensitivities)
	case a.Sensitivity == PaperSensitivity && d.Delta > 0:
		return errors.New("the paper's sensitivity is for Laplace noise: delta has to be 0")
	case a.ModelClamping && !dpreg.Traits(a.Method).Clamping:
		return fmt.Errorf("it cannot model clamping; %s can", individuals)
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
	n := slices.Min(append(d.ns(), maxN))
	switch {
	case a != arm(a.Method, "", ""):
		return errors.New("in a comparison it runs as in all others")
	case NeedsDelta(a.Method) && d.Delta == 0:
		return errors.New("its noise is Gaussian, which needs a delta above 0, such as 1e-6")
	case a.Method == DPPVI && (d.Clients < 1 || int64(d.Clients) > n):
		return fmt.Errorf("clients: %d, and it has to be from 1 to the number of rows to infer from, %d: each holds some", d.Clients, n)
	}
	return nil
}

// PriorSpec names a prior, with which methods infer and from which, unless rows are of a
// population, the true parameters are drawn: one of the names below, or what a prior file
// says, BoxPrior where it says nothing. Its JSON is that name or the file.
type PriorSpec struct {
	Name string
	File json.RawMessage // of a prior file, where Name is empty
}

// The priors that have names.
const (
	DefaultPrior = "default" // what Infer takes by itself, of each release; for Resampled data alone
	BoxPrior     = "box"     // model.Family.BoxPrior
	PaperPrior   = "paper"   // of Figure 3: NIG(0, .5/19·I, 20, .5), NIW(0, 1, I, 50)
)

// MarshalJSON implements json.Marshaler.
func (s PriorSpec) MarshalJSON() ([]byte, error) {
	if s.Name != "" {
		return json.Marshal(s.Name)
	}
	return s.File, nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *PriorSpec) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '"' {
		return json.Unmarshal(text, &s.Name)
	}
	var compact bytes.Buffer
	err := json.Compact(&compact, text)
	s.File = compact.Bytes()
	return err
}

// of returns the prior for a design, in scaled units.
func (s PriorSpec) of(d *schema.Design, family model.Family) (*model.Prior, error) {
	shape := model.DesignShape(d)
	switch {
	case s.Name == DefaultPrior:
		return model.Normal.DefaultPrior(d)
	case s.Name == BoxPrior:
		return family.BoxPrior(shape), nil
	case s.Name == PaperPrior:
		return paperPrior(shape)
	case s.Name != "":
		return nil, fmt.Errorf("there is none of the name %q", s.Name)
	case len(s.File) == 0:
		return nil, errors.New("it is missing")
	}
	return model.Normal.BoxPrior(shape).Read(bytes.NewReader(s.File), "prior", d, "")
}

// paperPrior is that of Bernstein & Sheldon's Figure 3, where p = 1.
func paperPrior(s model.Shape) (*model.Prior, error) {
	const a, b = 20, 0.5
	theta, err := conjugate.NewNIG(make([]float64, s.Q()), diagonal(s.Q(), b/(a-1.)), a, b)
	if err != nil {
		return nil, err
	}
	covariates, err := conjugate.NewNIW(make([]float64, s.P), 1, diagonal(s.P, 1), 50)
	return &model.Prior{Theta: theta, Covariates: covariates}, err
}

func diagonal(n int, v float64) []float64 {
	a := make([]float64, n*n)
	for i := range n {
		a[i*n+i] = v
	}
	return a
}
