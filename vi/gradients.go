package vi

import (
	"math/rand/v2"
	"slices"
)

// Gradients forms gradients one by one: of single records, and of the prior.
type Gradients struct {
	model  *Model
	tape   *Tape
	prior  *Tape
	record [1]int
}

// NewGradients is of a model whose records may draw variates from rng.
func NewGradients(m *Model, rng *rand.Rand) *Gradients {
	g := &Gradients{model: m, tape: newTape(m.Parameters, rng), prior: newTape(m.Parameters, nil)}
	g.tape.told, g.prior.told, g.prior.prior = true, true, true
	return g
}

// LogLik returns log p(record i | θ), and overwrites grad with its gradient.
func (g *Gradients) LogLik(grad, theta []float64, i int) float64 {
	g.record[0] = i
	return g.tape.gradient(grad, theta, g.record[:], g.model.LogLik)
}

// LogPrior returns log p(θ) up to a constant, and overwrites grad with its gradient.
func (g *Gradients) LogPrior(grad, theta []float64) float64 {
	if g.model.LogPrior == nil {
		clear(grad)
		return 0
	}
	return g.prior.gradient(grad, theta, g.record[:], g.model.LogPrior)
}

// Evaluate returns log p(record i | θ) of every record, which may draw variates from rng.
func (m *Model) Evaluate(theta []float64, rng *rand.Rand) (logLik []float64) {
	t, records := newTape(m.Parameters, rng), make([]int, m.Records)
	for i := range records {
		records[i] = i
	}
	t.told = true
	for tile := range slices.Chunk(records, tileRows) {
		t.start(theta, tile)
		m.LogLik(t)
		logLik = append(logLik, t.logLik...)
	}
	return logLik
}

func (t *Tape) gradient(grad, theta []float64, records []int, of func(*Tape)) float64 {
	t.start(theta, records)
	of(t)
	t.backward()
	clear(grad)
	for _, u := range t.uses {
		u.gather(grad)
	}
	return t.logLik[0]
}
