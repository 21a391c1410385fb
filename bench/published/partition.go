package main

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// partition deals records to ten clients, half of them small and half large, with classes
// in unequal shares. With N records, M clients and λ the share of negative records,
//
//	N_small = ⌊N/M (1 − ρ)⌋,  N_large = ⌊N/M (1 + ρ)⌋,
//
// and ⌊N_small (λ + (1 − λ)κ)⌋ of a small client's records are negative. ρ = κ = 0 makes
// all alike; κ = 1 makes small clients all negative, κ = −λ/(1 − λ) all positive.
type partition struct{ rho, kappa float64 }

const clients = 10

// partitions are the paper's.
var partitions = map[string]partition{"A": {}, "B": {0.9, 0.95}, "C": {0.7, -3}, "D": {0.6, -1.5}}

// deal returns the indices of each client's records, whose class y is 0 or 1, small
// clients first. What is left over is dealt to nobody. It is an error where there are too
// few of a class.
func (p partition) deal(y []float64, rng *rand.Rand) (dealt [][]int, err error) {
	const half = clients / 2
	var classes [2][]int
	for i, class := range y {
		classes[int(class)] = append(classes[int(class)], i)
	}
	each, share := float64(len(y))/clients, float64(len(classes[0]))/float64(len(y))
	small, large := int(each*(1-p.rho)), int(each*(1+p.rho))
	negatives := int(math.Floor(float64(small) * (share + (1-share)*p.kappa)))
	for class, wanted := range [2]int{negatives, small - negatives} {
		if small < 1 || wanted < 0 || wanted*half > len(classes[class]) {
			return nil, fmt.Errorf("%d records are too few for %d clients with ρ = %v, κ = %v", len(y), clients, p.rho, p.kappa)
		}
	}
	for range half {
		var records []int
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
	return dealt, nil
}
