package exact

import (
	"math"
	"slices"

	"github.com/dpreg/dpreg/model"
)

// spreadTold is the variance from which on z tells a column's spread, in sds of the noise of a mean square.
const spreadTold = 20

// tells says of which covariates z tells the spread.
func tells(site *model.Site) []bool {
	if site.Frame != nil {
		site, _ = byColumns(site)
	}
	obs := site.Observation
	m, n := obs.Shape.M(), rowsTold(obs)
	scatter, tells := vec(m*m), make([]bool, m-1)
	model.Scatter(scatter, obs.Z, m, n)
	for j := range tells {
		tells[j] = scatter[j*(m+1)] > spreadTold*math.Sqrt(obs.Variance(m))
	}
	return tells
}

// told is how many of the first covariates z tells.
func told(site *model.Site) int {
	all := tells(site)
	if k := slices.Index(all, false); k >= 0 {
		return k
	}
	return len(all)
}

// toldFirst is the order of covariates in which those come first whose spread z tells; nil where they do. Rows of D are
// given those before them: what a hidden column has in common with a told one goes with the spread of the hidden one,
// and where that comes first all of the told one goes with it. A census of four columns, of which two came first that noise
// hid, took 1023 leapfrogs a draw, and takes 15.
func toldFirst(t *model.Joint) []int {
	if leveled(t) || t.Family != model.Normal {
		return nil
	}
	told := make([]bool, t.Shape.P)
	for _, site := range t.Sites {
		for j, tells := range tells(site) {
			told[j] = told[j] || tells
		}
	}
	var first, then []int
	for j, told := range told {
		if told {
			first = append(first, j)
		} else {
			then = append(then, j)
		}
	}
	if order := append(first, then...); !slices.IsSorted(order) {
		return order
	}
	return nil
}
