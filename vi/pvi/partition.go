package pvi

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// Partition deals records to clients, half of them small and half large, with classes
// in unequal shares (Sharma et al., Differentially Private Federated Variational
// Inference, 2019). With N records, M clients and λ the share of negative records,
//
//	N_small = ⌊N/M (1 − ρ)⌋,  N_large = ⌊N/M (1 + ρ)⌋,
//
// and ⌊N_small (λ + (1 − λ)κ)⌋ of a small client's records are negative. ρ = κ = 0 makes
// all alike; κ = 1 makes small clients all negative, κ = −λ/(1 − λ) all positive.
type Partition struct {
	Clients int     // M, even
	Rho     float64 // ρ, in [0, 1)
	Kappa   float64 // κ
}

// Split returns the indices of each client's records, whose class y is 0 or 1, small
// clients first. What is left over is dealt to nobody. Errors: M odd or below 2, ρ outside
// [0, 1), other classes, a client without records, κ asking for more records of a class
// than there are.
func (p Partition) Split(y []float64, rng *rand.Rand) ([][]int, error) {
	if p.Clients < 2 || p.Clients%2 != 0 {
		return nil, fmt.Errorf("a partition needs an even number of clients, half of them small, not %d", p.Clients)
	}
	if !(p.Rho >= 0 && p.Rho < 1) {
		return nil, fmt.Errorf("rho must lie in [0, 1), not %v: it is how much smaller than the mean small clients are", p.Rho)
	}
	for i, class := range y {
		if class != 0 && class != 1 {
			return nil, fmt.Errorf("record %d: a class is 0 or 1", i+1)
		}
	}
	each := float64(len(y)) / float64(p.Clients)
	small, large := int(each*(1-p.Rho)), int(each*(1+p.Rho))
	if small < 1 {
		return nil, fmt.Errorf("rho = %v leaves small clients without records: %d records over %d clients", p.Rho, len(y), p.Clients)
	}
	classes := classes(y)
	share := float64(len(classes[0])) / float64(len(y))
	negatives := math.Floor(float64(small) * (share + (1-share)*p.Kappa))
	half := p.Clients / 2
	for class, wanted := range [2]float64{negatives, float64(small) - negatives} {
		if math.IsNaN(wanted) || wanted < 0 || wanted*float64(half) > float64(len(classes[class])) {
			return nil, fmt.Errorf("kappa = %v asks for %v %s records on each of %d small clients of %d records, and there are %d in all",
				p.Kappa, wanted, [2]string{"negative", "positive"}[class], half, small, len(classes[class]))
		}
	}
	return deal(classes, half, small, int(negatives), large, rng), nil
}

// classes are the indices of negative and of positive records.
func classes(y []float64) (classes [2][]int) {
	for i, class := range y {
		classes[int(class)] = append(classes[int(class)], i)
	}
	return classes
}

// deal gives small clients the first records of either class, and large ones slices of
// the rest, shuffled.
func deal(classes [2][]int, half, small, negatives, large int, rng *rand.Rand) (dealt [][]int) {
	for range half {
		records := make([]int, 0, small)
		for class, n := range [2]int{negatives, small - negatives} {
			records = append(records, classes[class][:n]...)
			classes[class] = classes[class][n:]
		}
		dealt = append(dealt, records)
	}
	rest := append(append([]int{}, classes[0]...), classes[1]...)
	rng.Shuffle(len(rest), func(i, j int) { rest[i], rest[j] = rest[j], rest[i] })
	for range half {
		dealt = append(dealt, rest[:large:large])
		rest = rest[large:]
	}
	return dealt
}
