package model

import (
	"encoding/csv"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/number"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// shape is a row of strong.csv: the sums of rows whose three covariates have a law, and the slopes of maximum likelihood.
type shape struct {
	family Family
	law    string
	mean   float64       // ȳ
	cov    *mat.SymDense // of x
	withY  *mat.VecDense
	slopes []float64
}

func readShapes(t *testing.T) (all []shape) {
	t.Helper()
	file := must.Get(os.Open("testdata/strong.csv"))(t)
	defer file.Close()
	rows := must.Get(csv.NewReader(file).ReadAll())(t)
	for _, row := range rows[1:] {
		var v []float64
		for _, cell := range row[2:] {
			x := must.Get(strconv.ParseFloat(cell, 64))(t)
			v = append(v, x)
		}
		all = append(all, shape{Family(row[0]), row[1], v[1], mat.NewSymDense(3, []float64{v[2], v[3], v[4], v[3], v[6], v[7], v[4], v[7], v[9]}),
			mat.NewVecDense(3, []float64{v[5], v[8], v[10]}), v[11:]})
	}
	return all
}

// byNormalLaw returns the slopes by the law of normal x, which are along Σ⁻¹Cov(x, y) and such that E g(η̄ + sv) is ȳ and
// E g(η̄ + sv)v is h, s and w there.
func (o *shape) byNormalLaw() (b []float64, s, w float64) {
	var along mat.VecDense
	along.SolveVec(o.cov, o.withY)
	h := math.Sqrt(mat.Dot(&along, o.withY))
	most := 1.0
	if o.family == Poisson {
		most = 20
	}
	m := NewAlong(o.family.Moments(most), most)
	s, _ = number.Bisect(0, 20, func(s float64) bool {
		number.Bisect(-20, 20, func(eta float64) bool { m.Set(eta, s); return m.M[0] < o.mean })
		return m.M[1] < h
	})
	for j := range 3 {
		b = append(b, along.AtVec(j)*s/h)
	}
	return b, s, o.family.Doubt(s, m.N[1]/(s*m.N[0]))
}

// TestDoubtOfShapes: of x of many laws, intervals of the doubt alone, as if there were no noise and no choice of rows,
// hold nine slopes in ten where these are strong, of counts wherever they are not 0. Half the doubt would hold eight.
// Normal x have no error.
func TestDoubtOfShapes(t *testing.T) {
	type count struct{ all, held, half float64 }
	counts := map[string]*count{"binomial": {}, "poisson": {}, "a rare y": {}}
	holds := func(off, w float64) (held float64) {
		if math.Abs(off+0.5*w*w) < 1.96*w {
			held = 1
		}
		return held
	}
	for _, o := range readShapes(t) {
		b, s, w := o.byNormalLaw()
		for j, truth := range o.slopes {
			off, rare := math.Log(truth/b[j]), strings.HasSuffix(o.law, "rare y")
			if math.Abs(truth) < 0.05 || o.family == Binomial && s < 0.7 && !rare {
				continue
			}
			if strings.HasPrefix(o.law, "normal") && !strings.Contains(o.law, "each") && !(math.Abs(off) < 0.03) {
				t.Errorf("%s of normal x, η of sd %.2g: a slope is %v, of maximum likelihood %v", o.family, s, b[j], truth)
			}
			of := string(o.family)
			if rare {
				of = "a rare y"
			}
			c := counts[of]
			c.all, c.held, c.half = c.all+1, c.held+holds(off, w), c.half+holds(off, 0.5*w)
		}
	}
	for of, c := range counts {
		if !(c.all > 80 && c.held > 0.9*c.all && c.half < 0.85*c.all) {
			t.Errorf("%s: of %v slopes %v are held, and by half the doubt %v", of, c.all, c.held, c.half)
		}
	}
}

// TestDoubtTurns: slopes keep their mean, and have the doubt's spread; what is not doubted stays, dummies and η in the middle of x.
func TestDoubtTurns(t *testing.T) {
	of := Shape{P: 3, Intercept: true}
	x := NewParams(of)
	copy(x.MuX, []float64{-0.2, 0.3, -0.5})
	for j, v := range []float64{0.9, 0.2, 0.3} {
		x.Tau[j*3+j] = v
	}
	b := []float64{0.5, 0.7, 2, -3}
	copy(x.Theta, b)
	r := &release.Release{N: 100, Schema: schema.Design{Covariates: []schema.Column{{Name: "fb", Upper: 1, Factor: "f", Level: "b"}, {Name: "u"}, {Name: "v"}}, Intercept: true},
		Statistics: release.StatisticsFromVector(4, make([]float64, release.Length(4))), Levels: &release.Levels{Factor: "f", Sums: make([][]float64, 2)}}
	d := NewDoubt(Binomial, r)
	const draws = 2000
	mean, square, s, w := 0.0, 0.0, 0.0, 0.0
	for range draws {
		theta := slices.Clone(b)
		s, w = d.Next(theta, x)
		factor := theta[2] / b[2]
		mean += factor / draws
		square += math.Log(factor) * math.Log(factor) / draws
		if eta := theta[0] + floats.Dot(theta[1:], x.MuX); theta[1] != b[1] || math.Abs(theta[3]-factor*b[3]) > 1e-12 || math.Abs(eta-b[0]-floats.Dot(b[1:], x.MuX)) > 1e-12 {
			t.Fatalf("%v becomes %v", b, theta)
		}
		again := slices.Clone(b)
		if d.Again(again, x); !slices.Equal(again, theta) {
			t.Fatalf("a custodian's are %v, those of all %v", again, theta)
		}
	}
	if want := math.Sqrt(0.2*4 + 0.3*9); !(math.Abs(s-want) < 1e-9) {
		t.Errorf("the sd of η is %v, not %v", s, want)
	}
	if sd := math.Sqrt(square - 0.25*w*w*w*w); !(math.Abs(mean-1) < 0.002 && math.Abs(sd/w-1) < 0.01) {
		t.Errorf("factors have the mean %v and on the log scale the sd %v, not %v", mean, sd, w)
	}
}
