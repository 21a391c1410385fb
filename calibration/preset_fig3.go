package calibration

import "github.com/dpreg/dpreg/gibbs"

// Fig3 is the study of Bernstein & Sheldon's Figure 3: calibration, coverage, MMD and
// runtime at one covariate. Data are unclamped, as theirs are.
func Fig3() *Design {
	return &Design{
		Format: DesignFormat, Preset: "fig3", Data: Unclamped, X: NormalX,
		Ns: []int64{10, 100, 1000}, Epsilons: []float64{0.01, 0.1, 1}, Ps: []int{1},
		Prior: PriorSpec{Name: PaperPrior}, Trials: 300, Arms: Arms(PaperMethods(), nil, nil),
	}
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
