package table

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/schema"
)

// mixed has x in 0:10, the factor f with levels a, b, c, the boolean b and y in -1:3.
func mixed(t testing.TB, formula string) *schema.Design {
	t.Helper()
	s := must.Get(schema.ReadSchema(strings.NewReader(`{"fields":[
		{"name":"x","type":"number","constraints":{"minimum":0,"maximum":10}},
		{"name":"f","type":"string","constraints":{"enum":["a","b","c"]}},
		{"name":"b","type":"boolean"},
		{"name":"y","type":"number","constraints":{"minimum":-1,"maximum":3}}]}`), "mixed"))(t)
	return must.Get(s.Design(formula))(t)
}

func (o Options) collect(text string, d *schema.Design) (rows [][]float64, err error) {
	return copied(o.CSV(strings.NewReader(text), "data.csv", d))
}

func TestMissing(t *testing.T) {
	const text = "y,b,f,x\n3,true,b,10\n-1, FALSE , a ,0\nNA,0,c,5\n1,,c, NA\n1,1,NA,-\n"
	whole := [][]float64{{1, 1, -1, 1, 1}, {-1, -1, -1, -1, -1}}
	for _, c := range []struct {
		options Options
		formula string
		want    [][]float64
	}{
		{Options{Missing: Midpoint, NA: []string{"NA", "-"}}, "", append(whole[:2:2], []float64{0, -1, 1, -1, 0}, []float64{0, -1, 1, 0, 0}, []float64{0, 0, 0, 1, 0})},
		{Options{Missing: Drop, NA: []string{" - ", "NA"}}, "", whole},
		{Options{Missing: Drop, NA: []string{"NA", "3", "-1", "1"}}, "y ~ b", nil},
		{Options{Missing: Drop}, "y ~ b + f", [][]float64{{1, 1, -1, 1}, {-1, -1, -1, -1}}},
		// Without an intercept nothing is shifted, so that the middle is not 0.
		{Options{Missing: Midpoint}, "y ~ f + b - 1", [][]float64{
			{0, 1, 0, 1, 1}, {1, 0, 0, 0, -1. / 3}, {0, 0, 1, 0, 1. / 3}, {0, 0, 1, 0.5, 1. / 3}, {0.5, 0.5, 0.5, 1, 1. / 3}}},
	} {
		got, err := c.options.collect(text, mixed(t, c.formula))
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%+v, %q: got %v, %v, want %v", c.options, c.formula, got, err, c.want)
		}
	}
}

func TestOptionsRefuse(t *testing.T) {
	fill := Options{Missing: Midpoint}
	for _, c := range []struct {
		options Options
		text    string
		want    string
	}{
		{Options{}, "x,f,b,y\n1,4711,1,1\n", `data.csv:2: column "f": a cell is none of the levels`},
		{Options{}, "x,f,b,y\nNaN,a,1,1\n", "if its text means missing, as NaN or a dot may, name it: --na TEXT"},
		{Options{}, "x,f,b,y\n1,.,1,1\n", "name it: --na TEXT"},
		{Options{}, "x,f,b,y\n1,a,nan,1\n", "name it: --na TEXT"},
		{Options{}, "x,f,b,y\n1,\xe4,1,1\n", `data.csv:2: column "f": this is not UTF-8, but probably Windows-1252`},
		{Options{}, "x,f,b,y\n1,A,1,1\n", `data.csv:2: column "f": a cell is none of the levels`},
		{fill, "x,f,b,y\n1,a,1,1\n1,4711,1,1\n", `data.csv:3: column "f": a cell is none of the levels`},
		{Options{}, "x,f,b,y\n1,a,4711,1\n", `data.csv:2: column "b": a cell is neither true nor false`},
		{Options{}, "x,f,b,y\n1,a,T,1\n", "neither true nor false, 1 nor 0; others, as yes and no, are levels: --levels b=no,yes"},
		{Options{}, "x,f,b,y\n1,a,1.01,1\n", "neither true nor false"},
		{Options{}, "x,f,b,y\n1,a,1.,1\n", "neither true nor false"},
		{fill, "x,f,b,y\n4711x,a,1,1\n", `data.csv:2: column "x": a cell is not a finite`},
		{Options{}, "x,f,b,y\n1,,1,1\n", `data.csv:2: column "f": missing value`},
		{Options{}, "x,f,b,y\n1,a,NA,1\n", `data.csv:2: column "b": missing value`},
		{Options{NA: []string{"-9"}}, "x,f,b,y\n-9,a,1,1\n", `data.csv:2: column "x": missing value`},
		{Options{NA: []string{"-9"}}, "x,f,b,y\nNA,a,1,1\n", "a cell is not a finite"},
		{Options{NA: []string{}}, "x,f,b,y\nNA,a,1,1\n", "a cell is not a finite"},
		{Options{NA: []string{}}, "x,f,b,y\n,a,1,1\n", "missing value"},
		{Options{NA: []string{"z", " b "}}, "x,f,b,y\n1,a,1,1\n", `data.csv: column "f": "b" is a level, and means that a cell is missing, too`},
		{Options{}, "x,fb,fc,b,y\n1,0,1,1,1\n", `data.csv:1: column "f": the header has no such column`},
		{Options{Missing: Drop}, "x,f,b,y\n", "data.csv: there are no rows"},
		{Options{Missing: "dorp"}, "x,f,b,y\n1,a,1,1\n", `"dorp" is none of error, midpoint and drop`},
	} {
		_, err := c.options.collect(c.text, mixed(t, ""))
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), secret) {
			t.Errorf("%+v, %q: error %v does not say %q", c.options, c.text, err, c.want)
		}
	}
	if _, _, _, err := (Options{Missing: "dorp"}).Columns(strings.NewReader("x\n1\n"), "data.csv", nil, nil); err == nil {
		t.Error("Columns took options that do not exist")
	}
}

// A level "NA", as Namibia's, is a level where another text means missing.
func TestLevelNA(t *testing.T) {
	s := must.Get(schema.ReadSchema(strings.NewReader(`{"fields":[{"name":"land","type":"string","constraints":{"enum":["ZA","NA"]}},
		{"name":"y","constraints":{"minimum":-1,"maximum":1}}]}`), "land"))(t)
	d := must.Get(s.Design(""))(t)
	must.Fail(t, must.Err((Options{}).collect("land,y\nNA,1\n", d)), `"NA" is a level`)
	got, err := Options{NA: []string{""}}.collect("land,y\nNA,1\nZA,-1\n", d)
	if want := [][]float64{{1, 1}, {-1, -1}}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
}

func TestColumnsOfDesign(t *testing.T) {
	d := mixed(t, "y ~ f + x + b")
	header, _, rows, err := Options{}.Columns(strings.NewReader("id,b,x,f\n7,true,20,c\n8,0,-1,a\n"), "new.csv", d.Covariates, d.Factors)
	if err != nil || len(header) != 4 {
		t.Fatal(header, err)
	}
	want := [][]float64{{0, 1, 20, 1}, {0, 0, -1, 0}}
	for row, err := range rows {
		if err != nil || len(want) == 0 || !reflect.DeepEqual(row.Values, want[0]) {
			t.Fatalf("got %+v, %v, want %v", row, err, want)
		}
		want = want[1:]
	}
	if len(want) != 0 {
		t.Errorf("no row for %v", want)
	}
	_, _, rows, err = Options{}.Columns(strings.NewReader("b,x,f\n1,1,4711\n"), "new.csv", d.Covariates, d.Factors)
	must.Do(t, err)
	for _, err := range rows {
		if err == nil || !strings.HasSuffix(err.Error(), errLevel.wrong) {
			t.Errorf("error %v", err)
		}
	}
}

// Rows lie in the box, at most one dummy is 1, and errors hold nothing of the data.
func FuzzMixed(f *testing.F) {
	for _, body := range []string{"1,a,true,2\n", "1,b,0,NA\n,c,,3\n", "NA,NA,NA,NA\n", "1,d,1,1\n", "1, a ,TRUE,1e999\n", "\"1\",\"c\",\"0\",\"\"\n"} {
		for missing := range 3 {
			f.Add(body, missing, "NA")
		}
		f.Add(body, 1, "c")
	}
	f.Fuzz(func(t *testing.T, body string, missing int, na string) {
		o := Options{Missing: []Missing{MissingError, Midpoint, Drop}[uint(missing)%3], NA: []string{na}}
		for row, err := range o.CSV(io.LimitReader(strings.NewReader("x,f,b,y\n"+body), 1<<16), "data.csv", mixed(t, "")) {
			if err != nil {
				if len(err.Error()) > 250 {
					t.Fatalf("error %q", err)
				}
				return
			}
			for _, v := range row {
				if !(math.Abs(v) <= 1) {
					t.Fatalf("row %v", row)
				}
			}
			if row[1]+row[2] > 0 {
				t.Fatalf("two levels at once: %v", row)
			}
		}
	})
}

// A table without rows is an error by every way of reading it, unless Options.Empty; one
// without a header always is.
func TestEmpty(t *testing.T) {
	d := &schema.Design{
		Covariates: []schema.Column{{Name: "x", Lower: 0, Upper: 1}},
		Response:   schema.Column{Name: "y", Lower: 0, Upper: 1},
		Intercept:  true,
	}
	for _, c := range []struct {
		text  string
		empty bool
		says  string
	}{{"x,y\n", true, ""}, {"x,y\n", false, "there are no rows"}, {"", true, "first line"}} {
		o := Options{Empty: c.empty}
		path := filepath.Join(t.TempDir(), "data.csv")
		must.Do(t, os.WriteFile(path, []byte(c.text), 0o600))
		source := must.Get(Find(path))(t)
		sink := func(rows []float64) error { t.Errorf("%q: rows %v", c.text, rows); return nil }
		for way, read := range map[string]func() error{
			"CSV": func() (err error) {
				for _, err = range o.CSV(strings.NewReader(c.text), "data.csv", d) {
				}
				return err
			},
			"Columns": func() error {
				_, _, rows, err := o.Columns(strings.NewReader(c.text), "data.csv", d.Columns(), nil)
				if err != nil {
					return err
				}
				for _, err = range rows {
				}
				return err
			},
			"Rows": func() (err error) {
				for _, err = range o.Rows(source, d) {
				}
				return err
			},
			"Scan": func() error { return o.Scan(context.Background(), source, d, sink, sink) },
		} {
			switch err := read(); {
			case c.says == "" && err != nil:
				t.Errorf("%s of %q: %v", way, c.text, err)
			case c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)):
				t.Errorf("%s of %q: error %v does not say %q", way, c.text, err, c.says)
			}
		}
	}
}

// Numbers with zeros after the point are truth values, as those of a column that once had missing cells.
func TestTruthAsNumbers(t *testing.T) {
	want := must.Get(Options{}.collect("x,f,b,y\n1,a,1,1\n1,a,0,1\n", mixed(t, "")))(t)
	got, err := Options{}.collect("x,f,b,y\n1,a,1.0,1\n1,a,0.00,1\n", mixed(t, ""))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
}

// columnsOf reads x and y of a text, in that order; the rows are printed.
func columnsOf(r io.Reader) (rows []string, err error) {
	header, _, sequence, err := Options{}.Columns(r, "new.csv", []schema.Column{{Name: "x"}, {Name: "y"}}, nil)
	if err != nil {
		return nil, err
	}
	for row, err := range sequence {
		if err != nil {
			return rows, err
		}
		rows = append(rows, fmt.Sprintf("%d %q %v", row.Line, row.Fields, row.Values))
		if len(row.Fields) != len(header) {
			return rows, errors.New("ragged")
		}
	}
	return rows, nil
}

// Columns in another order, others kept, values outside every bound not clamped.
func TestColumns(t *testing.T) {
	text := "\ufeffname, y,x\r\n\"a,\nb\",1e9,-2\r\n\r\nNA, 3 ,4"
	got, err := columnsOf(iotest.OneByteReader(strings.NewReader(text)))
	want := `2 ["a,\nb" "1e9" "-2"] [-2 1e+09]; 5 ["NA" " 3 " "4"] [4 3]`
	if err != nil || strings.Join(got, "; ") != want {
		t.Errorf("got %s, %v, want %s", strings.Join(got, "; "), err, want)
	}
}

func TestColumnsRefuses(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "new.csv: the file is empty"},
		{"x,y\n", "new.csv: there are no rows"},
		{"x,z\n1,2\n", `new.csv:1: column "y": the header has no such column`},
		{"x,y\n1,2\n1\n", "new.csv:3: 1 fields where the header has 2"},
		{"a,x,y\n\"b\nc\",1,4711x\n", `new.csv:3: column "y": a cell is not a finite decimal number`},
		{"x,y\n,4711\n", `new.csv:2: column "x": missing value`},
		{"x,y\n4711,\"\n", "new.csv:2: a quotation mark"},
	} {
		_, err := columnsOf(strings.NewReader(c.text))
		var place *Error
		if !errors.As(err, &place) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), "--na") {
			t.Errorf("%q: error %v, want %q", c.text, err, c.want)
		}
	}
	for range 2 { // the sequence may be left
		_, _, rows, err := Options{}.Columns(strings.NewReader("x,y\n1,2\n3,4\n"), "new.csv", []schema.Column{{Name: "x"}}, nil)
		must.Do(t, err)
		for range rows {
			break
		}
	}
}

// Columns and CSV take the same rows.
func FuzzColumns(f *testing.F) {
	for _, body := range []string{"0,0.5\n5,-1\n", "1,\"2\"\r\n", "1,\n", "NaN,1\n", "1,2,3\n", "\"1\n", "", "\n\n1,1"} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		text := "x,y\n" + body
		got, gotErr := columnsOf(strings.NewReader(text))
		want, wantErr := collect(strings.NewReader(text), design())
		if len(got) != len(want) || (gotErr == nil) != (wantErr == nil) {
			t.Fatalf("%d rows and %v, CSV has %d and %v", len(got), gotErr, len(want), wantErr)
		}
	})
}
