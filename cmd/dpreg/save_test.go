package main

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/schema"
)

func TestSave(t *testing.T) {
	workspace(t)
	args := append([]string{"infer", "good.json", "--formula", educ, "--save", "s"}, quick...)
	for range 2 { // the second run writes over the first
		command(args...).finished(t).says(t, "saved in s")
	}
	files := must.Get(filepath.Glob("s/*"))(t)
	if want := []string{"s/draws-1.csv", "s/draws-2.csv", "s/draws-release.json", "s/summary.json"}; !slices.Equal(files, want) {
		t.Fatalf("files %v, want %v", files, want)
	}
	if !json.Valid([]byte(read(t, "s/summary.json"))) {
		t.Error("summary.json is no JSON")
	}
	labelled(t, "s")
	var comments, rows int
	header := ""
	for line := range strings.Lines(read(t, "s/draws-1.csv")) {
		switch {
		case strings.HasPrefix(line, "#"):
			comments++
		case header == "":
			header = strings.TrimSpace(line)
		default:
			rows++
		}
	}
	if !strings.HasPrefix(header, "lp__,") || !strings.Contains(header, "theta.1,theta.2,sigma2,sigma") || rows != 30 || comments < 10 {
		t.Errorf("%d comments, header %q, %d rows", comments, header, rows)
	}
}

// What is stated is filled in.
func TestSchemaStated(t *testing.T) {
	workspace(t)
	r := command("schema", "pums.csv", "--levels", "race=1,2", "--bounds", "age=0:95").finished(t)
	columns := must.Get(schema.ReadSchema(strings.NewReader(r.stdout), "stdout"))(t)
	if race, age := columns.Columns[columns.Index("race")], columns.Columns[columns.Index("age")]; len(race.Levels) != 2 || age.Upper != 95 {
		t.Errorf("%+v, %+v", race, age)
	}
	for _, flag := range []string{"--levels=sxe=0,1", "--bounds=auto"} {
		command("schema", "pums.csv", flag).ends(t, misused)
	}
}

// labelled compares the columns of a folder's draws, each under the name that its label
// has for it, with the means that the summary has under the same label.
func labelled(t *testing.T, folder string) {
	t.Helper()
	var summary struct {
		Parameters []struct {
			Label, Column string
			Mean          float64
		}
	}
	must.Do(t, json.Unmarshal([]byte(read(t, folder+"/summary.json")), &summary))
	chains := must.Get(filepath.Glob(folder + "/draws-?.csv"))(t)
	column, sum, count := make(map[string]string), make(map[string]float64), 0.0
	for _, path := range chains {
		var header []string
		for line := range strings.Lines(read(t, path)) {
			label, of, found := strings.Cut(strings.TrimSpace(strings.TrimPrefix(line, "# label: ")), " is ")
			fields := strings.Split(strings.TrimSpace(line), ",")
			switch {
			case strings.HasPrefix(line, "# label: ") && found:
				column[of] = label
			case strings.HasPrefix(line, "#"):
			case header == nil:
				header = fields
			default:
				for j, text := range fields {
					sum[header[j]] += parsed(t, text)
				}
				count++
			}
		}
		for name := range sum {
			if !slices.Contains(slices.Collect(maps.Values(column)), name) && strings.Contains(name, ".") {
				t.Errorf("%s: no label says what %s is", path, name)
			}
		}
	}
	for _, p := range summary.Parameters {
		name := cmp.Or(column[p.Label], p.Label)
		if mean := sum[name] / count; name != p.Column || !(math.Abs(mean-p.Mean) <= 1e-9*math.Abs(mean)) {
			t.Errorf("%s: the mean of %s, labelled %s, is %v; the summary has %v in the column %s", folder, name, p.Label, mean, p.Mean, p.Column)
		}
	}
}

func TestSchema(t *testing.T) {
	workspace(t)
	r := command("schema", "pums.csv").says(t, "pums.schema.json")
	if r.code != done || !json.Valid([]byte(r.stdout)) || !strings.Contains(r.stdout, `"married"`) {
		t.Errorf("exit code %d, stdout:\n%s", r.code, r.stdout)
	}
	if f := command("schema", "pums.csv", "-o", "new.json"); f.code != done || f.stdout != "" || read(t, "new.json") != r.stdout {
		t.Errorf("exit code %d, stdout %q", f.code, f.stdout)
	}
	// A template that nobody filled in gives no bounds.
	fit("--eps", "1", "--schema", "new.json").ends(t, refused)
}

// Draws under labels are predicted from as those under Stan's names, and a table of draws does not
// outlive its run.
func TestSaveLabels(t *testing.T) {
	workspace(t)
	run := append([]string{"infer", "good.json", "--save", "post"}, quick...)
	predicted := func(flags ...string) string {
		command(append(run[:len(run):len(run)], flags...)...).finished(t)
		return command("predict", "--draws", "post", "pums.csv").finished(t).stdout
	}
	if labels, stan := predicted("--names", "labels", "--parquet"), predicted(); labels != stan {
		t.Error("draws under labels predict otherwise than those under Stan's names")
	}
	if _, err := os.Stat("post/draws.parquet"); err == nil {
		t.Error("draws.parquet of a former run is there")
	}
	command("infer", "good.json", "--names", "labels").says(t, "there is no --save")
}
