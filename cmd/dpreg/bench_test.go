package main

import "testing"

// BenchmarkFit is the whole of `dpreg fit` with its defaults, but for the start of
// the process: 1000 rows, one covariate, release and inference.
func BenchmarkFit(b *testing.B) {
	data := "../../testdata/pums.csv"
	out := b.TempDir() + "/r.json"
	for b.Loop() {
		r := command("fit", data, "--eps", "1", "--formula", educ, "--release", out, "--spend-again")
		if r.code != done && r.code != unconverged {
			b.Fatal(r.stderr)
		}
	}
}
