package posterior

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
)

// sameBits compares draws, NaN being equal to NaN.
func sameBits(a, b []float64) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if math.Float64bits(a[i]) != math.Float64bits(b[i]) && !(math.IsNaN(a[i]) && math.IsNaN(b[i])) {
			return false
		}
	}
	return true
}

// What WriteStanCSV writes comes back to the last bit.
func TestStanCSVComesBack(t *testing.T) {
	d := autoregression(2, 50, 3, 0.5, 6)
	d.Names = []string{"theta[1]", "theta[2]", "tau[2,1]"}
	d.Chains[0][4], d.Chains[1][5] = math.Inf(-1), 5e-324
	d.InfoNames, d.Info = []string{"lp__"}, [][]float64{make([]float64, 50), make([]float64, 50)}
	d.Info[0][3] = math.NaN()
	d.Warmup = 17
	var chains []*Draws
	for c := range 2 {
		var out bytes.Buffer
		must.Do(t, d.WriteStanCSV(&out, c, []string{"units = original", "label: theta[1] is num_samples = 3"}))
		got, comments, err := ReadStanCSV(&out, "draws.csv")
		must.Do(t, err)
		if comments[0] != "units = original" || comments[1] != "label: theta[1] is num_samples = 3" {
			t.Errorf("comments %q", comments)
		}
		chains = append(chains, got)
	}
	got := must.Get(Bind(chains...))(t)
	// The lone element of an array has the index 1 in Stan, whatever it had here.
	want := []string{"theta[1]", "theta[2]", "tau[1,1]"}
	if !reflect.DeepEqual(got.Names, want) || !reflect.DeepEqual(got.InfoNames, d.InfoNames) || got.Warmup != 17 {
		t.Errorf("names %q, sampler's %q, warm-up %d", got.Names, got.InfoNames, got.Warmup)
	}
	for c := range 2 {
		if !sameBits(got.Chains[c], d.Chains[c]) || !sameBits(got.Info[c], d.Info[c]) {
			t.Errorf("chain %d is another", c)
		}
	}
}

// The layout of CmdStan 2.33, cut to the lines that matter.
func TestStanCSVOfCmdStan(t *testing.T) {
	const text = `# stan_version_major = 2
#     num_samples = 5
#     num_warmup = 1000 (Default)
#     save_warmup = false (Default)
#     thin = 2
lp__,accept_stat__,theta.1,y_rep.1.2
# Adaptation terminated
# Step size = 0.93
-7.1,1,0.25,-3e-05
-6.8,0.9,0.31,inf
-6.9,nan,0.28,1
# 
#  Elapsed Time: 0.005 seconds (Warm-up)
`
	d, comments, err := ReadStanCSV(strings.NewReader(text), "x.csv")
	must.Do(t, err)
	if len(comments) != 5 || d.Warmup != 1000 || d.NumDraws() != 3 || d.Names[1] != "y_rep[1,2]" || !math.IsInf(d.Chains[0][3], 1) {
		t.Errorf("%d comments, %+v", len(comments), d)
	}
}

func TestReadStanCSVRefuses(t *testing.T) {
	long := "a\n" + strings.Repeat("1", longestLine+1) + "\n"
	for _, c := range []struct{ text, want string }{
		{"", "x.csv: there is no header"},
		{"# a\n", "x.csv: there is no header"},
		{"lp__\n1\n", "names no parameter"},
		{"a,b\n", "x.csv: there are no draws"},
		{"a,b\n1,2\n1\n", "x.csv:3: 1 fields where the header has 2"},
		{"a,b\n1,2,3\n", "x.csv:2: 3 fields"},
		{"a,b\n1,\n", "x.csv:2: column 2: \"\" is no number"},
		{"a\n0x1p3\n", "is no number"},
		{"a\n1_0\n", "is no number"},
		{"a\nInfinity\n", "is no number"},
		{"a\n1e999\n", "is no number"},
		{"a\n 1\n", "is no number"},
		{"a,a\n1,2\n", "x.csv:1: two columns"},
		{"a.1,a[1]\n1,2\n", "two columns"},
		{"a,\n1,2\n", "no name of a column"},
		{"1,2\n3,4\n", "x.csv:1: the header is missing"},
		{"a\n1\n\n2\n", "x.csv:3: the line is empty"},
		{"a\n1\n0.12", "x.csv:3: the last line has no end"},
		{"# num_samples = 3\na\n1\n2\n", "it has 2 draws, and its comments promise 3"},
		{"# save_warmup = 1\na\n1\n", "warm-up was saved"},
		{long, "x.csv:2: a line is longer"},
	} {
		_, _, err := ReadStanCSV(strings.NewReader(c.text), "x.csv")
		must.Fail(t, err, c.want)
	}
}

func TestBindRefuses(t *testing.T) {
	a, b, c := autoregression(1, 5, 1, 0.5, 1), autoregression(1, 6, 1, 0.5, 1), autoregression(1, 5, 1, 0.5, 1)
	a.Names, b.Names, c.Names = []string{"a"}, []string{"a"}, []string{"c"}
	for _, parts := range [][]*Draws{nil, {a, b}, {a, c}} {
		if _, err := Bind(parts...); err == nil {
			t.Errorf("%d parts were bound", len(parts))
		}
	}
}

// Whatever is read has the shape it claims, and comes back when written.
func FuzzReadStanCSV(f *testing.F) {
	for _, seed := range []string{
		"# num_samples = 1\nlp__,theta.1\n1,2\n", "a,b\n1,NaN\n-Inf,3e5\n", "a\r\n1\r\n", "theta.2,theta.1\n1,2\n", "a..1\n1\n", "x.01\n5\n",
		"# thin = 0\n# num_samples = 9999999999\na\n1\n", "a\n1", "\n", "#",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, _, err := ReadStanCSV(strings.NewReader(text), "x.csv")
		if err != nil {
			if !strings.HasPrefix(err.Error(), "x.csv:") {
				t.Fatalf("error %q", err)
			}
			return
		}
		n := d.NumDraws()
		if n < 1 || len(d.Chains[0]) != n*len(d.Names) || len(d.Info[0]) != n*len(d.InfoNames) {
			t.Fatalf("%d draws of %d parameters, %d numbers", n, len(d.Names), len(d.Chains[0]))
		}
		// Names of one's own are not changed by writing.
		for j := range d.Names {
			d.Names[j] = fmt.Sprintf("v%d", j)
		}
		var out bytes.Buffer
		must.Do(t, d.WriteStanCSV(&out, 0, nil))
		again, _, err := ReadStanCSV(&out, "x.csv")
		must.Do(t, err)
		if !sameBits(again.Chains[0], d.Chains[0]) {
			t.Fatalf("%v became %v", d.Chains[0], again.Chains[0])
		}
	})
}
