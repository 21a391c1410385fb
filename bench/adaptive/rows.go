package main

import (
	"context"
	"hash/fnv"
	"io"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/calibration"
	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/ssp"
	"github.com/dpreg/dpreg/table"
)

// population is a regression on a table of testdata, or on normal rows of three covariates and a
// response, all of one sd, in scaled units, and all pairs of one correlation.
type population struct {
	name, table, formula string
	sd, correlation      float64
	levels               string // of a factor, as --levels has them; "other" is all others
}

var populations = []population{
	{name: "abalone", table: "abalone", formula: "rings ~ ."},
	{name: "red", table: "wine-red", formula: "quality ~ ."},
	{name: "white", table: "wine-white", formula: "quality ~ ."},
	{name: "pums", table: "pums", formula: "income ~ age + educ + married"},
	{name: "pums10000", table: "pums10000", formula: "income ~ age + educ + married"},
	{name: "diabetes", table: "diabetes", formula: "progression ~ ."},
	{name: "adult", table: "adult", formula: "hours ~ age + education + gain"},
	{name: "pums-1", table: "pums", formula: "income ~ educ"},
	{name: "pums10000-1", table: "pums10000", formula: "income ~ educ"},
	{name: "abalone-1", table: "abalone", formula: "rings ~ diameter"},
	{name: "adult-1", table: "adult", formula: "hours ~ age"},
	{name: "gain-1", table: "adult", formula: "hours ~ gain"},
	{name: "of-gain", table: "adult", formula: "gain ~ age + education + hours"},
	{name: "of-gain-1", table: "adult", formula: "gain ~ education"},
	{name: "sugar-1", table: "wine-white", formula: "density ~ `residual sugar`"},
	{name: "chlorides-1", table: "wine-white", formula: "quality ~ chlorides"},
	{name: "normal-.2-.7", sd: 0.2, correlation: 0.7}, {name: "normal-.2-0", sd: 0.2},
	{name: "abalone-sex", table: "abalone-sizes", formula: "rings ~ sex + length + diameter + height", levels: "sex=M,F,I"},
	{name: "pums-educ", table: "pums10000", formula: "income ~ educ + age + married", levels: "educ=9,11,13,other"},
	{name: "adult-education", table: "adult", formula: "hours ~ education + age + gain", levels: "education=9,10,13,14,11,12,other"},
	{name: "normal-.4-.7", sd: 0.4, correlation: 0.7}, {name: "normal-.4-0", sd: 0.4},
}

// rows are those of a design of m columns, with their sums, their coefficients of least squares and
// the standard errors of these.
type rows struct {
	custody.Scaled
	design    *schema.Design
	m         int
	factor    string // whose dummies are the first columns; empty: none
	dummies   int
	exact     *ssp.Statistics
	theta, se []float64
}

// rows reads the table, or draws 4000 normal rows, which are clipped to [−1, 1]: with e and z of
// variance 1, columns √c·z + √(1−c)·e, each with an e of its own, have correlations c.
func (p *population) rows() (*rows, error) {
	r := &rows{Scaled: custody.Scaled{Name: p.name}, design: dpreg.UnitDesign(3), m: 4}
	if p.table == "" {
		rng := stream(p.name, 0)
		for range 4000 {
			z := rng.NormFloat64()
			for _, mean := range []float64{0.3, -0.2, 0, 0.1} {
				e := math.Sqrt(p.correlation)*z + math.Sqrt(1-p.correlation)*rng.NormFloat64()
				r.Rows = append(r.Rows, min(1, max(-1, mean+p.sd*e)))
			}
		}
		return r, nil
	}
	path := "testdata/" + p.table + ".csv"
	described, _, err := custody.ReadSchema("testdata/"+p.table+".schema.json", "")
	if err == nil {
		err = r.read(described, p)
	}
	if err != nil {
		return nil, err
	}
	r.m = len(r.design.Columns())
	source := &table.Source{Name: path, Files: []table.File{{Path: path, Format: table.CSVFormat}}}
	for v, err := range (table.Options{Other: "other"}).Rows(source, r.design) {
		if err != nil {
			return nil, err
		}
		r.Rows = append(r.Rows, v...)
	}
	return r, nil
}

// read takes the formula's columns, those of a factor first.
func (r *rows) read(described *schema.Schema, p *population) (err error) {
	if p.levels == "" {
		r.design, err = described.Design(p.formula)
		return err
	}
	factor, err := schema.ParseLevels(p.levels)
	if err != nil {
		return err
	}
	r.factor = factor[0].Name
	described.Columns = append(slices.DeleteFunc(described.Columns, func(c schema.Column) bool { return c.Name == r.factor }), factor[0])
	if r.design, err = described.Design(p.formula); err == nil {
		r.design, r.dummies, err = release.LevelsFirst(r.design, r.factor)
	}
	return err
}

// stream gives each purpose and trial random numbers of its own.
func stream(purpose string, trial int) *rand.Rand {
	h := fnv.New64a()
	io.WriteString(h, purpose)
	return mcmc.Stream(h.Sum64(), trial)
}

func (r *rows) fit(ctx context.Context) (err error) {
	if r.exact, err = custody.Exact(ctx, custody.Order{Rows: r.Scaled, Design: r.design}); err == nil {
		r.theta, r.se = calibration.OrdinaryLeastSquares(r.exact, r.design)
	}
	return err
}

// moved is by how much noise and clipping E of the sums S move the coefficients θ of least squares,
// to first order: with S in parts XᵀX and Xᵀy, θ = (XᵀX)⁻¹Xᵀy moves by (XᵀX)⁻¹(E_xy − E_xx·θ).
// Unlike what least squares of noisy sums does, that is finite, whatever the noise.
func (r *rows) moved(published *release.Release) ([]float64, error) {
	s, e := r.exact.Vector(), published.Scaled()
	floats.Sub(e, s)
	parts := func(v []float64, n float64) (xx, xy *mat.Dense) {
		sums := model.NewSums(model.Shape{P: r.m - 1, Intercept: true})
		sums.Set(v, n)
		return mat.NewDense(r.m, r.m, sums.XX), mat.NewDense(r.m, 1, sums.XY)
	}
	xx, xy := parts(s, float64(r.exact.N))
	exx, exy := parts(e, float64(published.N-r.exact.N))
	var theta, moved mat.Dense
	if err := theta.Solve(xx, xy); err != nil {
		return nil, err
	}
	moved.Mul(exx, &theta)
	moved.Sub(exy, &moved)
	if err := moved.Solve(xx, &moved); err != nil {
		return nil, err
	}
	out, columns := make([]float64, r.m), r.design.Columns()
	wide := func(j int) float64 { return columns[j].Upper - columns[j].Lower }
	for j := 1; j < r.m; j++ {
		out[j] = moved.At(j, 0) * wide(r.m-1) / wide(j-1)
	}
	return out, nil
}
