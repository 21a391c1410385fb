package table

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/schema"
)

// formDesign has a column of every kind, one with a name that is no ASCII.
func formDesign() *schema.Design {
	return &schema.Design{
		Response:   schema.Column{Name: "größe", Lower: 0, Upper: 9},
		Covariates: []schema.Column{{Name: "x", Lower: 0, Upper: 9}, {Name: "on", Type: "boolean", Upper: 1}, {Name: "gv", Upper: 1, Factor: "g", Level: "v"}},
		Factors:    []schema.Factor{{Name: "g", Levels: []string{"ü", "v"}}}, Intercept: true,
	}
}

const formRows = "größe,x,on,g,note\n1.5,2,true,ü,a\n-3e0,4.25,0,v,b\n2,,1,ü,c\n"

// asFile writes a file and reads its rows.
func asFile(t *testing.T, name, text string, form Form) ([][]float64, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	s := must.Get(Find(path))(t)
	s.Form = form
	if _, err := s.Header("x"); err != nil {
		return nil, err
	}
	return copied(Options{Missing: Midpoint}.Rows(s, formDesign()))
}

// Rows are the same in whatever form they come.
func TestForms(t *testing.T) {
	want, err := asFile(t, "r.csv", formRows, Form{})
	if err != nil || len(want) != 3 {
		t.Fatal(want, err)
	}
	as := func(delim string) string { return strings.ReplaceAll(formRows, ",", delim) }
	commas := strings.ReplaceAll(as(";"), ".", ",")
	latin := strings.NewReplacer("ö", "\xf6", "ß", "\xdf", "ü", "\xfc").Replace
	var wide, big bytes.Buffer
	for _, u := range utf16.Encode([]rune("\ufeff" + as("\t"))) {
		wide.Write([]byte{byte(u), byte(u >> 8)})
		big.Write([]byte{byte(u >> 8), byte(u)})
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	w.Write([]byte(as("|")))
	w.Close()
	lines := `{"größe": 1.5, "x": 2, "on": true, "g": "ü", "note": {"a": [1, "}\n"]}}
{"note": "a\nb", "g": "v", "on": 0, "x": 4.25, "größe": "-3"}

{"größe": 2e0, "x": null, "on": "1", "g": "ü"}`
	for name, c := range map[string]struct {
		file, text string
		form       Form
	}{
		"semicolons":       {"r.csv", as(";"), Form{}},
		"tabs":             {"r.tsv", as("\t"), Form{}},
		"pipes, packed":    {"r.csv.gz", packed.String(), Form{}},
		"a sign":           {"r.csv", as("~"), Form{Delim: '~'}},
		"decimal commas":   {"r.csv", commas, Form{Comma: true}},
		"Latin-1":          {"r.csv", latin(formRows), Form{Encoding: "latin1"}},
		"UTF-16":           {"r.csv", wide.String(), Form{Encoding: "utf-16"}},
		"UTF-16, big":      {"r.csv", big.String(), Form{Encoding: "utf-16"}},
		"a known name":     {"r.csv", strings.Replace(as(";"), "note", "a,b", 1), Form{}},
		"quotation marks":  {"r.csv", strings.Replace(as(";"), "note", `"a;b"`, 1), Form{}},
		"JSON lines":       {"r.jsonl", lines, Form{}},
		"JSON, no newline": {"r.ndjson", "\n" + lines + "\n", Form{}},
	} {
		if got, err := asFile(t, c.file, c.text, c.form); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v\n%v\nwant\n%v", name, err, got, want)
		}
	}
}

// What is wrong with a form is said without a cell.
func TestFormsRefused(t *testing.T) {
	const secret = "4711"
	for name, c := range map[string]struct {
		file, text string
		form       Form
		want       string
	}{
		"two delimiters":    {"r.csv", "größe;x;on;g\n1;2;1;v\n4711,2,1,v\n", Form{}, "r.csv:3: 1 fields where the header has 4, separated by semicolon"},
		"another":           {"r.csv", formRows, Form{Delim: ';'}, "column"},
		"a decimal point":   {"r.csv", "größe;x;on;g\n1;4711.5;1;v\n", Form{Comma: true}, "without a point"},
		"two commas":        {"r.csv", "größe;x;on;g\n1;4,7,11;1;v\n", Form{Comma: true}, "without a point"},
		"commas for both":   {"r.csv", formRows, Form{Comma: true, Delim: ','}, "decimal sign"},
		"an encoding":       {"r.csv", formRows, Form{Encoding: "ebcdic"}, "none of utf-8"},
		"not UTF-16":        {"r.csv", formRows, Form{Encoding: "utf-16"}, ""},
		"no object":         {"r.jsonl", "[4711]\n", Form{}, "r.jsonl:1: a line is no JSON object"},
		"half an object":    {"r.jsonl", `{"größe": 1, "x": 1, "on": 1, "g": "v"}` + "\n" + `{"größe": 4711`, Form{}, "r.jsonl:2: a line is no JSON object"},
		"a key twice":       {"r.jsonl", `{"größe": 1, "x": 1, "on": 1, "g": "v"}` + "\n" + `{"x": 4711, "x": 1}`, Form{}, "r.jsonl:2: a line"},
		"a list for a cell": {"r.jsonl", `{"größe": 1, "x": [4711], "on": 1, "g": "v"}` + "\n", Form{}, `r.jsonl:1: column "x": a cell is an object`},
		"a text":            {"r.jsonl", `{"größe": 1, "x": "4711 m", "on": 1, "g": "v"}` + "\n", Form{}, `column "x": a cell is not a finite`},
		"no such member":    {"r.jsonl", `{"größe": 1, "x": 1, "on": 1}` + "\n", Form{}, `column "g": the header has no such column`},
		"nothing":           {"r.jsonl", "\n\n", Form{}, "no JSON object"},
		"an empty file":     {"r.jsonl", "", Form{}, "the file is empty"},
	} {
		got, err := asFile(t, c.file, c.text, c.form)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v, want %q (%v)", name, err, c.want, got)
		}
	}
	for _, text := range []string{"x", "1", "ab", ".", "-", `"`, "é", " ", "#"} {
		if d, err := ParseDelim(text); err == nil {
			t.Errorf("%q was taken for the delimiter %q", text, d)
		}
	}
	for text, want := range map[string]byte{"": 0, "Tab": '\t', `\t`: '\t', "\t": '\t', "semicolon": ';', "^": '^', ",": ','} {
		if d, err := ParseDelim(text); err != nil || d != want {
			t.Errorf("%q: %q, %v", text, d, err)
		}
	}
}

// FuzzJSONLines: rows lie in [-1, 1], and errors hold nothing of them.
func FuzzJSONLines(f *testing.F) {
	for _, text := range []string{`{"x":1,"y":2}`, `{"x":"1","y":null}` + "\n{}", "{", `[{"x":1}]`, `{"x":{"a":[1]},"y":1e999}`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		w := must.Get((Options{}).scaled(&schema.Design{Response: schema.Column{Name: "y", Upper: 1}, Covariates: []schema.Column{{Name: "x", Upper: 1}}, Intercept: true}))(t)
		blocks := w.options.Form.read(strings.NewReader(text), "r")
		blocks.json = true
		rows, err := openText(blocks, w)
		if err != nil {
			return
		}
		worker := w.worker(t.Context(), func(rows []float64) error {
			for _, v := range rows {
				if !(v >= -1 && v <= 1) {
					t.Fatal(rows)
				}
			}
			return nil
		})
		for err == nil {
			if err = rows.next(worker); err == nil {
				err = rows.parse(worker, 0)
			}
		}
	})
}
