package ssp

import (
	"fmt"
	"math"
	"math/big"
	"reflect"
	"slices"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

func mustCount(t testing.TB, columns int, rows ...[]float64) *Magnitudes {
	t.Helper()
	h := NewMagnitudes(columns)
	for _, row := range rows {
		must.Do(t, h.Add(row))
	}
	return h
}

func TestBin(t *testing.T) {
	up := func(x float64) float64 { return math.Nextafter(x, math.Inf(1)) }
	const none = -99
	for _, c := range []struct {
		x    float64
		edge int // exponent of the outer edge
	}{
		{1, 0}, {up(1), 1}, {2, 1}, {3, 2}, {4, 2}, {up(4), 3}, {0.5, -1}, {up(0.5), 0}, {0.3, -1},
		{0x1p-30, -30}, {up(0x1p-30), -29}, {0x1p-31, -30}, {5e-324, -30}, {1e-300, -30},
		{0x1p60, 60}, {up(0x1p60), 60}, {1e300, 60}, {math.Inf(1), 60}, {0x1p59, 59}, {up(0x1p59), 60},
		{0, none}, {math.NaN(), none},
	} {
		for _, sign := range []float64{1, -1} {
			i, ok := bin(sign * c.x)
			want := c.edge - minExponent
			if sign < 0 {
				want += perSign
			}
			if ok != (c.edge != none) || ok && i != want {
				t.Errorf("%v: bin %d, %v, want %d", sign*c.x, i, ok, want)
			}
		}
	}
}

// A search over rows of a value in every bin, and in none, in each of K columns:
// exchanging a row never moves the counts by more than the sensitivity, adding one
// neither, and both are attained.
func TestSensitivityOfMagnitudes(t *testing.T) {
	values := []float64{0, math.NaN(), math.Inf(1), math.Inf(-1)}
	for e := minExponent; e <= maxExponent; e += 5 {
		values = append(values, math.Ldexp(0.75, e), -math.Ldexp(1, e))
	}
	for columns, grid := range map[int][]float64{1: values, 2: values[:14], 3: values[:6]} {
		rows := [][]float64{{}}
		for range columns {
			var longer [][]float64
			for _, row := range rows {
				for _, v := range grid {
					longer = append(longer, append(row[:len(row):len(row)], v))
				}
			}
			rows = longer
		}
		largest := map[release.Neighbours]int64{}
		empty := NewMagnitudes(columns)
		for i, a := range rows {
			first := mustCount(t, columns, a)
			largest[release.AddRemove] = max(largest[release.AddRemove], apart(first, empty))
			for _, b := range rows[:i] {
				largest[release.ReplaceOne] = max(largest[release.ReplaceOne], apart(first, mustCount(t, columns, b)))
			}
		}
		for nb, got := range largest {
			if want := BoundsSensitivity(columns, nb); want.Cmp(big.NewRat(got, 1)) != 0 {
				t.Errorf("%d columns, %s: the counts are %d apart, the sensitivity is %s", columns, nb, got, want)
			}
		}
	}
}

// apart is the L1 distance of two histograms.
func apart(a, b *Magnitudes) (sum int64) {
	for j := range a.count {
		for i, n := range a.count[j] {
			sum += max(n-b.count[j][i], b.count[j][i]-n)
		}
	}
	return sum
}

func TestBounds(t *testing.T) {
	const many = 400
	column := func(values ...float64) *Magnitudes {
		h := NewMagnitudes(1)
		for i := range many * len(values) {
			must.Do(t, h.Add(values[i/many:i/many+1]))
		}
		return h
	}
	for _, c := range []struct {
		values       []float64
		lower, upper float64
	}{
		{[]float64{3}, 0, 4},
		{[]float64{-3}, -4, 0},
		{[]float64{-100, 0, 1000}, -128, 1024},
		{[]float64{0, 1}, 0, 1},
		{[]float64{0}, -InnermostBound, InnermostBound},
		{[]float64{math.NaN()}, -InnermostBound, InnermostBound},
		{[]float64{1e-30}, 0, InnermostBound},
		{[]float64{1e30, -1e-3}, -0x1p-9, 0x1p60},
	} {
		got, err := column(c.values...).Bounds([]string{"x"}, 1, release.ReplaceOne, seeded(5))
		if want := (schema.Bounds{{Name: "x", Lower: c.lower, Upper: c.upper}}); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%v: %v, %v, want %v", c.values, got, err, want)
		}
		if math.Signbit(got[0].Lower) && got[0].Lower == 0 {
			t.Errorf("%v: the lower bound is -0", c.values)
		}
	}
	h := column(1)
	for _, text := range []string{fmt.Sprint(h), fmt.Sprintf("%+v", *h), fmt.Sprintf("%d", h)} {
		if h.N() != many || text != "ssp: withheld" {
			t.Errorf("%d rows: %s", h.N(), text)
		}
	}
	h.n = MaxRows
	if err := h.Add([]float64{1}); err == nil || h.count[0][-minExponent] != many {
		t.Error("more than MaxRows rows are counted")
	}
}

// Every count of a histogram, with rows in its bin or without, has noise of its own,
// of the law that CalibrateBounds states: distances of Kolmogorov and Smirnov, at
// 1e-6 each (√n·D > 2.7; less often for a discrete law); and the signs of neighbouring
// counts agree as often as not, within 5 standard deviations (6e-7).
func TestNoiseOfEveryCount(t *testing.T) {
	if fault := faultOfNoise(t, 1); fault != "" {
		t.Error(fault)
	}
	if fault := faultOfNoise(t, 0.7); fault == "" {
		t.Error("noise of 0.7 times the scale passes")
	}
}

func faultOfNoise(t *testing.T, factor float64) string {
	const columns, histograms = 4, 30
	h := NewMagnitudes(columns)
	for i := range 5000 {
		x := math.Ldexp(1, minExponent+i%perSign)
		must.Do(t, h.Add([]float64{x, -x, 1, math.NaN()}))
	}
	c := must.Get(CalibrateBounds(columns, 0.1, release.ReplaceOne))(t)
	if c.Scale.Cmp(big.NewRat(80, 1)) != 0 {
		t.Fatalf("scale %s, want 2·4/0.1", c.Scale)
	}
	law := discreteLaplace(80)
	c.Scale.Mul(c.Scale, new(big.Rat).SetFloat64(factor))
	noise := map[bool][]float64{} // by whether there are rows
	agree, e := 0., seeded(23)
	for range histograms {
		z := must.Get(h.noisy(c, e))(t)
		before := 0.
		for k, v := range z {
			n := h.count[k/binsAColumn][k%binsAColumn]
			x := float64(v.Int64() - n)
			noise[n > 0] = append(noise[n > 0], x)
			if x*before != 0 {
				agree += math.Copysign(1, x*before)
			}
			before = x
		}
	}
	if n := float64(len(noise[true]) + len(noise[false])); math.Abs(agree) > 5*math.Sqrt(n) {
		return fmt.Sprintf("signs of neighbouring counts agree %v times more often than not", agree)
	}
	for rows, x := range noise {
		if d, limit := discreteDistance(x, law), 2.7/math.Sqrt(float64(len(x))); d > limit {
			return fmt.Sprintf("counts with rows (%v): distance %.4f from the law stated, limit %.4f", rows, d, limit)
		}
	}
	return ""
}

// discreteLaplace is the distribution function of the law of scale b: 1 - q^(k+1)/(1+q)
// for k ≥ 0 and q^-k/(1+q) below.
func discreteLaplace(b float64) func(k float64) float64 {
	q := math.Exp(-1 / b)
	return func(k float64) float64 {
		if k < 0 {
			return math.Pow(q, -k) / (1 + q)
		}
		return 1 - math.Pow(q, k+1)/(1+q)
	}
}

// discreteDistance is the largest distance between the empirical distribution of
// integers, which it sorts, and the law of that distribution function.
func discreteDistance(x []float64, cdf func(k float64) float64) (d float64) {
	slices.Sort(x)
	n := float64(len(x))
	for i, k := range x {
		if i == 0 || x[i-1] < k {
			d = max(d, math.Abs(float64(i)/n-cdf(k-1)))
		}
		if i == len(x)-1 || x[i+1] > k {
			d = max(d, math.Abs(float64(i+1)/n-cdf(k)))
		}
	}
	return d
}
