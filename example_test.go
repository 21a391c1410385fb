package dpreg_test

import (
	"context"
	"log"
	"os"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/report"
)

// An analyst has a release, and fits the model that it holds.
func Example() {
	r, err := release.ReadFile("testdata/pums-eps1.release.json")
	if err != nil {
		log.Fatal(err)
	}
	fit, err := dpreg.Infer(context.Background(), dpreg.One(r), dpreg.Options{})
	if err != nil {
		log.Fatal(err)
	}
	if err := report.Fit(os.Stdout, fit, report.Options{}); err != nil {
		log.Fatal(err)
	}
	// Output:
	// Privacy: epsilon = 1, delta = 0, replace-one neighbours: exchanging any one row
	//   for another changes the probability of any outcome by a factor of at most
	//   exp(1) = 2.72.
	// Released: n = 1000, public and exact, and 5 sums over the rows (of 2 columns,
	//   their squares and products, scaled to [-1, 1]), each with Laplace noise of
	//   scale 5.333 (sd 7.542).
	//
	// income ~ educ, method mcmc-exact, n = 1000, original units
	// Method mcmc-exact was taken: it is exact for normal columns, at a cost that does
	//   not depend on n.
	//
	//             Estimate Est.Error  l-95% u-95%  Rhat Bulk_ESS Tail_ESS Contr.
	// (Intercept)    -8962     16742 -44386 24706 1.001     2221     1724  0.999
	// educ            4427      1654   1185  7804 1.001     2249     1541  0.999
	// sigma          49239     12383  16611 68720 1.006     1413     1225  0.957
	//
	// 4 chains of 700 draws: R-hat at most 1.006, of sigma2; ESS at least 1225, of
	//   sigma2.
	// Price of privacy (posterior sd over the sd expected without noise): (Intercept)
	//   3.50, educ 3.60.
	// Taken for granted: normal covariates; income linear in x, with residuals of one
	//   spread and of a kurtosis up to 69. A release can tell (dpreg check) of columns
	//   that bounds cut; it cannot of curves, outliers or residuals that spread more
	//   at some x.
}
