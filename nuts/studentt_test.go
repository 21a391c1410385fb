package nuts

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dpreg/dpreg/mcmc"
)

// studentT is a multivariate t with ν degrees of freedom and unit scale: its
// coordinates are t with ν each, dependent and not correlated.
func studentT(dim int, nu float64) Target {
	return function{dim, func(grad, x []float64) (float64, error) {
		r2 := 0.0
		for _, v := range x {
			r2 += v * v
		}
		power := 0.5 * (nu + float64(dim))
		for i, v := range x {
			grad[i] = -2 * power * v / (nu + r2)
		}
		return -power * math.Log1p(r2/nu), nil
	}}
}

func TestStudentT(t *testing.T) {
	const nu = 5
	target := studentT(3, nu)
	checkGradient(t, target)
	d := draw(t, target, Options{}, mcmc.Plan{Chains: 4, Warmup: 500, Draws: 5000, Seed: 2})
	law := distuv.StudentsT{Sigma: 1, Nu: nu}
	for j := range 3 {
		x := d.Column(j)
		check(t, "mean", mean(x), 0, mcseMean(x))
		size := apply(x, math.Abs) // E|t| = 2√ν Γ(3)/(√π Γ(5/2)(ν − 1))
		check(t, "mean size", mean(size), 2*math.Sqrt(nu)*2/(math.Sqrt(math.Pi)*math.Gamma(2.5)*4), mcseMean(size))
		checkQuantiles(t, fmt.Sprint("coordinate ", j), x, law.Quantile)
	}
}
