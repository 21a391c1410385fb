package posterior

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// autoregression returns draws of parameters that follow AR(1) processes of
// coefficient rho and variance 1.
func autoregression(chains, n, parameters int, rho float64, seed uint64) *Draws {
	d := &Draws{Chains: make([][]float64, chains)}
	for j := range parameters {
		d.Names = append(d.Names, fmt.Sprintf("x[%d]", j+1))
	}
	for c := range d.Chains {
		rng := rand.New(rand.NewPCG(seed, uint64(c)))
		rows := make([]float64, n*parameters)
		step := math.Sqrt(1 - rho*rho)
		for i := range rows {
			if i < parameters {
				rows[i] = rng.NormFloat64()
			} else {
				rows[i] = rho*rows[i-parameters] + step*rng.NormFloat64()
			}
		}
		d.Chains[c] = rows
	}
	return d
}

func twoChains() *Draws {
	return &Draws{
		Names:     []string{"theta[0]", "theta[1]"},
		Chains:    [][]float64{{1, 10, 2, 20, 3, 30}, {4, 40, 5, 50, 6, 60}},
		InfoNames: []string{"lp__"},
		Info:      [][]float64{{-1, -2, -3}, {-4, -5, -6}},
		Warmup:    7, Seconds: 0.5, Warnings: []string{"beware"},
	}
}

func TestDraws(t *testing.T) {
	d := twoChains()
	if d.NumChains() != 2 || d.NumDraws() != 3 || d.Index("theta[1]") != 1 || d.Index("sigma2") != -1 {
		t.Errorf("%d chains, %d draws, indices %d, %d", d.NumChains(), d.NumDraws(), d.Index("theta[1]"), d.Index("sigma2"))
	}
	if got, want := d.Column(1), [][]float64{{10, 20, 30}, {40, 50, 60}}; !reflect.DeepEqual(got, want) {
		t.Errorf("column 1 is %v", got)
	}
	mapped := d.Map([]string{"sum"}, func(dst, src []float64) { dst[0] = src[0] + src[1] })
	want := twoChains()
	want.Names, want.Chains = []string{"sum"}, [][]float64{{11, 22, 33}, {44, 55, 66}}
	if !reflect.DeepEqual(mapped, want) {
		t.Errorf("mapped %+v", mapped)
	}
	if empty := new(Draws); empty.NumChains() != 0 || empty.NumDraws() != 0 {
		t.Error("no draws are not empty")
	}
}

func TestQuantile(t *testing.T) {
	x := []float64{1, 2, 4, 8}
	for p, want := range map[float64]float64{0: 1, 0.25: 1.75, 0.5: 3, 0.9: 6.8, 1: 8} {
		if got := Quantile(x, p); math.Abs(got-want) > 1e-15*want {
			t.Errorf("quantile %v is %v, want %v", p, got, want)
		}
	}
	for _, p := range []float64{-0.1, 1.1, math.NaN()} {
		if !math.IsNaN(Quantile(x, p)) {
			t.Errorf("quantile %v exists", p)
		}
	}
	if !math.IsNaN(Quantile(nil, 0.5)) {
		t.Error("nothing has a median")
	}
	if got := Quantile([]float64{1, math.Inf(1), math.Inf(1)}, 0.75); !math.IsInf(got, 1) {
		t.Errorf("between infinities: %v", got)
	}
}

func TestOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var items []placed
	for name, draw := range map[string]func() float64{
		"normal":   rng.NormFloat64,
		"discrete": func() float64 { return math.Copysign(float64(rng.IntN(3)), rng.Float64()-0.5) },
		"wide":     func() float64 { return math.Ldexp(rng.NormFloat64(), rng.IntN(2000)-1000) },
		"narrow":   func() float64 { return 1 + float64(rng.IntN(9))*0x1p-52 },
		"outlier": func() float64 {
			return [...]float64{math.Inf(-1), math.Inf(1), 1 + rng.Float64()*0x1p-40}[min(2, rng.IntN(100))]
		},
	} {
		for _, n := range []int{0, 1, 2, 1000} {
			x := make([]float64, n)
			for i := range x {
				x[i] = draw()
			}
			want := slices.Sorted(slices.Values(x))
			items = order(items, x)
			for i, item := range items {
				if v := item.value; v != want[i] || v == 0 && math.Signbit(v) || x[item.place] != v {
					t.Fatalf("%s, %d: place %d holds %v from %v, want %v", name, n, i, v, x[item.place], want[i])
				}
			}
		}
	}
}

func TestAutocovarianceByTransformEqualsDirect(t *testing.T) {
	d := autoregression(3, 400, 1, 0.9, 2)
	var direct, fourier autocovariance
	x := slices.Concat(d.Chains...)
	means := []float64{mean(x[:400]), mean(x[400:800]), mean(x[800:])}
	direct.reset(slices.Clone(x), means)
	fourier.reset(slices.Clone(x), means)
	fourier.fourier()
	for lag := range 400 {
		if want, got := direct.direct(lag), fourier.at(lag); math.Abs(got-want) > 1e-13*direct.at(0) {
			t.Fatalf("lag %d: %v by transform, %v directly", lag, got, want)
		}
	}
}

func TestTransformSize(t *testing.T) {
	for n, want := range map[int]int{1: 2, 2: 2, 5: 6, 7: 8, 11: 12, 1999: 2048, 3000: 3072, 4097: 6144} {
		if got := transformSize(n); got != want {
			t.Errorf("size for %d is %d, want %d", n, got, want)
		}
	}
}

func TestMinESS(t *testing.T) {
	d := autoregression(4, 500, 3, 0.5, 3)
	for c := range d.Chains {
		for i := range 500 {
			d.Chains[c][3*i+2] = 7 // known
		}
	}
	want, at := math.Inf(1), -1
	for j := range 2 {
		if ess := min(Of(d.Column(j)).ESSBulk(), Of(d.Column(j)).ESSTail()); ess < want {
			want, at = ess, j
		}
	}
	for _, workers := range []int{0, 1, 8} {
		if ess, j := d.MinESS(workers); ess != want || j != at {
			t.Errorf("%d workers: %v of parameter %d, want %v of %d", workers, ess, j, want, at)
		}
	}
	d.Chains[1][5*3+1] = math.NaN()
	if ess, j := d.MinESS(2); ess != 0 || j != 1 {
		t.Errorf("with a NaN: %v of parameter %d", ess, j)
	}
	stuck := &Draws{Names: []string{"x"}, Chains: [][]float64{make([]float64, 500)}}
	if ess, j := stuck.MinESS(1); ess != 0 || j != -1 {
		t.Errorf("nothing moves: %v of parameter %d", ess, j)
	}
}

func TestStudyingAColumnDoesNotAllocate(t *testing.T) {
	d := autoregression(4, 1000, 2, 0.9, 4)
	var c Column
	study := func() {
		for j := range d.Names {
			c.loadFrom(d, j)
			c.minESS()
			c.RHat()
		}
	}
	study()
	if n := testing.AllocsPerRun(5, study); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestMinESSOfNearlyKnown: a whole number that has one value in nearly all draws, the largest, has the size of its bulk; draws
// that are not finite have none.
func TestMinESSOfNearlyKnown(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 5))
	d := &Draws{Names: []string{"n"}, Chains: make([][]float64, 4)}
	for k := range d.Chains {
		for range 1000 {
			n := 1000.0
			if rng.Float64() < 0.002 {
				n--
			}
			d.Chains[k] = append(d.Chains[k], n)
		}
	}
	if ess, at := d.MinESS(1); !(ess > 1000) || at != 0 {
		t.Errorf("the size is %v, of parameter %d", ess, at)
	}
	d.Chains[0][0] = math.Inf(1)
	if ess, _ := d.MinESS(1); ess != 0 {
		t.Errorf("draws that are not finite have the size %v", ess)
	}
}
