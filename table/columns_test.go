package table

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/schema"
)

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
