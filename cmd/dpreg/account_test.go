package main

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
)

func TestAccountTable(t *testing.T) {
	r := command(strings.Fields("account gaussian --sigma 4 --q 0.01 --steps 1000 --delta 1e-5")...)
	if r.code != done || r.stderr != "" {
		t.Fatalf("exit code %d, stderr %q", r.code, r.stderr)
	}
	must.Say(t, r.stdout, "1000 releases", "rate 0.01", "add-remove", "epsilon", "upper 0.27213", "lower 0.27213", "Rényi")
}

// accountOf runs account and returns what stands under a key of the JSON.
func accountOf(t *testing.T, key, args string) (pld [2]float64, others map[string]float64) {
	t.Helper()
	r := command(append(strings.Fields("account "+args), "--format", "json")...).ends(t, done)
	var out map[string]json.RawMessage
	must.Do(t, json.Unmarshal([]byte(r.stdout), &out))
	if string(out["format"]) != `"dpreg-account/1"` || out["inputs"] == nil || len(out) != 3 {
		t.Errorf("%s: %s", args, r.stdout)
	}
	var answers map[string]json.RawMessage
	if err := json.Unmarshal(out[key], &answers); err != nil {
		t.Fatalf("%s: %s: %v", args, r.stdout, err)
	}
	others = make(map[string]float64)
	for name, text := range answers {
		if name == "pld" {
			var ends struct{ Upper, Lower float64 }
			must.Do(t, json.Unmarshal(text, &ends))
			pld = [2]float64{ends.Lower, ends.Upper}
			continue
		}
		var v *float64
		must.Do(t, json.Unmarshal(text, &v))
		if v != nil {
			others[name] = *v
		}
	}
	return pld, others
}

// Each question of the one and the other noise, against values of other software, or
// against each other.
func TestAccountJSON(t *testing.T) {
	for _, c := range []struct {
		key, args string
		want      float64
		tolerance float64
	}{
		{"epsilon", "gaussian --sigma 2 --q 0.01 --steps 1000 --delta 1e-6", 0.7209164482478481, 1e-5},
		{"delta", "gaussian --sigma 5 --q 0.02 --steps 100 --eps 0.06537708515337104", 1e-3, 1e-4},
		{"epsilon", "gaussian --sigma 6 --sensitivity 2 --delta 1e-5", 1.2710877669435994, 1e-10},
		{"sigma", "gaussian --eps 1 --delta 1e-5 --sensitivity 2", 2 * 3.7306316348159374, 1e-10},
		{"delta", "gaussian --eps 1 --sigma 3.7306316348159374", 1e-5, 1e-9},
		{"epsilon", "laplace --scale 10 --count 100 --delta 1e-5", 4.220347325481422, 1e-5},
		{"epsilon", "laplace --scale 20 --sensitivity 2 --count 100 --delta 1e-5", 4.220347325481422, 1e-5},
		{"delta", "laplace --eps 4.220347325481422 --scale 10 --count 100", 1e-5, 1e-4},
		{"steps", "gaussian --sigma 5 --q 0.02 --eps 0.065378 --delta 1e-3", 100, 1e-12},
		{"count", "laplace --eps 4.2204 --scale 10 --delta 1e-5", 100, 1e-12},
		{"sigma", "gaussian --eps 0.1 --q 0.01 --steps 1000 --delta 1e-5", 9.79681152569387, 1e-5},
		{"q", "gaussian --sigma 5 --steps 100 --eps 0.06537708515337104 --delta 1e-3", 0.02, 1e-5},
		{"scale", "laplace --eps 4.220347325481422 --count 100 --delta 1e-5", 10, 1e-5},
	}[:testsize.Of(3, 13)] { // the last take longer than all others
		pld, others := accountOf(t, c.key, c.args)
		for _, got := range pld {
			if !(math.Abs(got-c.want) <= c.tolerance*c.want) {
				t.Errorf("%s: %v, want %v", c.args, pld, c.want)
			}
		}
		if _, ok := others["rdp"]; !ok || len(others) != 1 {
			t.Errorf("%s: %v", c.args, others)
		}
	}
}

func TestAccountPlot(t *testing.T) {
	testsize.Full(t, "package report draws it")
	t.Chdir(t.TempDir())
	for _, args := range []string{"laplace --scale 3 --count 3 --delta 1e-5 --plot a.svg", "gaussian --sigma 4 --q 0.01 --steps 100 --delta 1e-5 --plot a.svg"}[:testsize.Of(1, 2)] {
		r := command(strings.Fields("account "+args)...).ends(t, done)
		r.says(t, "plot written to a.svg")
		if svg := read(t, "a.svg"); !strings.Contains(svg, "releases") || !strings.Contains(svg, "Rényi divergences") {
			t.Error("the picture lacks its words")
		}
	}
}

var wrongAccounts = []wrong{
	{name: "neither", args: "account poisson", code: misused, says: "`dpreg account --help` lists the commands"},
	{name: "file", args: "account gaussian pums.csv --sigma 1 --delta 1e-5", code: misused, says: "takes no file"},
	{name: "nothing", args: "account gaussian", code: misused, says: "two of --sigma, --eps and --delta"},
	{name: "one", args: "account gaussian --delta 1e-5 --q 0.1 --steps 10", code: misused, says: "two of --sigma"},
	{name: "all", args: "account gaussian --sigma 1 --q 0.1 --steps 10 --eps 1 --delta 1e-5", code: misused, says: "leave out the one"},
	{name: "all but q and steps", args: "account gaussian --sigma 1 --eps 1 --delta 1e-5", code: misused, says: "add --q"},
	{name: "sigma zero", args: "account gaussian --sigma 0 --delta 1e-5", code: misused, says: "--sigma"},
	{name: "sigma NaN", args: "account gaussian --sigma NaN --delta 1e-5", code: misused, says: "--sigma"},
	{name: "sigma tiny", args: "account gaussian --sigma 1e-9 --delta 1e-5", code: misused, says: "sigma must be from"},
	{name: "q zero", args: "account gaussian --sigma 1 --q 0 --delta 1e-5", code: misused, says: "--q"},
	{name: "q above 1", args: "account gaussian --sigma 1 --q 1.5 --delta 1e-5", code: misused, says: "--q"},
	{name: "q text", args: "account gaussian --sigma 1 --q half --delta 1e-5", code: misused, says: "--q"},
	{name: "steps half", args: "account gaussian --sigma 1 --q 0.1 --steps 1.5 --delta 1e-5", code: misused, says: "--steps"},
	{name: "steps zero", args: "account gaussian --sigma 1 --q 0.1 --steps 0 --delta 1e-5", code: misused, says: "--steps"},
	{name: "steps too many", args: "account gaussian --sigma 1 --q 0.1 --steps 1e12 --delta 1e-5", code: misused, says: "--steps"},
	{name: "delta zero", args: "account gaussian --sigma 1 --delta 0", code: misused, says: "--delta"},
	{name: "delta one", args: "account gaussian --sigma 1 --delta 1", code: misused, says: "--delta"},
	{name: "delta overflow", args: "account gaussian --sigma 1 --delta 1e999", code: misused, says: "--delta"},
	{name: "delta tiny", args: "account laplace --scale 1 --count 2 --delta 1e-300", code: misused, says: "--delta"},
	{name: "eps negative", args: "account gaussian --sigma 1 --eps -1", code: misused, says: "--eps"},
	{name: "eps infinite", args: "account gaussian --sigma 1 --eps Inf", code: misused, says: "--eps"},
	{name: "sensitivity", args: "account gaussian --sigma 1 --delta 1e-5 --sensitivity 0", code: misused, says: "--sensitivity"},
	{name: "neighbours", args: "account gaussian --sigma 1 --delta 1e-5 --q 0.1 --neighbours next", code: misused, says: "add-remove, replace-one"},
	{name: "replace-one without q", args: "account gaussian --sigma 1 --delta 1e-5 --neighbours replace-one", code: misused, says: "with --q"},
	{name: "out of reach", args: "account gaussian --sigma 1 --q 1 --eps 1e-9 --delta 1e-100", code: misused, says: "no number of steps"},
	{name: "format", args: "account gaussian --sigma 1 --delta 1e-5 --format csv", code: misused, says: "table, json"},
	{name: "plot", args: "account gaussian --sigma 1 --delta 1e-5 --plot a.pdf", code: misused, says: ".svg or .png"},
	{name: "plot, no directory", args: "account gaussian --sigma 1 --delta 1e-5 --plot nowhere/a.svg", code: misused, says: "--plot"},
	{name: "laplace, nothing", args: "account laplace", code: misused, says: "three of --scale"},
	{name: "laplace, all", args: "account laplace --scale 1 --count 2 --eps 1 --delta 1e-5", code: misused, says: "three of --scale"},
	{name: "laplace, scale", args: "account laplace --scale -1 --count 2 --delta 1e-5", code: misused, says: "--scale"},
	{name: "laplace, scale tiny", args: "account laplace --scale 1e-4 --count 2 --delta 1e-5", code: misused, says: "scale must be from"},
	{name: "laplace, count", args: "account laplace --scale 1 --count 0 --delta 1e-5", code: misused, says: "--count"},
	{name: "laplace, sigma", args: "account laplace --sigma 1", code: misused, says: "--sigma"},
}
