package exact

import (
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/nuts"
)

// density is the posterior of the statistics alone, p(s | z), in coordinates ψ:
// the parameters are integrated out in closed form. For n rows v ~ N(μ, V), the
// mean v̄ ~ N(μ, V/n) and the scatter W ~ Wishart(n−1, V) are independent, and their
// joint density is that of the rows, but for a factor without parameters:
//
//	p(v̄, W | φ) = c(n) |W|^{(n−m−2)/2} ∏_i p(v_i | φ)
//
// (m columns; the product depends on the rows by v̄ and W alone). The integral of
// the product over the conjugate prior is the evidence of NIG and NIW, so
//
//	log p(ψ | z) = ½(n−m−2) log|W| + log evidence + log p(z | s) + log|∂(v̄,W)/∂ψ|,
//	|∂W/∂P| = 2^m n^{m(m+1)/2} ∏_i D_ii^{2m−2i},  i = 0, …, m−1.
//
// φ given s is then drawn from its conjugate law: draws of it are as good as those
// of s or better, and the space that NUTS has to explore is half as large as that
// of φ and s.
//
// Where n is latent, ψ has log(n − n₀) behind it, n₀ half a row below the least n
// that the prior allows: n is continuous. Up to a constant, with the gamma
// function of several variables,
//
//	log Γ_p(½ν_n) + log Γ(a_n) − log Γ_m(½(n−1)) + ½mn log n
//
// stand for what evidence leaves out, log c(n), and the powers of n in W and the
// Jacobian.
type density struct {
	obs        *model.Observation
	statistics *statistics
	evidence   [2]*evidence
	noise      *model.Noise
	gamma      []gammaTerm
	e          []float64 // E, of B's size, with d log p = Σ_ij E_ij dB_ij
	byN        float64   // derivative in n of what depends on it beside B
}

func newDensity(obs *model.Observation, prior *model.Prior) *density {
	m := obs.Shape.M()
	return &density{obs: obs, statistics: newStatistics(m),
		evidence: [2]*evidence{covariateEvidence(obs.Shape, prior), regressionEvidence(obs.Shape, prior)},
		noise:    model.NewNoise(obs),
		gamma:    gammaTerms(obs.Shape, prior),
		e:        make([]float64, (m+1)*(m+1))}
}

// Dim returns the number of coordinates.
func (f *density) Dim() int {
	if f.obs.Count.Latent() {
		return len(f.obs.Z) + 1
	}
	return len(f.obs.Z)
}

// LogDensity returns log p(ψ | z) up to a constant, and its gradient.
func (f *density) LogDensity(grad, psi []float64) (float64, error) {
	logp, err := f.value(psi)
	if err != nil {
		return 0, err
	}
	f.slope(grad)
	return logp, nil
}

// slope writes the gradient where value was last.
func (f *density) slope(grad []float64) {
	n, m := f.statistics.n, f.obs.Shape.M()
	for _, e := range f.evidence {
		e.addSlope(f.e, m+1)
	}
	f.statistics.pull(grad, f.e)
	for i := range m {
		grad[diagonal(m, i)] += f.power(i)
	}
	if f.obs.Count.Latent() {
		grad[len(f.obs.Z)] = 1 + (n-f.leastRows())*(f.byN+f.countSlope(n))
	}
}

// value returns log p(ψ | z) alone, and leaves the noise's slopes in E.
func (f *density) value(psi []float64) (float64, error) {
	t, m := f.statistics, f.obs.Shape.M()
	n := f.rows(psi)
	if f.obs.Count.Latent() && n > f.obs.Count.Most+0.5 {
		return 0, nuts.ErrReject
	}
	t.set(psi, n)
	clear(f.e)
	logp := f.addNoise()
	f.byN = 0
	for _, e := range f.evidence {
		v, d, ok := e.at(t.b, m+1, n)
		if !ok {
			return 0, nuts.ErrReject
		}
		logp += v
		f.byN += d
	}
	for i := range m {
		logDii := psi[diagonal(m, i)]
		logp += f.power(i) * logDii
		f.byN += logDii
	}
	if f.obs.Count.Latent() {
		logp += f.count(n) + psi[len(f.obs.Z)]
	}
	return logp, nil
}

// power is that of D_ii in |W|^{(n−m−2)/2} and the Jacobian together.
func (f *density) power(i int) float64 {
	return f.statistics.n + float64(f.obs.Shape.M()-2-2*i)
}

// addNoise returns log p(z | s) and adds its gradient to E.
func (f *density) addNoise() float64 {
	t, k := f.statistics, f.obs.Shape.M()+1
	logp, at := 0.0, k-1
	for j := range k - 1 {
		v, g := f.noise.LogDensity(j, t.b[(j+1)*k])
		logp += v
		f.e[(j+1)*k] += 0.5 * g
		for l := j; l < k-1; l++ {
			v, g := f.noise.LogDensity(at, t.b[(l+1)*k+j+1])
			logp += v
			if l > j {
				g *= 0.5
			}
			f.e[(l+1)*k+j+1] += g
			at++
		}
	}
	return logp
}
