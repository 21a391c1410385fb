package accounting

import (
	"fmt"
	"math"
)

// Budget is (ε, δ).
type Budget struct{ Epsilon, Delta float64 }

// Basic composes count releases that are each differentially private with b: count·ε
// and count·δ (Dwork & Roth, The Algorithmic Foundations of Differential Privacy, 2014,
// Theorem 3.16).
func (b Budget) Basic(count int) Budget {
	return Budget{float64(count) * b.Epsilon, float64(count) * b.Delta}
}

// Advanced composes count releases at a further cost of slack > 0 in δ:
//
//	ε′ = √(2 count log(1/slack)) ε + count ε(e^ε − 1),  δ′ = count δ + slack
//
// (Dwork & Roth 2014, Theorem 3.20). It may be larger than Basic.
func (b Budget) Advanced(count int, slack float64) Budget {
	n := float64(count)
	return Budget{math.Sqrt(-2*n*math.Log(slack))*b.Epsilon + n*b.Epsilon*math.Expm1(b.Epsilon), n*b.Delta + slack}
}

// Sampled is what remains when b's release is of a random sample of rate q:
// log(1 + q(e^ε − 1)) and qδ (Balle, Barthe & Gaboardi, Privacy Amplification by
// Subsampling, NeurIPS 2018, Theorems 8 and 9). For Poisson sampling b and the result
// are for neighbours with one record more or less; for batches of fixed size, or where
// a record is replaced, both are for neighbours that differ by one record's values.
func (b Budget) Sampled(q float64) Budget {
	return Budget{math.Log1p(q * math.Expm1(b.Epsilon)), q * b.Delta}
}

// Group is what b says of data sets that size steps to neighbours lead to:
// size·ε and δ(e^{size·ε} − 1)/(e^ε − 1) (Vadhan, The Complexity of Differential
// Privacy, 2017, Lemma 2.2).
func (b Budget) Group(size int) Budget {
	n := float64(size)
	grown := n
	if b.Epsilon > 0 {
		grown = math.Expm1(n*b.Epsilon) / math.Expm1(b.Epsilon)
	}
	return Budget{n * b.Epsilon, b.Delta * grown}
}

// basic is ε by basic composition: each step's release of its batch is given
// δ/(qT), amplified to δ/T.
func (t Training) basic(delta float64) (float64, error) {
	step, err := t.step(delta / (t.Rate * float64(t.Steps)))
	return step.Basic(t.Steps).Epsilon, err
}

// advanced is ε by advanced composition, half of δ being its slack.
func (t Training) advanced(delta float64) (float64, error) {
	step, err := t.step(delta / 2 / (t.Rate * float64(t.Steps)))
	return step.Advanced(t.Steps, delta/2).Epsilon, err
}

// step is what a step spends, amplified, where delta is for what is done to a batch.
func (t Training) step(delta float64) (Budget, error) {
	if delta < MinDelta {
		return Budget{}, fmt.Errorf("delta is too small for %d steps", t.Steps)
	}
	delta = math.Min(delta, 0.5)
	sensitivity := 1.
	if t.Scheme != PoissonAddRemove {
		sensitivity = 2
	}
	epsilon, err := Epsilon(t.Multiplier, delta, sensitivity)
	if err != nil {
		return Budget{}, err
	}
	return Budget{epsilon, delta}.Sampled(t.Rate), nil
}
