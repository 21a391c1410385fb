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
	r, err := release.ReadFile("testdata/pums-looks.release.json")
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
	//   proportion to its size. Moving rows may shift a slope by up to 0.9 of its
	//   posterior sd, and draws the mean of a skewed column towards most rows;
	//   intervals allow for that. Fewer than about 79 rows far from all others go
	//   unseen: estimates are then those of the others.
	//
	// income ~ educ, method mcmc-exact, n = 1000, original units
	// Method mcmc-exact was taken: it is exact for normal columns, at a cost that does
	//   not depend on n.
	//
	//             Estimate Est.Error  l-95% u-95%  Rhat Bulk_ESS Tail_ESS Contr.
	// (Intercept)   -15640     23371 -62099 31461 1.005     2671     1724  0.998
	// educ            4930      2382    164  9585 1.004     2720     1598  0.997
	// sigma          50539     17273   7898 78347 1.003     2287     1822  0.828
	//
	// 4 chains of 500 draws: R-hat at most 1.005, of (Intercept); ESS at least 1236,
	//   of mean(educ).
	// Price of privacy (posterior sd over the sd expected without noise): (Intercept)
	//   4.07, educ 4.41.
	// Taken for granted: normal covariates; income linear in x, with residuals of one
	//   spread and of a kurtosis up to 102. A release can tell (dpreg check) of
	//   columns that bounds cut; it cannot of curves, outliers or residuals that
	//   spread more at some x.
}
