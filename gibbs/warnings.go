package gibbs

import (
	"fmt"
	"slices"

	"github.com/dpreg/dpreg/posterior"
)

// smallest is the number of rows below which the CLT is a poor description of
// the statistics.
const smallest = 30

// manyDivergences is the share of diverging trajectories that is told. Few do no
// harm: they come from a small ω, at which the metric is too wide; the move is
// refused, and the next draw of ω ends it.
const manyDivergences = 0.05

// warnings tells what a reader of the posterior should know.
func (r *run) warnings(d *posterior.Draws) (w []string) {
	if r.rows < smallest {
		w = append(w, fmt.Sprintf("n = %g is below %d: the normal approximation of the statistics is poor there", r.rows, smallest))
	}
	if r.kernel == Plain {
		w = append(w, "kernel plain is the sampler as published: its conditionals are not those of one joint law, so its draws are near the posterior's, not from it")
	}
	if share := infoMean(d, "divergent__"); share > manyDivergences {
		w = append(w, fmt.Sprintf("%.2g %% of the trajectories diverged: the chains may mix badly; look at the effective sample sizes", 100*share))
	}
	for _, c := range []struct{ column, what string }{
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
