package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/golden"
	"github.com/dpreg/dpreg/internal/must"
)

// TestLayouts: files and outputs have the members, the types and the columns of the golden
// file. Of JSON it has a line for each path, [] for any element, with the types that its values
// have; of CSV the names of the comments and the header. What has the layout of something above
// it names that.
func TestLayouts(t *testing.T) {
	path := must.Get(filepath.Abs("testdata/layouts.golden"))(t)
	rowsOfAll(t)
	twoReleases(t)
	write(t, "new.csv", someRows)
	const short = " --chains 2 --warmup 100 --draws 30"
	var got strings.Builder
	first := make(map[string]string)
	add := func(name, text string) {
		l := layout(t, text)
		if before, ok := first[l]; ok {
			l = "  as " + before + "\n"
		} else {
			first[l] = name
		}
		fmt.Fprintf(&got, " %s\n%s", name, l)
	}
	for _, c := range []struct{ args, files string }{
		{args: "release people.csv --schema people.json --formula income~age+colour --with-moments --eps 1 --delta 1e-6 --mechanism gaussian --neighbours add-remove -o r.json", files: "r.json"},
		{args: "release wide.csv --bounds auto --eps 4 --steps 1 -o r.json --spend-again", files: "r.json"},
		{args: "release pums.csv --eps 1 --delta 1e-6 --steps 2 --formula income~educ -o r.json --spend-again", files: "r.json"},
		{args: "infer north.json --what-if --save one --format json" + short, files: "one/*"},
		{args: "infer north.json south.json --pooling partial --method gibbs-ss-update --save two" + short, files: "two/*"},
		{args: "infer north.json south.json --covariates shared --format csv" + short},
		{args: "check north.json --calibrate 1 --format json" + short},
		{args: "check north.json --calibrate 0 --format csv" + short},
		{args: "check north.json south.json --calibrate 1 --format json" + short},
		{args: "check north.json south.json --calibrate 0 --format csv" + short},
		{args: "plan --releases 2 --n 200 --eps 1 --delta 1e-6 --no-grid --schema pums.schema.json --formula income~educ --slope 5000 --format json"},
		{args: "plan --releases 2 --n 200 --eps 1 --no-grid --p 2 --format csv"},
		{args: "plan --releases 2 --n 200 --eps 1 --no-grid --p 2 --steps 3 --format csv"},
		{args: "plan --releases 2 --n 20,1000 --width 0.3 --p 1 --steps 3 --format json"},
		{args: "predict --draws one new.csv"},
	} {
		r := command(strings.Fields(c.args)...).finished(t)
		fmt.Fprintf(&got, "dpreg %s\n", c.args)
		files, err := filepath.Glob(c.files)
		if err != nil || files == nil && c.files != "" {
			t.Fatalf("%s: no file, %v", c.args, err)
		}
		for _, file := range files {
			add(file, read(t, file))
		}
		if files == nil || strings.Contains(c.args, "--format") {
			add("stdout", r.stdout)
		}
	}
	golden.Compare(t, path, got.String(), *update)
}

// layout is what a text has beside its values.
func layout(t *testing.T, text string) string {
	t.Helper()
	if strings.HasPrefix(text, "{") {
		s := shape{decoder: json.NewDecoder(strings.NewReader(text)), types: make(map[string]map[string]bool)}
		must.Do(t, s.value(""))
		return s.String()
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "#") {
			return b.String() + "  " + strings.TrimRight(line, "\n") + "\n"
		}
		if name, _, found := strings.Cut(line, " = "); found {
			b.WriteString("  " + name + "\n")
		}
	}
	return b.String()
}

// shape has the paths of a JSON text in their order, and the types of each.
type shape struct {
	decoder *json.Decoder
	paths   []string
	types   map[string]map[string]bool
}

// value reads the value at a path.
func (s *shape) value(path string) error {
	token, err := s.decoder.Token()
	if err != nil {
		return err
	}
	switch v := token.(type) {
	case json.Delim:
		if !s.decoder.More() {
			s.add(path, "empty")
		}
		for s.decoder.More() {
			below := path + "[]"
			if v == '{' {
				name, err := s.decoder.Token()
				if err != nil {
					return err
				}
				below = strings.TrimPrefix(path+"."+name.(string), ".")
			}
			if err := s.value(below); err != nil {
				return err
			}
		}
		_, err := s.decoder.Token()
		return err
	case string:
		if path == "format" {
			s.add(path, v)
		} else {
			s.add(path, "text")
		}
	case float64:
		s.add(path, "number")
	case bool:
		s.add(path, "truth")
	case nil:
		s.add(path, "null")
	}
	return nil
}

func (s *shape) add(path, kind string) {
	if s.types[path] == nil {
		s.paths = append(s.paths, path)
		s.types[path] = make(map[string]bool)
	}
	s.types[path][kind] = true
}

func (s *shape) String() string {
	var b strings.Builder
	for _, path := range s.paths {
		fmt.Fprintf(&b, "  %s: %s\n", path, strings.Join(slices.Sorted(maps.Keys(s.types[path])), " or "))
	}
	return b.String()
}
