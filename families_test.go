package dpreg_test

import (
	"encoding/csv"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/check"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

// sumsOf01 is a release of rows in the data's units, the response last, with noise of a scale that
// is added by none: as ε grows.
func sumsOf01(d schema.Design, n int, next func(row []float64)) *release.Release {
	frame, m := d.Frame(), len(d.Covariates)+1
	sums, row := make([]float64, release.Length(m)), make([]float64, m)
	for range n {
		next(row)
		for j := range row {
			row[j] = (row[j] - frame.Centre[j]) / frame.Half[j]
			sums[j] += row[j]
			for k := range j + 1 {
				sums[release.Index(m, k, j)] += row[j] * row[k]
			}
		}
	}
	return &release.Release{Format: release.Format, Simulated: true, Schema: d, N: int64(n), Noise: release.Noise{Kind: release.Gaussian, Scale: 0.01}, Statistics: release.StatisticsFromVector(m, sums)}
}

func design01(covariates ...schema.Column) schema.Design {
	return schema.Design{Intercept: true, Covariates: covariates, Response: schema.Column{Name: "y", Upper: 1}}
}

func inferFamily(t *testing.T, r *release.Release, o dpreg.Options) *dpreg.Fit {
	t.Helper()
	if o.Plan.Chains == 0 {
		o.Plan = mcmc.Plan{Chains: 2, Warmup: testsize.Of(300, 500), Draws: 1000}
	}
	return must.Get(dpreg.Infer(t.Context(), []dpreg.Custodian{{Release: r}}, o))(t)
}

// TestFamilySlopesInTheLimit has a million normal rows without noise: the slopes, whose sampling
// error is 0.3 % of them, are within 1 %.
func TestFamilySlopesInTheLimit(t *testing.T) {
	column := func(name string) schema.Column { return schema.Column{Name: name, Lower: -6, Upper: 6} }
	d, truth := design01(column("u"), column("v")), []float64{1.4, -1}
	for _, of := range model.Families()[:testsize.Of(1, 3)] {
		d.Response.Upper = 1
		if of == model.Poisson { // of which one in twenty is above
			d.Response.Upper = 6
		}
		rng := rand.New(rand.NewPCG(1, 9))
		r := sumsOf01(d, 1_000_000, func(row []float64) {
			row[0] = rng.NormFloat64()
			row[1] = 0.5*row[0] + rng.NormFloat64()
			row[2] = of.Draw(-0.7+truth[0]*row[0]+truth[1]*row[1], d.Response.Upper, rng)
		})
		s := inferFamily(t, r, dpreg.Options{Family: of, Plan: mcmc.Plan{Chains: 2, Warmup: 300, Draws: 200}}).Summary(dpreg.Original, 0.95)
		if !strings.Contains(strings.Join(s.Warnings, "\n"), "an sd of about 1.") {
			t.Errorf("%s: warnings are %q", of, s.Warnings)
		}
		for j, p := range s.Parameters[1:3] {
			if ratio := p.Mean / truth[j]; !(math.Abs(ratio-1) < 0.01) {
				t.Errorf("%s: slope %d over the truth is %v", of, j+1, ratio)
			}
		}
	}
}

// glm are coefficients and standard errors by R 4.2.2:
//
//	glm(married ~ age + educ, binomial(link), read.csv("testdata/pums.csv"))
//	glm(educ ~ age + married, quasipoisson, read.csv("testdata/pums.csv"))
var glm = map[model.Family][3][2]float64{
	model.Binomial: {{-1.11815013455, 0.257504242021}, {0.02311822087, 0.003815806241}, {0.02936848108, 0.019026375382}},
	model.Probit:   {{-0.69160883222, 0.158870441694}, {0.01409063016, 0.002323407625}, {0.01891737437, 0.011789477195}},
	model.Poisson:  {{2.257845228006234, 0.030515345851577}, {0.000310812267228, 0.000626524425511}, {0.035273692561724, 0.022383719582044}},
}

// TestFamilyIsGLMWithoutNoise compares posteriors of the sums of real rows, without noise, with
// maximum likelihood on the rows: two estimates from the same rows, age and educ no normal
// columns, that are within half a standard error, and their sds within a tenth; they are what is
// expected without noise, too.
func TestFamilyIsGLMWithoutNoise(t *testing.T) {
	for of, want := range glm {
		if testing.Short() && of != model.Binomial {
			continue
		}
		rows := read01(t, "testdata/pums.csv", "age", "educ", "married")
		d := design01(schema.Column{Name: "age", Upper: 100}, schema.Column{Name: "educ", Lower: 1, Upper: 16})
		if of == model.Poisson {
			rows = read01(t, "testdata/pums.csv", "age", "married", "educ")
			d = design01(schema.Column{Name: "age", Upper: 100}, schema.Column{Name: "married", Upper: 1})
			d.Response.Upper = 30
		}
		at := 0
		r := sumsOf01(d, len(rows), func(row []float64) { at += copy(row, rows[at]) / len(row) })
		for k, p := range inferFamily(t, r, dpreg.Options{Family: of}).Summary(dpreg.Original, 0.95).Parameters[:3] {
			if p.Price == nil || math.Abs(*p.Price-1) > 0.06 { // of 1000 draws at an effective size above 600
				t.Errorf("%s: the price of no noise of %s is %v", of, p.Label, p.Price)
			}
			if estimate, se := want[k][0], want[k][1]; !(math.Abs(p.Mean-estimate) < 0.5*se && math.Abs(p.SD/se-1) < 0.1) {
				t.Errorf("%s: %s is %v ± %v, by glm %v ± %v", of, p.Label, p.Mean, p.SD, estimate, se)
			}
		}
	}
}

// TestFamilyOfRareIsGLMWithoutNoise has a rare y, 8 % of adult.csv, and a covariate that is 1 of 24 %, which normal x would have a
// slope of 2.5 of: by R 4.2.2 glm(gain > 0 ~ age + above50k, binomial(link), read.csv("testdata/adult.csv")). Estimates are
// within half a standard error, and sds of the slope within a tenth; that of age is in doubt by the law of age.
func TestFamilyOfRareIsGLMWithoutNoise(t *testing.T) {
	for of, want := range map[model.Family][2]float64{model.Binomial: {1.7066509262435, 0.0428851775406}, model.Probit: {0.87680102468780, 0.021867098564150}} {
		if testing.Short() && of != model.Binomial {
			continue
		}
		rows := read01(t, "testdata/adult.csv", "age", "above50k", "gain")
		d, at := design01(schema.Column{Name: "age", Upper: 100}, schema.Column{Name: "above50k", Upper: 1}), 0
		r := sumsOf01(d, len(rows), func(row []float64) {
			copy(row, rows[at])
			row[2] = min(1, rows[at][2])
			at++
		})
		p := inferFamily(t, r, dpreg.Options{Family: of}).Summary(dpreg.Original, 0.95).Parameters[2]
		if !(math.Abs(p.Mean-want[0]) < 0.5*want[1] && math.Abs(p.SD/want[1]-1) < 0.1) {
			t.Errorf("%s: %s is %v ± %v, by glm %v ± %v", of, p.Label, p.Mean, p.SD, want[0], want[1])
		}
		if p.Price == nil || math.Abs(*p.Price-1) > 0.06 {
			t.Errorf("%s: the price of no noise is %v", of, p.Price)
		}
	}
}

// TestFamilyByResponseIsGLMWithoutNoise is that of two custodians' releases by the levels of the response, in unlike boxes, and
// of one beside one of one look at all columns, at an ε so large that there is no noise to speak of. The second looks three times,
// which clips rows.
func TestFamilyByResponseIsGLMWithoutNoise(t *testing.T) {
	testsize.Full(t, "TestFamilyIsGLMWithoutNoise has sums that are not by levels")
	rows, rng := read01(t, "testdata/pums.csv", "age", "educ", "married"), rand.New(rand.NewPCG(8, 10))
	publish := func(rows [][]float64, oldest float64, by string, steps int) *release.Release {
		d := design01(schema.Column{Name: "age", Upper: oldest}, schema.Column{Name: "educ", Lower: 1, Upper: 16})
		d.Response.Type = "boolean"
		var flat []float64
		for _, row := range rows {
			flat = append(flat, 2*row[0]/oldest-1, (row[1]-8.5)/7.5, 2*row[2]-1)
		}
		return publishGrouped(t, &d, flat, by, steps, replaced(100), rng)
	}
	first, second := publish(rows[:450], 100, "y", 1), publish(rows[450:], 110, "y", 1)
	for name, pair := range map[string][2]*release.Release{
		"both": {first, second}, "beside one look": {publish(rows[:450], 100, "", 1), second}, "of three looks": {first, publish(rows[450:], 110, "y", 3)},
	} {
		o := dpreg.Options{Family: model.Binomial, Plan: mcmc.Plan{Chains: 2, Warmup: 300, Draws: 1000, Seed: 1}}
		fit := must.Get(dpreg.Infer(t.Context(), []dpreg.Custodian{{Name: "first", Release: pair[0]}, {Name: "second", Release: pair[1]}}, o))(t)
		for k, p := range fit.Summary(dpreg.Original, 0.95).Parameters[:3] {
			estimate, se := glm[model.Binomial][k][0], glm[model.Binomial][k][1]
			if !(math.Abs(p.Mean-estimate) < 0.3*se && math.Abs(p.SD/se-1) < 0.15) {
				t.Errorf("%s: %s is %v ± %v, by glm %v ± %v", name, p.Label, p.Mean, p.SD, estimate, se)
			}
		}
	}
}

// TestFamilyWithoutFactor is that of a release by the levels of a factor that the model lacks, at an ε so large that there is no
// noise to speak of.
func TestFamilyWithoutFactor(t *testing.T) {
	testsize.Full(t, "TestFamilyIsGLMWithoutNoise has a family of one release, and TestByLevelIsLeastSquaresWithoutNoise one without the factor")
	d := design01(schema.Column{Name: "sex", Upper: 1, Type: "boolean"}, schema.Column{Name: "age", Upper: 100}, schema.Column{Name: "educ", Lower: 1, Upper: 16})
	var flat []float64
	for _, row := range read01(t, "testdata/pums.csv", "sex", "age", "educ", "married") {
		flat = append(flat, 2*row[0]-1, row[1]/50-1, (row[2]-8.5)/7.5, 2*row[3]-1)
	}
	r := must.Get(publishGrouped(t, &d, flat, "sex", 1, replaced(300), rand.New(rand.NewPCG(7, 10))).Select("y ~ age + educ"))(t)
	for k, p := range inferFamily(t, r, dpreg.Options{Family: model.Binomial}).Summary(dpreg.Original, 0.95).Parameters[:3] {
		if estimate, se := glm[model.Binomial][k][0], glm[model.Binomial][k][1]; !(math.Abs(p.Mean-estimate) < 0.5*se && math.Abs(p.SD/se-1) < 0.12) {
			t.Errorf("%s is %v ± %v, by glm %v ± %v", p.Label, p.Mean, p.SD, estimate, se)
		}
	}
}

// glmByRace are those of glm(married ~ race + age, …) and of glm(educ ~ race + age, quasipoisson, …), race of the levels 1, 2, 3 and
// all others together, by R 4.2.2.
var glmByRace = map[model.Family][5][2]float64{
	model.Binomial: {{-0.8827666287, 0.2082527056}, {-0.9215062296, 0.2714605541}, {0.0656801460, 0.1579535790}, {0.3501165151, 0.2164643347}, {0.0245233339, 0.0039951309}},
	model.Probit:   {{-0.5284167337, 0.1278140648}, {-0.5694075045, 0.1650894969}, {0.0331407070, 0.0979791887}, {0.2075421401, 0.1332360571}, {0.0147751517, 0.0024192646}},
	model.Poisson:  {{2.4741264700, 0.0313156356}, {-0.1255470972, 0.0406425364}, {-0.4206120386, 0.0270516178}, {-0.0337914757, 0.0319624171}, {-0.0016352623, 0.0005924895}},
}

// TestFamilyByLevelIsGLMWithoutNoise is TestFamilyIsGLMWithoutNoise of a release by the levels of a factor, at an ε so large that
// there is no noise to speak of, under a prior that says little of levels.
func TestFamilyByLevelIsGLMWithoutNoise(t *testing.T) {
	testsize.Full(t, "TestFamilyByResponseIsGLMWithoutNoise and TestCellsAreMaximumLikelihood have sums by levels")
	for of, want := range glmByRace {
		d, response := design01(schema.Column{Name: "age", Upper: 100}), "married"
		if of == model.Poisson {
			d.Response.Upper, response = 30, "educ"
		}
		d.Factors = []schema.Factor{{Name: "race", Levels: []string{"1", "2", "3", "4"}}}
		for _, level := range d.Factors[0].Levels[1:] {
			d.Covariates = append(d.Covariates, schema.Column{Name: "race" + level, Upper: 1, Factor: "race", Level: level})
		}
		leveled, _, err := release.LevelsFirst(&d, "race")
		must.Do(t, err)
		var flat []float64
		for _, row := range read01(t, "testdata/pums.csv", "race", "age", response) {
			for level := 2.0; level < 5; level++ {
				dummy := -1.0
				if min(row[0], 4) == level {
					dummy = 1
				}
				flat = append(flat, dummy)
			}
			flat = append(flat, row[1]/50-1, 2*row[2]/d.Response.Upper-1)
		}
		r := publishGrouped(t, leveled, flat, "race", 1, replaced(200), rand.New(rand.NewPCG(6, 10)))
		for k, p := range inferFamily(t, r, dpreg.Options{Family: of, Prior: of.BoxPrior(model.Shape{P: 4, Intercept: true}), Plan: mcmc.Plan{Chains: 2, Warmup: 300, Draws: 600}}).Summary(dpreg.Original, 0.95).Parameters[:5] {
			if p.Price == nil || math.Abs(*p.Price-1) > 0.1 {
				t.Errorf("%s: the price of no noise of %s is %v", of, p.Label, p.Price)
			}
			if estimate, se := want[k][0], want[k][1]; !(math.Abs(p.Mean-estimate) < 0.5*se && math.Abs(p.SD/se-1) < 0.12) {
				t.Errorf("%s: %s is %v ± %v, by glm %v ± %v", of, p.Label, p.Mean, p.SD, estimate, se)
			}
		}
	}
}

// TestFamilyOfCustodians has three custodians of unequal rows, in boxes of their own and without noise: their
// posterior is that of all rows together, whether each has a law of the covariates of its own or not. Two
// estimates from the same rows, of which only how the covariates' law is used differs, from draws worth 200
// at least.
func TestFamilyOfCustodians(t *testing.T) {
	testsize.Full(t, "TestJointFamilySBC of package exact has the law")
	for _, of := range model.Families() {
		rng := rand.New(rand.NewPCG(5, 9))
		all := design01(schema.Column{Name: "u", Lower: -6, Upper: 6}, schema.Column{Name: "v", Lower: -6, Upper: 6})
		if of == model.Poisson {
			all.Response.Upper = 8
		}
		var rows [][]float64
		var custodians []dpreg.Custodian
		for j, n := range []int{300, 700, 2000} {
			d := all
			wide := 5 + 0.5*float64(j)
			d.Covariates = []schema.Column{{Name: "u", Lower: -wide, Upper: 6}, {Name: "v", Lower: -6, Upper: wide}}
			r := sumsOf01(d, n, func(row []float64) {
				row[0] = rng.NormFloat64()
				row[1] = 0.5*row[0] + rng.NormFloat64()
				row[2] = of.Draw(-0.3+0.6*row[0]-0.4*row[1], d.Response.Upper, rng)
				rows = append(rows, slices.Clone(row))
			})
			r.Noise.Scale = 0.1 // a twentieth of what the choice of rows adds
			custodians = append(custodians, dpreg.Custodian{Name: strconv.Itoa(j), Release: r})
		}
		at := 0
		plan := mcmc.Plan{Chains: 2, Warmup: 300, Draws: 1000}
		whole := inferFamily(t, sumsOf01(all, len(rows), func(row []float64) { copy(row, rows[at]); at++ }), dpreg.Options{Family: of, Plan: plan})
		want := whole.Summary(dpreg.Original, 0.95).Parameters
		for _, covariates := range []string{dpreg.SharedCovariates, dpreg.SeparateCovariates} {
			fit := must.Get(dpreg.Infer(t.Context(), custodians, dpreg.Options{Family: of, Covariates: covariates, Plan: plan}))(t)
			s := fit.Summary(dpreg.Original, 0.95)
			for k, p := range s.Parameters[:3] {
				if !(math.Abs(p.Mean-want[k].Mean) < 0.25*want[k].SD && math.Abs(p.SD/want[k].SD-1) < 0.15) {
					t.Errorf("%s, covariates %s: %s is %v ± %v, of all rows %v ± %v", of, covariates, p.Label, p.Mean, p.SD, want[k].Mean, want[k].SD)
				}
			}
			if shared := covariates == dpreg.SharedCovariates; (s.Parameters[1].Price != nil) != shared || shared && math.Abs(*s.Parameters[1].Price-1) > 0.15 {
				t.Errorf("%s, covariates %s: the price is %v", of, covariates, s.Parameters[1].Price)
			}
		}
	}
}

// TestFamilyCheck checks rows that are of the family, and counts whose variance λ + λ² is twice Poisson's at a mean of 1, so that
// E λ + E λ² over E λ is 2.19: nothing speaks against them, and their dispersion is told.
func TestFamilyCheck(t *testing.T) {
	testsize.Full(t, "TestCheckFinds checks, and TestFamilyIsGLMWithoutNoise has the law")
	column := schema.Column{Name: "x", Lower: -5, Upper: 5}
	for _, of := range []model.Family{model.Binomial, "twice", model.Poisson} {
		d, rng := design01(column), rand.New(rand.NewPCG(2, 9))
		law, wide := of, 0.0
		if law == "twice" {
			law, wide = model.Poisson, math.Sqrt(math.Ln2) // of E exp(2e) = 2 (E exp(e))²
		}
		if law == model.Poisson {
			d.Response.Upper = 15
		}
		r := sumsOf01(d, 6000, func(row []float64) {
			row[0] = rng.NormFloat64()
			row[1] = law.Draw(-0.2+0.5*row[0]+wide*rng.NormFloat64()-0.5*wide*wide, d.Response.Upper, rng)
		})
		r.Noise.Scale = 2
		fit := must.Get(dpreg.Infer(t.Context(), []dpreg.Custodian{{Release: r}}, dpreg.Options{Family: law, Plan: mcmc.Plan{Chains: 2, Warmup: 300, Draws: 200}}))(t)
		got := must.Get(check.Fit(t.Context(), fit, check.Options{}))(t)
		for _, b := range got.Releases[0].Blocks {
			if b.P < 0.2 {
				t.Errorf("%s: p of %s is %v", of, b.Name, b.P)
			}
		}
		if i := fit.Draws(dpreg.Scaled).Index("dispersion"); (i >= 0) != (law == model.Poisson) {
			t.Errorf("%s: the dispersion is column %d", of, i)
		} else if i >= 0 {
			want := 1.0
			if wide > 0 {
				want = 2.19
			}
			if mean := fit.Summary(dpreg.Scaled, 0.95).Parameters[i].Mean; math.Abs(mean/want-1) > 0.15 {
				t.Errorf("%s: a dispersion of %v, %v expected", of, mean, want)
			}
		}
	}
}

func read01(t *testing.T, path string, columns ...string) (rows [][]float64) {
	t.Helper()
	file := must.Get(os.Open(path))(t)
	defer file.Close()
	cells := must.Get(csv.NewReader(file).ReadAll())(t)
	for _, line := range cells[1:] {
		var row []float64
		for _, name := range columns {
			for at, header := range cells[0] {
				if header == name {
					v := must.Get(strconv.ParseFloat(line[at], 64))(t)
					row = append(row, v)
				}
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// TestFamilyRefuses looks at what cannot be, and the way out.
func TestFamilyRefuses(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 10))
	draw := func(row []float64) {
		row[0], row[1] = rng.Float64(), float64(rng.IntN(2))
	}
	d := design01(schema.Column{Name: "x", Upper: 1})
	good := sumsOf01(d, 300, draw)
	between := sumsOf01(d, 300, func(row []float64) { draw(row); row[1] = 0.5 })
	wide := sumsOf01(schema.Design{Intercept: true, Covariates: d.Covariates, Response: schema.Column{Name: "y", Upper: 2}}, 300, draw)
	few := sumsOf01(d, 4, draw)
	counts := func(most float64) *release.Release {
		return sumsOf01(schema.Design{Intercept: true, Covariates: d.Covariates, Response: schema.Column{Name: "y", Upper: most}}, 300, draw)
	}
	normal := must.Get(model.Normal.DefaultPrior(&d, good))(t)
	for _, c := range []struct {
		says     string
		releases []*release.Release
		o        dpreg.Options
	}{
		{"tells of values between", []*release.Release{between}, dpreg.Options{Family: model.Binomial}},
		{"has the bounds 0:2", []*release.Release{wide}, dpreg.Options{Family: model.Probit}},
		{"1: family poisson takes counts that are clamped at one bound", []*release.Release{counts(9), counts(12)}, dpreg.Options{Family: model.Poisson}},
		{"1: family binomial is of whole numbers", []*release.Release{good, between}, dpreg.Options{Family: model.Binomial}},
		{"at least 5 rows", []*release.Release{few}, dpreg.Options{Family: model.Binomial}},
		{"mcmc-exact has the family", []*release.Release{good}, dpreg.Options{Family: model.Binomial, Method: "gibbs-ss-update"}},
		{"mcmc-exact has the family", []*release.Release{good}, dpreg.Options{Family: model.Binomial, Method: "mcmc-ind"}},
		{"no family \"gamma\"", []*release.Release{good}, dpreg.Options{Family: "gamma"}},
		{"on its link's scale", []*release.Release{good}, dpreg.Options{Family: model.Binomial, Prior: normal}},
	} {
		var custodians []dpreg.Custodian
		for i, r := range c.releases {
			custodians = append(custodians, dpreg.Custodian{Name: strconv.Itoa(i), Release: r})
		}
		must.Fail(t, dpreg.Can(custodians, c.o), c.says)
	}
}

// Custodians of counts whose covariates differ have the same coefficients as where they share a law, and so do those of
// truth values: a column of 0 and 1 is anchored at the dispersion of the counts (it was at 0: every coefficient was NaN).
func TestCovariatesApart(t *testing.T) {
	for family, top := range map[model.Family]float64{model.Poisson: 10, model.Binomial: 1} {
		d := schema.Design{Intercept: true, Covariates: []schema.Column{{Name: "b", Upper: 1}, {Name: "x", Lower: -4, Upper: 4}}, Response: schema.Column{Name: "y", Upper: top}}
		rng := rand.New(rand.NewPCG(1, 1))
		var all []dpreg.Custodian
		for _, name := range []string{"a", "b"} {
			r := sumsOf01(d, 1000, func(row []float64) {
				row[0] = float64(rng.IntN(2))
				row[1] = max(-4, min(4, rng.NormFloat64()+row[0]))
				row[2] = family.Draw(0.1+0.5*row[0]+0.3*row[1], top, rng)
			})
			r.Noise.Scale = 2
			all = append(all, dpreg.Custodian{Name: name, Release: r})
		}
		var fits [2][]posterior.Parameter
		for i, covariates := range []string{dpreg.SeparateCovariates, dpreg.SharedCovariates} {
			o := dpreg.Options{Family: family, Covariates: covariates, Plan: mcmc.Plan{Chains: 2, Warmup: 300, Draws: 600, Seed: 1}}
			fits[i] = must.Get(dpreg.Infer(t.Context(), all, o))(t).Summary(dpreg.Original, 0.95).Parameters
		}
		for k, apart := range fits[0][:3] {
			shared := fits[1][k]
			if !(math.Abs(apart.Mean-shared.Mean) < 0.4*shared.SD && math.Abs(math.Log(apart.SD/shared.SD)) < 0.3) {
				t.Errorf("%v: %s is %.3f ± %.3f apart, and %.3f ± %.3f shared", family, apart.Name, apart.Mean, apart.SD, shared.Mean, shared.SD)
			}
		}
	}
}
