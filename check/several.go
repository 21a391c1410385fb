package check

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/model"
)

// checkReplicates is the number of times that releases are replicated from each draw.
const checkReplicates = 4

// checkers replicate the releases of several custodians together.
type checkers struct {
	sites   []*checker
	at      []int // where the p-values of each begin, and that of all
	skipped int   // draws
}

func newCheckers(custodians []dpreg.Custodian) (*checkers, error) {
	c := &checkers{at: []int{0}}
	for j, custodian := range custodians {
		obs, err := model.Observe(custodian.Release)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", custodian.Name, err)
		}
		site := newChecker(obs)
		c.sites, c.at = append(c.sites, site), append(c.at, c.at[j]+len(obs.Z)+len(site.blocks))
	}
	return c, nil
}

// run returns the p-values over draws, draws[i][j] those of site j: of each site's
// entries and blocks, and of all sums of all sites.
func (c *checkers) run(ctx context.Context, draws [][][]float64, rng *rand.Rand) ([]float64, error) {
	p := make([]float64, c.at[len(c.sites)]+1)
	of, rep, count := make([]float64, len(p)), make([]float64, len(p)), 0
	for _, rows := range draws {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if !c.given(rows) {
			c.skipped++
			continue
		}
		count++
		for _, site := range c.sites {
			site.collect()
		}
		c.discrepancies(of, func(site *checker) []float64 { return site.obs.Z })
		for range checkReplicates {
			for _, site := range c.sites {
				site.replicate(rng)
			}
			c.discrepancies(rep, func(site *checker) []float64 { return site.rep })
			for i := range p {
				if rep[i] >= of[i] {
					p[i]++
				}
			}
		}
	}
	if count == 0 {
		return nil, errNoReplicate
	}
	for i := range p {
		p[i] /= float64(count * checkReplicates)
	}
	return p, nil
}

// given puts the parameters at a draw, a row for each site.
func (c *checkers) given(rows [][]float64) bool {
	for j, site := range c.sites {
		if !site.given(rows[j]) {
			return false
		}
	}
	return true
}

// discrepancies writes those of all sites' sums z, and last the sum of theirs.
func (c *checkers) discrepancies(dst []float64, z func(*checker) []float64) {
	last := len(dst) - 1
	dst[last] = 0
	for j, site := range c.sites {
		own := dst[c.at[j]:c.at[j+1]]
		site.discrepancies(own, z(site))
		dst[last] += own[len(own)-1]
	}
}
