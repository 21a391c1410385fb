package main

import (
	"os"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
)

// TestFitOfCategories: fit takes sums by the cells of covariates that are categories alone, where inference has their law,
// and uses the release again.
func TestFitOfCategories(t *testing.T) {
	t.Chdir(t.TempDir())
	lines := []string{"g,own,y,x"}
	for i := range 300 {
		lines = append(lines, []string{"a,0,1,1", "b,1,0,2", "a,1,1,3", "b,0,1,4", "c,1,0,1"}[i*i%5])
	}
	must.Do(t, os.WriteFile("rows.csv", []byte(strings.Join(lines, "\n")+"\n"), 0o600))
	const fit = "fit rows.csv --eps 5 --no-ledger --levels g=a,b,c --levels own=0,1 --levels y=0,1 --bounds x=0:5 --warmup 100 --draws 100 --chains 1 "
	for _, c := range []struct {
		flags string
		taken bool
	}{
		{"--formula y~g+own --family binomial --release a.json", true},
		{"--formula y~g+own --family binomial --release a.json", true}, // that is there
		{"--formula x~g*own --release b.json", true},
		{"--formula x~g --release c.json", true},
		{"--formula y~g+x --family binomial --release d.json", false},
		{"--formula x~g+own --release e.json --steps 1", false},
		{"--formula x~g+own --release f.json --method gibbs-ss-update", false},
		{"--formula y~g+own --family binomial --neighbours add-remove --release g.json", true},
		{"--formula x~g+own --family poisson --neighbours add-remove --release h.json", true},
	}[:testsize.Of(5, 9)] {
		got := command(strings.Fields(fit + c.flags)...)
		if got.code != 0 && got.code != 4 {
			t.Errorf("%s: exit code %d: %s", c.flags, got.code, got.stderr)
		}
		if taken := strings.Contains(got.stderr, "are categories alone"); taken != c.taken {
			t.Errorf("%s: cells are taken: %t", c.flags, taken)
		}
	}
}
