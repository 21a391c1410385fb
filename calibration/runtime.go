package calibration

// Runtime is how long the trials of a cell took, a core each: simulation, sampling
// and what is computed of the draws.
type Runtime struct {
	Setting
	Median, Total float64 // seconds
}

// Runtimes are those of the cells, in their order.
func (s *Study) Runtimes(trials []*Trial) []Runtime {
	seconds := make([][]float64, len(s.Cells))
	for _, t := range trials {
		seconds[t.Cell] = append(seconds[t.Cell], t.Seconds)
	}
	times := make([]Runtime, len(s.Cells))
	for i, c := range s.Cells {
		times[i].Setting = c.Setting
		if len(seconds[i]) > 0 {
			times[i].Median = median(seconds[i])
			times[i].Total = *mean(seconds[i]) * float64(len(seconds[i]))
		}
	}
	return times
}
