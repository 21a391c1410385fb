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
	r, err := release.ReadFile("testdata/pums-eps1-steps.release.json")
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
	//   their squares and products, scaled to [-1, 1]), as the last of 3 looks saw
	//   them. Each look has an ellipsoid, which the looks before it found, and the
	//   privacy above is that of all looks together: rows outside it are moved to its
	//   surface, and the sums have K-norm noise, whose density falls as exp(-|e|), in
	//   proportion to its size.
	//
	// income ~ educ, method mcmc-exact, n = 1000, original units
	// Method mcmc-exact was taken: it is exact for normal columns, at a cost that does
	//   not depend on n.
	//
	//             Estimate Est.Error  l-95% u-95%  Rhat Bulk_ESS Tail_ESS Contr.
	// (Intercept)    -8847      9576 -26876 10782 1.002     3986     2622  0.999
	// educ            3952      1051   1702  5808 1.001     3666     2393  0.999
	// sigma          28665      3899  18894 34349 1.000     3542     1663  0.987
	//
	// 4 chains of 1000 draws: R-hat at most 1.002, of the intercept in scaled units;
	//   ESS at least 1663, of sigma2.
	// Price of privacy (posterior sd over the sd expected without noise): (Intercept)
	//   2.85, educ 3.27.
}
