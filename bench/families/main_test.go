package main

import (
	"math"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/model"
)

// TestMaximumLikelihood compares with R 4.2.2,
//
//	glm(married ~ age + educ, binomial, read.csv("testdata/pums.csv"))
func TestMaximumLikelihood(t *testing.T) {
	p := must.Get(newTable("../../testdata/pums.csv", []string{"age", "educ", "married"}, []float64{0, 1, 0}, []float64{100, 16, 1}))(t)
	for j, want := range []float64{0.02311822087, 0.02936848108} {
		if math.Abs(p.slopes[j]-want) > 1e-10 {
			t.Errorf("slope %d is %v, by R %v", j+1, p.slopes[j], want)
		}
	}
}

// TestCoverage has one data set without much noise, whose intervals hold at least one slope.
func TestCoverage(t *testing.T) {
	share, _, err := laws[0].at(response{model.Binomial, 1}, 1, -0.5).coverage(t.Context(), 1, 1000, 10)
	if err != nil || share == 0 {
		t.Error(share, err)
	}
	must.Fail(t, must.Err(newTable("nowhere.csv", nil, nil, nil)), "nowhere.csv")
}
