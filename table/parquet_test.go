package table

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/dpreg/dpreg/schema"
)

// person is a row of mixed in a Parquet file, with columns that are not wanted.
type person struct {
	Name string   `parquet:"name"`
	Y    *float64 `parquet:"y,optional"`
	F    *string  `parquet:"f,dict,optional"`
	B    *bool    `parquet:"b,optional"`
	X    *float64 `parquet:"x,dict,optional,zstd"`
	Tags []string `parquet:"tags,list"`
}

// people are random rows, and their text; some cells are missing where that is asked.
func people(rng *rand.Rand, n int, missing bool) (list []person, text string) {
	var b strings.Builder
	b.WriteString("x,y,f,b\n")
	for range n {
		x, y := float64(rng.IntN(13)), 4*rng.Float64()-1
		f, truth := string(rune('a'+rng.IntN(3))), rng.IntN(2) == 1
		p := person{"4711", &y, &f, &truth, &x, []string{"a", "b"}}
		cells := []string{fmt.Sprint(x), fmt.Sprint(y), f, fmt.Sprint(truth)}
		for j := range cells {
			if missing && rng.IntN(9) == 0 {
				cells[j] = ""
				switch j {
				case 0:
					p.X = nil
				case 1:
					p.Y = nil
				case 2:
					p.F = nil
				case 3:
					p.B = nil
				}
			}
		}
		list = append(list, p)
		b.WriteString(strings.Join(cells, ",") + "\n")
	}
	return list, b.String()
}

func writeParquet[T any](t testing.TB, rows []T, options ...parquet.WriterOption) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "data.parquet")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := parquet.NewGenericWriter[T](f, options...)
	if _, err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func rowsOf(o Options, path, formula string, t testing.TB) (rows [][]float64, err error) {
	t.Helper()
	s, err := Find(path)
	if err != nil {
		t.Fatal(err)
	}
	for row, err := range o.Rows(s, mixed(t, formula)) {
		if err != nil {
			return rows, err
		}
		rows = append(rows, slices.Clone(row))
	}
	return rows, nil
}

// A Parquet file has the rows of the comma-separated one, to the bit, whatever the pages
// and row groups.
func TestParquet(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	for _, c := range []struct {
		options Options
		missing bool
	}{{Options{}, false}, {Options{Missing: Midpoint}, true}, {Options{Missing: Drop}, true}, {Options{Missing: Drop, NA: []string{"3", "a"}[:1]}, true}} {
		list, text := people(rng, 1500, c.missing)
		want, wantErr := c.options.collect(text, mixed(t, ""))
		if wantErr != nil {
			t.Fatal(wantErr)
		}
		for _, options := range [][]parquet.WriterOption{
			{}, {parquet.PageBufferSize(300), parquet.MaxRowsPerRowGroup(400)}, {parquet.DataPageVersion(1), parquet.Compression(&parquet.Snappy)},
		} {
			got, err := rowsOf(c.options, writeParquet(t, list, options...), "", t)
			if err != nil || !sameRows(got, want) {
				t.Errorf("%+v: %d rows and %v, want %d", c.options, len(got), err, len(want))
			}
		}
	}
}

// kinds has numbers of every kind that counts.
type kinds struct {
	X int32   `parquet:"x"`
	F int64   `parquet:"f"`
	B uint8   `parquet:"b"`
	Y float32 `parquet:"y"`
}

type texts struct {
	X uint64 `parquet:"x"`
	F string `parquet:"f"`
	B string `parquet:"b"`
	Y int64  `parquet:"y,decimal(2:18)"`
}

// Integers may be levels and truth values, texts may be numbers, decimals are exact.
func TestParquetKinds(t *testing.T) {
	columns, err := schema.ReadSchema(strings.NewReader(`{"fields":[
		{"name":"x","type":"number","constraints":{"minimum":0,"maximum":10}},
		{"name":"f","type":"string","constraints":{"enum":["0","1"]}},
		{"name":"b","type":"boolean"},
		{"name":"y","type":"number","constraints":{"minimum":-1,"maximum":3}}]}`), "kinds")
	if err != nil {
		t.Fatal(err)
	}
	d, err := columns.Design("")
	if err != nil {
		t.Fatal(err)
	}
	want := [][]float64{{0, 1, 1, -1}, {-1, -1, -1, 0.5}}
	for _, path := range []string{
		writeParquet(t, []kinds{{5, 1, 1, -1}, {0, 0, 0, 2}}),
		writeParquet(t, []texts{{5, "1", "TRUE", -100}, {0, " 0", "0", 200}}),
	} {
		var got [][]float64
		for row, err := range (Options{}).Rows(find1(t, path), d) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, slices.Clone(row))
		}
		if !sameRows(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
}

// What is wrong is told with the file, the row and the column, and without the cell.
func TestParquetRefuses(t *testing.T) {
	number := func(v float64) *float64 { return &v }
	text := func(s string) *string { return &s }
	yes := true
	good := person{Y: number(1), F: text("a"), B: &yes, X: number(4711)}
	for want, bad := range map[string]person{
		`data.parquet:4: column "x": a cell is not a finite`: {Y: number(1), F: text("4711"), B: &yes, X: number(math.NaN())},
		`data.parquet:4: column "y": a cell is not a finite`: {Y: number(math.Inf(1)), F: text("a"), B: &yes, X: number(4711)},
		`data.parquet:4: column "f": a cell is none of`:      {Y: number(1), F: text("4711"), B: &yes, X: number(1)},
		`data.parquet:4: column "b": missing value`:          {Y: number(1), F: text("a"), X: number(4711)},
	} {
		path := writeParquet(t, []person{good, good, good, bad, {}}, parquet.MaxRowsPerRowGroup(3))
		rows, err := rowsOf(Options{}, path, "", t)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), secret) || len(rows) != 3 {
			t.Errorf("%d rows, error %v, want %q", len(rows), err, want)
		}
	}
	for formula, want := range map[string]string{"y ~ x": `column "y": it is of type`, "x ~ b": `column "b": it is of type`} {
		if _, err := rowsOf(Options{}, writeParquet(t, []struct {
			X float64 `parquet:"x"`
			Y bool    `parquet:"y"`
			B float64 `parquet:"b"`
		}{{}}), formula, t); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", formula, err, want)
		}
	}
}

// A file with any bytes changed is read, or refused without a word of what it holds.
func FuzzParquet(f *testing.F) {
	rng := rand.New(rand.NewPCG(9, 9))
	list, _ := people(rng, 20, true)
	path := writeParquet(f, list, parquet.PageBufferSize(64), parquet.MaxRowsPerRowGroup(8))
	text, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(0, byte(1), len(text))
	f.Add(40, byte(255), len(text))
	f.Fuzz(func(t *testing.T, at int, change byte, length int) {
		damaged := append([]byte(nil), text...)
		if at >= 0 {
			damaged[at%len(text)] ^= change
		}
		if length >= 0 && length < len(text) {
			damaged = damaged[:length]
		}
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		rows, err := rowsOf(Options{Missing: Midpoint}, path, "", t)
		for _, row := range rows {
			for _, v := range row {
				if !(math.Abs(v) <= 1) {
					t.Fatalf("row %v", row)
				}
			}
		}
		if err != nil && strings.Contains(err.Error(), secret) {
			t.Fatal(err)
		}
	})
}
