package release

import (
	"errors"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dpreg/dpreg/internal/files"
	"github.com/dpreg/dpreg/internal/must"
)

// byHand is a file as a person writes it, with what is optional left out.
const byHand = `{"format":"dpreg-release/1",
 "schema":{"response":{"name":"y","lower":-1,"upper":1},"covariates":[{"name":"a","lower":0,"upper":2},{"name":"b","lower":-3,"upper":1e1}],"intercept":true},
 "n":1e+02,
 "noise":{"kind":"laplace","scale":5.5},
 "statistics":{"sum_x":[1,2],"sum_xx":[[3,4],[4,5]],"sum_y":6,"sum_xy":[7,8],"sum_yy":9}}`

func TestReadByHand(t *testing.T) {
	r := must.Get(Read(strings.NewReader(byHand)))(t)
	if r.Privacy != nil || r.N != 100 || r.Dim() != 3 || r.Noise.Sensitivity != 0 || r.Schema.Covariates[1].Upper != 10 || r.Statistics.SumXX[1][0] != 4 {
		t.Errorf("read as %+v", r)
	}
}

// Each case replaces one piece of byHand, and the error must begin so.
func TestReadRefuses(t *testing.T) {
	const privacy = `"n":1e+02,"privacy":`
	for _, c := range []struct{ old, new, want string }{
		{byHand, ``, "not valid JSON: it ends too early"},
		{byHand, `[]`, "must be an object"},
		{byHand, `"x","y"`, "something follows"},
		{byHand, `secret,y`, "not valid JSON"},
		{byHand, `{"fields":[{"name":"x"}]}`, `format: missing; a release says "format": "dpreg-release/1"`},
		{byHand, `{"fields":` + strings.Repeat("[", 100), `nested deeper than`},
		{`"format":"dpreg-release/1",`, ``, `format: missing; a release says "format": "dpreg-release/1"`},
		{`dpreg-release/1`, `dpreg-release/4`, `format: version "4" of the release format is not known`},
		{`dpreg-release/1`, `dpreg-summary/1`, `format: "dpreg-summary/1" is not a release`},
		{`"dpreg-release/1"`, `1`, `format: must be a string`},
		{`"n":1e+02`, `"n":100,"n":100`, "n: a key stands twice"},
		{`"n":1e+02`, `"n":100,"N":100`, "N: unknown field; the fields here are format, "},
		{`"n":1e+02`, `"n":100,"` + strings.Repeat("k", 99) + `":0`, strings.Repeat("k", 60) + "...: unknown field"},
		{`"n":1e+02,`, ``, "n: missing"},
		{`"n":1e+02`, `"n":0`, "n: must be at least 1, not 0"},
		{`"n":1e+02`, `"n":-3`, "n: must be at least 1, not -3"},
		{`"n":1e+02`, `"n":100,"\u006e":100`, "n: a key stands twice"},
		{`"n":1e+02`, `"n":100,"":0`, ": unknown field"},
		{`"name":"a",`, `"name":"a","-":["x"],`, "schema.covariates[0].-: unknown field"},
		{`"name":"a",`, `"name":"a","name":"a",`, "schema.covariates[0].name: a key stands twice"},
		{`"name":"a",`, `"name":"a","type":"string",`, `schema: column "a" is of type "string"`},
		{`"n":1e+02`, `"n":100,"factors":[]`, "factors: unknown field"},
		{`"intercept":true`, `"intercept":null`, "schema.intercept: must be true or false"},
		{`[1,2]`, `[1,null]`, "statistics.sum_x[1]: must be a number"},
		{`[1,2]`, `null`, "statistics.sum_x: must be an array"},
		{`"n":1e+02`, `"n":10.5`, "n: must be a whole number"},
		{`"n":1e+02`, `"n":1e16`, "n: a number out of range"},
		{`"n":1e+02`, `"n":"100"`, "n: must be a number"},
		{`"n":1e+02`, `"n":null`, "n: must be a number"},
		{`"n":1e+02`, `"n":100,"n_noise":3`, "n_noise: only with "},
		{`"n":1e+02`, `"n":100,"n_noise":0`, "n_noise: must be a positive number, not 0"},
		{`"n":1e+02`, `"n":100,"simulated":1`, "simulated: must be true or false"},
		{`"n":1e+02`, `"n":100,"withheld":[]`, "withheld: must not be 0 or empty: leave it out"},
		{`"n":1e+02`, `"n":100,"levels":{"factor":"a","counts":[53],"sums":[[0,0],[1,2]],"known":0}`, "levels.known: must not be 0 or empty: leave it out"},
		{`"n":1e+02`, `"n":100,"persons":{"rows":"mean","most":0}`, "persons.most: must not be 0 or empty: leave it out"},
		{`"name":"a",`, `"name":"a","type":"",`, "schema.covariates[0].type: must not be 0 or empty: leave it out"},
		{`"n":1e+02`, `"n":100,"withheld":["yy"]`, "withheld: says \"yy\", and statistics.sum_yy is given"},
		{`"n":1e+02`, `"n":100,"withheld":["xx"]`, "withheld: must be [\"yy\"], or left out"},
		{`"n":1e+02`, `"n":100,"moments":{}`, "moments.noise: missing"},
		{`"n":1e+02`, privacy + `null`, "privacy: must be an object"},
		{`"n":1e+02`, privacy + `{"epsilon":1,"neighbours":"replace-one"}`, "privacy.delta: missing"},
		{`"n":1e+02`, privacy + `{"epsilon":0,"delta":0,"neighbours":"replace-one"}`, "privacy.epsilon: must be a positive"},
		{`"n":1e+02`, privacy + `{"epsilon":1e999,"delta":0,"neighbours":"replace-one"}`, "privacy.epsilon: a number out of range"},
		{`"n":1e+02`, privacy + `{"epsilon":1,"delta":1,"neighbours":"replace-one"}`, "privacy.delta: must be at least 0 and less than 1"},
		{`"n":1e+02`, privacy + `{"epsilon":1,"delta":0,"neighbours":"replace"}`, "privacy.neighbours: must be \"replace-one\" or"},
		{`"n":1e+02`, privacy + `{"epsilon":1,"delta":0,"neighbours":"add-remove"}`, "n_noise: add-remove neighbours need"},
		{`"laplace"`, `"cauchy"`, `noise.kind: must be "laplace" or "gaussian", not "cauchy"`},
		{`"scale":5.5`, `"scale":0`, "noise.scale: must be a positive number up to 1e100, not 0"},
		{`"scale":5.5`, `"scale":1e101`, "noise.scale: must be a positive number up to 1e100, not 1e+101"},
		{`"scale":5.5`, `"scale":-1`, "noise.scale: must be a positive number up to 1e100, not -1"},
		{`"scale":5.5`, `"scale":NaN`, "noise.scale: not valid JSON"},
		{`"scale":5.5`, `"scale":1,"sensitivity":0`, "noise.sensitivity: must be a positive number"},
		{`"scale":5.5`, `"scale":1,"lattice":-1`, "noise.lattice: must be a positive number"},
		{`,"scale":5.5`, ``, "noise.scale: missing"},
		{`"upper":2`, `"upper":0`, "schema: column \"a\""},
		{`"upper":2`, `"max":2`, "schema.covariates[0].max: unknown field; the fields here are name, lower, upper"},
		{`"name":"b",`, ``, "schema.covariates[1].name: missing"},
		{`"name":"b"`, `"name":"y"`, "schema: column \"y\" is both"},
		{`"intercept":true`, `"intercept":"yes"`, "schema.intercept: must be true or false"},
		{`,"intercept":true`, ``, "schema.intercept: missing"},
		{`[1,2]`, `[1]`, "statistics.sum_x: must have 2 entries, one for each covariate, not 1"},
		{`[7,8]`, `[7,8,9]`, "statistics.sum_xy: must have 2 entries"},
		{`[7,8]`, `7`, "statistics.sum_xy: must be an array"},
		{`[7,8]`, `[7,"8"]`, "statistics.sum_xy[1]: must be a number"},
		{`[7,8]`, `[7 8]`, "statistics.sum_xy: not valid JSON"},
		{`[[3,4],[4,5]]`, `[[3,4]]`, "statistics.sum_xx: must have 2 rows"},
		{`[[3,4],[4,5]]`, `[[3,4],[4]]`, "statistics.sum_xx[1]: must have 2 entries"},
		{`[[3,4],[4,5]]`, `[[3,4],[4.5,5]]`, "statistics.sum_xx[1][0]: 4.5 differs from 4 at [0][1]: the matrix must be symmetric"},
		{`[[3,4],[4,5]]`, `[[3,4],[1e309,5]]`, "statistics.sum_xx[1][0]: a number out of range"},
		{`"sum_xy":[7,8],`, ``, "statistics.sum_xy: missing"},
		{`"sum_yy":9`, `"sum_yy":null`, "statistics.sum_yy: must be a number, or null where"},
		{`"sum_yy":9}`, `"sum_yy":null},"withheld":["yy","yy"]`, "withheld: must be"},
		{`"sum_yy":9}`, `"sum_yy":null},"withheld":"yy"`, "withheld: must be an array"},
		{`"sum_yy":9`, `"sum_yy":true`, "statistics.sum_yy: must be a number"},
		{`"sum_yy":9}}`, `"sum_yy":9}`, "not valid JSON: it ends too early"},
		{`"sum_yy":9}}`, `"sum_yy":9`, "statistics: not valid JSON: it ends too early"},
		{`"sum_yy":9}}`, `"sum_yy":9}} {}`, "something follows the end"},
		{`"sum_yy":9}}`, `"sum_yy":9}}]`, "something follows the end"},
		{`[1,2]`, "[" + strings.Repeat("1,", maxArray) + "1]", "statistics.sum_x: more than 8192 entries"},
	} {
		wantUnread(t, byHand, c.old, c.new, c.want)
	}
}

// TestReadFalse: what is false says no more than what is left out.
func TestReadFalse(t *testing.T) {
	r := must.Get(Read(strings.NewReader(strings.Replace(byHand, `"n":1e+02`, `"n":100,"simulated":false`, 1))))(t)
	if text := write(t, r); strings.Contains(text, "simulated") {
		t.Error(text)
	}
}

// A later version is named as such even where its unknown fields come first.
func TestReadLaterVersionFirst(t *testing.T) {
	_, err := Read(strings.NewReader(`{"news":[{}],"format":"dpreg-release/4"}`))
	must.Fail(t, err, `version "4"`)
}

func TestFieldError(t *testing.T) {
	_, err := Read(strings.NewReader(strings.Replace(byHand, "[4,5]", "[0,5]", 1)))
	var f *FieldError
	if !errors.As(err, &f) || f.Field != "statistics.sum_xx[1][0]" {
		t.Errorf("error %#v", err)
	}
}

// spaces never ends.
type spaces struct{ read int }

func (s *spaces) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	s.read += len(p)
	return len(p), nil
}

func TestReadIsBounded(t *testing.T) {
	in := &spaces{}
	if _, err := Read(in); !errors.Is(err, errTooLarge) {
		t.Errorf("error %v, want %v", err, errTooLarge)
	}
	if in.read > maxBytes+1 {
		t.Errorf("%d bytes were read", in.read)
	}
}

func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	big := filepath.Join(dir, "big.json")
	must.Do(t, os.WriteFile(big, nil, 0o600))
	must.Do(t, os.Truncate(big, 1<<30))
	began := time.Now()
	if _, err := ReadFile(big); !errors.Is(err, errTooLarge) || !strings.Contains(err.Error(), big) {
		t.Errorf("error %v, want %v", err, errTooLarge)
	}
	if d := time.Since(began); d > time.Second {
		t.Errorf("took %v to refuse", d)
	}
	bad := filepath.Join(dir, "bad.json")
	must.Do(t, os.WriteFile(bad, []byte(`{"format":"dpreg-release/1","schema":true}`), 0o600))
	for path, want := range map[string]string{
		bad:                       bad + ": schema: must be an object",
		dir:                       dir,
		filepath.Join(dir, "not"): "no such file",
	} {
		must.Fail(t, must.Err(ReadFile(path)), want)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(byHand))
	f.Add([]byte(strings.Replace(byHand, `"n":1e+02`, `"n":-2,"n_noise":30,"simulated":true,"privacy":{"epsilon":1,"delta":1e-9,"neighbours":"add-remove"}`, 1)))
	f.Add([]byte(strings.Replace(byHand, `"kind":"laplace"`, `"sensitivity":99,"lattice":1e-300,"kind":"gaussian"`, 1)))
	f.Add([]byte(strings.Replace(byHand, `[[3,4],[4,5]]`, `[[3,4],[NaN]]`, 1)))
	f.Add([]byte(strings.Replace(byHand, `"name":"b"`, `"name":"\ud800\u0000"`, 1)))
	f.Add([]byte(strings.Replace(byHand, `"intercept":`, `"factors":[{"name":"f","levels":["a","b"]}],"intercept":`, 1)))
	f.Add([]byte(strings.Replace(byHand, `"name":"b"`, `"factor":"f","level":"b","type":"boolean","name":"fb"`, 1)))
	f.Add([]byte(`{"format":"dpreg-release/1","n":`))
	f.Add([]byte(write(f, bounded())))
	f.Add([]byte(write(f, without())))
	f.Add([]byte(strings.Replace(byHand, `"n":1e+02`, `"n":100,`+momentsByHand, 1)))
	f.Add([]byte(strings.Replace(byHand, `"n":1e+02`, `"n":100,"moments":{"noise":{"kind":"laplace","scale":5.5},"exponents":[[1e300,-1],[]],"sums":[1]}`, 1)))
	for _, w := range ways {
		f.Add([]byte(write(f, framed(2, w.kind, w.nb, rand.New(rand.NewPCG(1, 2))))))
	}
	f.Add([]byte(strings.Replace(byHand, `"n":1e+02`, `"n":100,"frame":{"centre":[0,1e300,0],"matrix":[[1],[1,1],[1,1,1e-300]],"radius":1e300,"weight":1},"steps":[{"noise":{"kind":"ball","scale":1}}]`, 1)))
	leveled, _ := framedLevels(Ball, ReplaceOne, rand.New(rand.NewPCG(1, 2)))
	f.Add([]byte(write(f, leveled)))
	f.Add([]byte(strings.NewReplacer("release/1", "release/3", `"name":"y","lower":-1,"upper":1`, `"name":"y","lower":0,"upper":1,"type":"boolean"`,
		`"sum_yy":9}}`, `"sum_yy":9},"levels":{"factor":"y","counts":[53],"sums":[[0,0],[1,2]]}}`).Replace(byHand)))
	f.Add([]byte(`{"a":[[{"b":[]}]],"format":"dpreg-release/4"}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		r, err := Read(strings.NewReader(string(in)))
		if err != nil {
			if r != nil {
				t.Error("an error and a release")
			}
			return
		}
		// What is accepted can be written, and reads back as it was.
		first := write(t, r)
		back, err := Read(strings.NewReader(first))
		if err != nil {
			t.Fatalf("%v\n%s", err, first)
		}
		if second := write(t, back); second != first {
			t.Errorf("%s\n%s", first, second)
		}
		r.Warnings()
		r.ScaledSD()
		if _, err := r.Select(r.Schema.Response.Name + " ~ " + r.Schema.Covariates[0].Name); err == nil {
			r.Scaled()
		}
	})
}

// entries are the names in a directory.
func entries(t *testing.T, dir string) string {
	t.Helper()
	list := must.Get(os.ReadDir(dir))(t)
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "r.json")
	must.Do(t, os.WriteFile(path, []byte("old"), 0o600))
	r := example()
	must.Do(t, r.WriteFile(path))
	info := must.Get(os.Stat(path))(t)
	if info.Mode() != 0o644 {
		t.Errorf("mode %v", info.Mode())
	}
	back := must.Get(ReadFile(path))(t)
	if write(t, back) != write(t, r) {
		t.Error("what was read is not what was written")
	}
	if got := entries(t, dir); got != "r.json" {
		t.Errorf("left behind: %s", got)
	}
}

func TestWriteFileThroughLink(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "r.json"), filepath.Join(dir, "link.json")
	must.Do(t, os.WriteFile(path, nil, 0o600))
	if err := os.Symlink("r.json", link); err != nil {
		t.Skip(err)
	}
	must.Do(t, example().WriteFile(link))
	if info, err := os.Lstat(link); err != nil || info.Mode().IsRegular() {
		t.Errorf("the link was replaced (%v)", err)
	}
	if _, err := ReadFile(path); err != nil {
		t.Error(err)
	}
}

func TestWriteFileFails(t *testing.T) {
	dir := t.TempDir()
	old := filepath.Join(dir, "old.json")
	must.Do(t, os.WriteFile(old, []byte("old"), 0o600))
	invalid := example()
	invalid.Statistics.SumX[0] = math.NaN()
	must.Fail(t, invalid.WriteFile(old), "statistics.sum_x[0]: must be a finite number")
	if text, _ := os.ReadFile(old); string(text) != "old" {
		t.Errorf("the old file now holds %q", text)
	}
	for path, want := range map[string]string{
		dir:                            "is not a regular file",
		os.DevNull:                     "is not a regular file",
		filepath.Join(dir, "a", "b"):   "no such file or directory",
		filepath.Join(old, "in", "it"): "not a directory",
	} {
		if err := example().WriteFile(path); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: error %v does not say %q", path, err, want)
		}
	}
	if got := entries(t, dir); got != "old.json" {
		t.Errorf("left behind: %s", got)
	}
}

// Of many writers at once exactly one has its release there, and the others
// know that theirs is not.
func TestWriteNewFile(t *testing.T) {
	t.Run("link", func(t *testing.T) { oneWriter(t, (*Release).WriteNewFile) })
	t.Run("claim", func(t *testing.T) {
		oneWriter(t, func(r *Release, path string) error { return r.place(path, files.ClaimNew) })
	})
}

func oneWriter(t *testing.T, write func(*Release, string) error) {
	dir := t.TempDir()
	path := filepath.Join(dir, "r.json")
	errs := make(chan error)
	for n := range int64(8) {
		r := example()
		r.N = 1000 + n
		go func() {
			err := write(r, path)
			if err == nil {
				if back, err := ReadFile(path); err != nil || back.N != r.N {
					t.Errorf("n = %d was written, and another release stands there (%v)", r.N, err)
				}
			}
			errs <- err
		}()
	}
	written := 0
	for range 8 {
		if err := <-errs; err == nil {
			written++
		} else if !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), ".tmp") {
			t.Errorf("error %v", err)
		}
	}
	if got := entries(t, dir); written != 1 || got != "r.json" {
		t.Errorf("%d writers succeeded, files: %s", written, got)
	}
}

func TestLinkToNowhere(t *testing.T) {
	link := filepath.Join(t.TempDir(), "r.json")
	if err := os.Symlink("unmounted/r.json", link); err != nil {
		t.Skip(err)
	}
	for _, write := range []func(string) error{example().WriteFile, example().WriteNewFile} {
		if err := write(link); err == nil || !strings.Contains(err.Error(), link) || !strings.Contains(err.Error(), "not there") {
			t.Errorf("error %v", err)
		}
	}
	if info, err := os.Lstat(link); err != nil || info.Mode().IsRegular() {
		t.Errorf("the link was replaced (%v)", err)
	}
}

func TestLeftovers(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a*.json")
	for _, name := range []string{".a*.json.17.tmp", ".a*.json.x.tmp", ".ab.json.17.tmp", "a*.json.17.tmp", ".a*.json.17.tmp.gz"} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	got, err := files.Leftovers(path)
	if err != nil || !slices.Equal(got, []string{filepath.Join(dir, ".a*.json.17.tmp")}) {
		t.Errorf("found %q, error %v", got, err)
	}
	if _, err := files.Leftovers(filepath.Join(dir, "none", "r.json")); err == nil {
		t.Error("no error where there is no directory")
	}
}
