package gibbs

import (
	"fmt"
	"slices"

	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/posterior"
)

// smallest is the number of rows below which the CLT is a poor description of
// the statistics: as a law for the plain kernel, as a proposal for the default.
const smallest = 30

// warnings tells what a reader of the posterior should know.
func (u Update) warnings(obs *model.Observation, d *posterior.Draws) []string {
	var w []string
	if obs.N < smallest {
		w = append(w, fmt.Sprintf("n = %g is below %d: the normal approximation of the statistics is poor there", obs.N, smallest))
	}
	if u.Kernel == Plain {
		w = append(w, "kernel plain is the sampler as published: its conditionals are not those of one joint law, so its draws are near the posterior's, not from it")
	}
	for _, c := range []struct{ column, what string }{
		{"divergent__", "of the sweeps' trajectories diverged: their start was hard to leave"},
		{"projected__", "of the sweeps drew statistics that no data could have, and projected them"},
		{"failed__", "of the sweeps skipped a step because rounding left a matrix indefinite"},
	} {
		if share := infoMean(d, c.column); share > 0 {
			w = append(w, fmt.Sprintf("%.2g %% %s", 100*share, c.what))
		}
	}
	return w
}

// infoMean is the mean of a sampler's column over all kept draws.
func infoMean(d *posterior.Draws, column string) float64 {
	j, width := slices.Index(d.InfoNames, column), len(d.InfoNames)
	sum, count := 0.0, 0
	for _, info := range d.Info {
		for i := j; i < len(info); i += width {
			sum += info[i]
			count++
		}
	}
	if count == 0 {
		return 0
	}
	return sum / float64(count)
}
