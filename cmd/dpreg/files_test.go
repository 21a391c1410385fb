package main

import (
	"strings"
	"testing"
)

// A file named on the command line that is broken: each change to a good one,
// and what is said of it.

func TestBrokenRelease(t *testing.T) {
	good := read(t, "../../testdata/pums-eps1.release.json")
	for _, c := range []struct{ name, old, new, says string }{
		{"NaN", `"scale": `, `"scale": NaN, "x": `, "JSON"},
		{"negative scale", `"scale": `, `"scale": -`, "noise.scale"},
		{"missing block", `"statistics"`, `"statistic"`, "statistic"},
		{"missing field", `"sum_y"`, `"sum_z"`, "statistics.sum_z"},
		{"version", "dpreg-release/1", "dpreg-release/4", "format"},
		{"another format", "dpreg-release/1", "dpreg-summary/1", "format"},
		{"claim", `"epsilon": 1`, `"epsilon": 0.1`, "noise.scale"},
		{"cut", "\n}\n", "", "early"},
		{"trailing", "\n}\n", "\n}\n{}", "follows"},
	} {
		bad := strings.Replace(good, c.old, c.new, 1)
		if bad == good {
			t.Fatalf("%s: the file has no %q", c.name, c.old)
		}
		for _, name := range []string{"infer", "show"} {
			t.Run(c.name+", "+name, wrong{
				args: name + " bad.json", code: misused, says: c.says,
				files: map[string]string{"bad.json": bad},
			}.run)
		}
	}
}

func TestBrokenPrior(t *testing.T) {
	for name, c := range map[string]struct{ prior, says string }{
		"not definite": {`{"theta":{"precision":[[1,2],[2,1]]}}`, "theta precision is not positive definite: its smallest eigenvalue is -1"},
		"covariates":   {`{"covariates":{"scale":[[-3]],"dof":5}}`, "covariates scale is not positive definite: its smallest eigenvalue is -3"},
		"asymmetric":   {`{"theta":{"precision":[[1,2],[0,1]]}}`, "theta precision is not symmetric"},
		"size":         {`{"theta":{"mean":[0,0,0]}}`, "theta.mean: 3 numbers, the model needs 2"},
		"negative":     {`{"sigma2":{"shape":-1,"scale":1}}`, "shape"},
		"unknown":      {`{"teta":{}}`, "teta"},
		"units":        {`{"units":"feet"}`, "units"},
		"not JSON":     {`prior`, "prior"},
	} {
		files := map[string]string{"p.json": c.prior}
		t.Run(name, wrong{args: "infer good.json --formula income~educ --prior p.json", code: misused, says: c.says, files: files}.run)
		t.Run(name+", fit", wrong{args: "fit pums.csv --eps 1 --formula income~educ --prior p.json", code: misused, says: c.says, files: files}.run)
	}
	t.Run("no file", wrong{args: "infer good.json --prior nothing.json", code: misused, says: "nothing.json"}.run)
}
