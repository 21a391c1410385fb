package posterior

// Thin returns about count draws, evenly spaced in all chains, chain after chain.
func (d *Draws) Thin(count int) [][]float64 {
	width, n := len(d.Names), d.NumDraws()
	step := max(1, n*d.NumChains()/count)
	var rows [][]float64
	for _, chain := range d.Chains {
		for i := step - 1; i < n; i += step {
			rows = append(rows, chain[i*width:(i+1)*width])
		}
	}
	return rows
}
