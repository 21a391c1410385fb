package main

import (
	tables "encoding/csv"
	"encoding/json"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
)

// Comparisons that take no time: of simulated rows, and of a table.
const (
	few   = "compare --n 60 --eps 1 --delta 1e-6 --method non-private,naive,dp-pvi --method adassp --trials 3"
	ofOne = "compare --eps 1 --delta 1e-6 --method non-private,naive,adassp --trials 3 --formula income~age+educ --i-hold-the-data"
)

func compared(line string, args ...string) result {
	return command(append(strings.Fields(line), args...)...)
}

func TestCompare(t *testing.T) {
	workspace(t)
	r := compared(few).finished(t)
	words := strings.Join(strings.Fields(r.stdout), " ")
	for _, part := range []string{"3 trials of each", "no privacy guarantee", "n p eps method error to truth width coverage MMD2 spent sec", "60 2 1 adassp"} {
		if !strings.Contains(words, part) {
			t.Errorf("no %q in\n%s", part, r.stdout)
		}
	}
	r = compared(ofOne, "pums.csv", "--plot", "all.svg").finished(t).says(t, "plot written to all.svg")
	words = strings.Join(strings.Fields(r.stdout), " ")
	for _, part := range []string{"NO PRIVACY", "800 2 1 naive", "prediction", "log score", "predictive interval"} {
		if !strings.Contains(words, part) {
			t.Errorf("no %q in\n%s", part, r.stdout)
		}
	}
	if picture := read(t, "all.svg"); !strings.Contains(picture, "pums.csv") || !strings.Contains(picture, "no privacy") {
		t.Error("the picture does not say what it is")
	}
	if info, err := os.Stat("all.svg"); err != nil || info.Mode().Perm() != private {
		t.Errorf("a picture of real rows: %v, %v", info.Mode(), err)
	}
	var s struct {
		Note  string
		Cells []struct {
			Method   string
			Measures []struct{ Name string }
		}
	}
	r = compared(few, "--format", "json").finished(t)
	if err := json.Unmarshal([]byte(r.stdout), &s); err != nil || len(s.Cells) != 4 || len(s.Cells[3].Measures) != 3 {
		t.Errorf("%v: %+v", err, s)
	}
	if r = compared(few, "--format", "csv").finished(t); strings.Count(r.stdout, "\n") != 5 || strings.Count(r.stdout, "\nnone,60,1,2,") != 4 {
		t.Errorf("csv:\n%s", r.stdout)
	}
	r = compared("compare --n 50 --eps 1 --trials 1").finished(t).says(t, "left out: dp-vi, dp-pvi and adassp")
	if strings.Contains(r.stdout, "adassp") || !strings.Contains(r.stdout, "gibbs-ss-noisy, n = 50") {
		t.Errorf("without delta:\n%s", r.stdout)
	}
}

// A comparison of a family has its methods, errors of the posterior given the rows, and says what has no law of it.
func TestCompareFamily(t *testing.T) {
	testsize.Full(t, "TestCompare has methods, TestFamily a family")
	workspace(t)
	r := compared("compare --n 200 --eps 1 --delta 1e-6 --family binomial --method non-private,dp-pvi,naive --method mcmc-exact --trials 1 --format csv").finished(t)
	lines := must.Get(tables.NewReader(strings.NewReader(r.stdout)).ReadAll())(t)
	method, at, errors := slices.Index(lines[0], "method"), slices.Index(lines[0], "error"), make(map[string]string)
	for _, cells := range lines[1:] {
		errors[cells[method]] = cells[at]
	}
	if errors["non-private"] != "0" || errors["naive"] != "" || !strings.Contains(r.stdout, "naive has no law of the response but the normal one") {
		t.Errorf("errors %v of\n%s", errors, r.stdout)
	}
	for _, method := range []string{"mcmc-exact", "dp-pvi"} {
		if e, err := strconv.ParseFloat(errors[method], 64); err != nil || !(e > 0 && e < 5) {
			t.Errorf("%s has an error of %q", method, errors[method])
		}
	}
	command("compare", "--n", "60", "--eps", "1", "--family", "logistic").says(t, "binomial")
}

// A comparison goes on from where it was stopped, or in shards, and ends with the same bytes.
func TestCompareGoesOn(t *testing.T) {
	testsize.Full(t, "TestCalibrateGoesOn has the same journal")
	workspace(t)
	for _, c := range []struct{ line, data string }{{few, ""}, {ofOne, "pums.csv"}} {
		with := func(args ...string) []string {
			if c.data != "" {
				return append(args, c.data)
			}
			return args
		}
		compared(c.line, with("--save", "whole")...).finished(t)
		want := outcome(t, "whole")
		lines := strings.SplitAfter(read(t, "whole/journal"), "\n")
		again := "compare --save cut"
		if c.data != "" {
			again += " --i-hold-the-data"
			compared("compare --save whole").says(t, "name the file").ends(t, misused)
		}
		for _, line := range []string{c.line + " --save cut", again} {
			write(t, "cut/study.json", read(t, "whole/study.json"))
			write(t, "cut/journal", strings.Join(lines[:4], "")+lines[4][:20])
			compared(line, with("--jobs", "1")...).finished(t).says(t, "going on after 3 finished trials").says(t, "cut off")
			if outcome(t, "cut") != want {
				t.Errorf("%s: other results", line)
			}
			must.Do(t, os.RemoveAll("cut"))
		}
		for _, shard := range []string{"1/2", "2/2"} {
			compared(c.line, with("--save", "part"+shard[:1], "--shard", shard)...).finished(t).says(t, "dpreg compare merge")
		}
		compared("compare merge --save together part1 part2").finished(t)
		if outcome(t, "together") != want {
			t.Errorf("%s: other results of shards", c.line)
		}
		for _, dir := range []string{"whole", "part1", "part2", "together"} {
			if info, err := os.Stat(dir); err != nil || (info.Mode().Perm() == 0o700) != (c.data != "") {
				t.Errorf("%s: %v, %v", dir, info.Mode(), err)
			}
			must.Do(t, os.RemoveAll(dir))
		}
	}
}

func TestCompareWrong(t *testing.T) {
	for _, w := range []wrong{
		{name: "the rows may not be seen", args: "compare --eps 1 pums.csv", code: refused, says: "--i-hold-the-data"},
		{name: "nothing to compare on", args: "compare --eps 1", code: misused, says: "or --n for simulated rows"},
		{name: "no budget", args: "compare --n 50", code: misused, says: "--eps is missing"},
		{name: "unknown method", args: "compare --n 50 --eps 1 --method gibs", code: misused, says: "method gibs: there is none of this name"},
		{name: "delta", args: "compare --n 50 --eps 1 --method dp-vi", code: misused, says: "needs a delta above 0"},
		{name: "two kinds of rows", args: "compare --eps 1 --n 50 --i-hold-the-data pums.csv", code: misused, says: "--n is for simulated rows"},
		{name: "a formula without a table", args: "compare --eps 1 --n 50 --formula y~x", code: misused, says: "--formula is for a table"},
		{name: "no bounds", args: "compare --eps 1 --i-hold-the-data bad.csv", code: refused, says: "no bounds", files: csv("x,y", "1,2", "2,3")},
		{name: "bounds auto", args: "compare --eps 1 --bounds auto --i-hold-the-data bad.csv", code: misused, says: "public bounds", files: csv("x,y", "1,2", "2,3")},
		{name: "one row", args: "compare --eps 1 --bounds x=0:9 --bounds y=0:9 --i-hold-the-data bad.csv", code: misused, says: "cannot be divided", files: csv("x,y", "1,2")},
		{name: "share to predict", args: "compare --eps 1 --test 1 --i-hold-the-data pums.csv", code: misused, says: "test: 1"},
		{name: "shard without a place", args: "compare --n 50 --eps 1 --shard 1/2", code: misused, says: "--save"},
		{name: "shard with a picture", args: "compare --n 50 --eps 1 --save s --shard 1/2 --plot a.svg", code: misused, says: "dpreg compare merge"},
		{name: "no study", args: "compare --save s", code: misused, says: "there is no study yet"},
		{name: "picture", args: "compare --n 50 --eps 1 --plot a.pdf", code: misused, says: ".svg or .png"},
		{name: "format", args: "compare --n 50 --eps 1 --format xml", code: misused, says: "--format"},
		{name: "jobs", args: "compare --n 50 --eps 1 --jobs -1", code: misused, says: "--jobs"},
		{name: "a cell that is no number", args: "compare --eps 1 --bounds x=0:9 --bounds y=0:9 --i-hold-the-data bad.csv", code: misused, says: "bad.csv", files: csv("x,y", "1,"+secret)},
		{name: "merge of nothing", args: "compare merge --save s", code: misused, says: "directories of the shards"},
	} {
		t.Run(w.name, w.run)
	}
}

// Rows that changed are not those of the study.
func TestCompareOtherRows(t *testing.T) {
	workspace(t)
	compared(ofOne, "--save", "s", "pums.csv").finished(t)
	write(t, "pums.csv", strings.Replace(read(t, "pums.csv"), "59,1,9", "58,1,9", 1))
	compared("compare --save s --i-hold-the-data pums.csv").says(t, "not those of the study").ends(t, misused)
}
