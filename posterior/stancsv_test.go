package posterior

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
)

func TestStanCSV(t *testing.T) {
	d := twoChains()
	d.InfoNames, d.Info = []string{"accept_stat__", "lp__"}, [][]float64{nil, {0.25, -4, 0.5, math.Inf(-1), 1, -6}}
	d.Chains[1][1] = 0.30000000000000004
	var out bytes.Buffer
	must.Do(t, d.WriteStanCSV(&out, 1, []string{"method = mine", "two\nlines"}))
	const want = `# method = mine
# two
# lines
# model = dpreg_model
# method = sample
# num_samples = 3
# num_warmup = 7
# save_warmup = 0
# thin = 1
# id = 2
lp__,accept_stat__,theta.1,theta.2
-4,0.25,4,0.30000000000000004
-Inf,0.5,5,50
-6,1,6,60
`
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
	if err := d.WriteStanCSV(failing{}, 1, nil); !errors.Is(err, errFull) {
		t.Errorf("a full disk is reported as %v", err)
	}
}

var errFull = errors.New("full")

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errFull }

func TestStanNames(t *testing.T) {
	for names, want := range map[string]string{
		"theta[0] theta[1] sigma2 sigma":            "theta.1 theta.2 sigma2 sigma",
		"theta[1] theta[2]":                         "theta.1 theta.2",
		"theta[0] mu_x[1] mu_x[2]":                  "theta.1 mu_x.1 mu_x.2",
		"tau[1,1] tau[1,2] tau[2,1] tau[2,2] sigma": "tau.1.1 tau.2.1 tau.1.2 tau.2.2 sigma",
		"a[0,1] a[0,2] a[0,3]":                      "a.1.1 a.1.2 a.1.3",
		"odd[x] open[1 plain":                       "odd[x] open[1 plain",
	} {
		var got []string
		for _, column := range stanColumns(strings.Fields(names)) {
			got = append(got, column.String())
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", names, got, want)
		}
	}
}

// FuzzStanNames: no name is lost, whatever it is.
func FuzzStanNames(f *testing.F) {
	for _, seed := range []string{"theta[0] theta[1]", "tau[1,2] tau[2,1]", "a[-1] a[ 2]", "a[] b] [1]", "a a[1] a[1,2]"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		names := strings.Fields(text)
		seen := make([]bool, len(names))
		for _, column := range stanColumns(names) {
			if seen[column.source] {
				t.Fatalf("column %d twice", column.source)
			}
			seen[column.source] = true
		}
		for j, s := range seen {
			if !s {
				t.Fatalf("column %d lost", j)
			}
		}
	})
}

// R reads the files and finds the same means and diagnostics.
func TestStanCSVIsReadByR(t *testing.T) {
	testsize.Full(t, "starts R")
	rscript, err := exec.LookPath("Rscript")
	if err == nil {
		err = exec.Command(rscript, "-e", `find.package("posterior")`).Run()
	}
	if err != nil {
		if os.Getenv("DPREG_REQUIRE_R") == "1" {
			t.Fatal("R with the package posterior is needed:", err)
		}
		t.Skip("R with the package posterior is not installed")
	}
	d := autoregression(2, 200, 3, 0.5, 6)
	d.Names = []string{"theta[0]", "theta[1]", "sigma2"}
	d.InfoNames, d.Info = []string{"lp__"}, [][]float64{make([]float64, 200), make([]float64, 200)}
	folder := t.TempDir()
	for chain := range 2 {
		var out bytes.Buffer
		must.Do(t, d.WriteStanCSV(&out, chain, []string{"labels: (Intercept), x"}))
		must.Do(t, os.WriteFile(filepath.Join(folder, fmt.Sprintf("%d.csv", chain+1)), out.Bytes(), 0o644))
	}
	const script = `suppressMessages(library(posterior))
x <- lapply(sort(commandArgs(TRUE)), read.csv, comment.char = "#")
stopifnot(identical(names(x[[1]]), c("lp__", "theta.1", "theta.2", "sigma2")))
d <- do.call(bind_draws, c(lapply(x, as_draws), along = "chain"))
s <- summarise_draws(subset_draws(d, variable = c("theta.1", "theta.2", "sigma2")), mean, rhat, ess_bulk, ess_tail)
cat(format(t(as.matrix(s[, -1])), digits = 15), sep = "\n")`
	out, err := exec.Command(rscript, "-e", script, filepath.Join(folder, "1.csv"), filepath.Join(folder, "2.csv")).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	fields := strings.Fields(string(out))
	if len(fields) != 12 {
		t.Fatalf("R says %s", out)
	}
	for j, p := range Summarise(d, DefaultLevel).Parameters {
		for k, got := range []float64{p.Mean, p.RHat, p.ESSBulk, p.ESSTail} {
			want, err := strconv.ParseFloat(fields[4*j+k], 64)
			if err != nil || math.Abs(got-want) > 1e-8*math.Abs(want) {
				t.Errorf("%s: %v here, %s in R", p.Name, got, fields[4*j+k])
			}
		}
	}
}
