package nuts

// EBFMI returns the energy Bayesian fraction of missing information of one chain
// (Betancourt 2016, arXiv:1604.00695), from the energies of its draws in order:
//
//	Σ_i (E_i − E_{i−1})² / Σ_i (E_i − Ē)².
//
// Below 0.3, redrawing the momentum changes the energy too little: the tails are
// heavier than trajectories reach. It is NaN for fewer than two draws or where
// the energy never changed.
func EBFMI(energy []float64) float64 {
	mean := 0.0
	for _, e := range energy {
		mean += e
	}
	mean /= float64(len(energy))
	var jumps, spread float64
	for i, e := range energy {
		if i > 0 {
			jumps += (e - energy[i-1]) * (e - energy[i-1])
		}
		spread += (e - mean) * (e - mean)
	}
	return jumps / spread
}
