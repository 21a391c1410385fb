package table

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
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
	f := must.Get(os.Create(path))(t)
	w := parquet.NewGenericWriter[T](f, options...)
	must.Get(w.Write(rows))(t)
	must.Do(t, w.Close())
	must.Do(t, f.Close())
	return path
}

func rowsOf(o Options, path, formula string, t testing.TB) ([][]float64, error) {
	t.Helper()
	return copied(o.Rows(find1(t, path), mixed(t, formula)))
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
		want := must.Get(c.options.collect(text, mixed(t, "")))(t)
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
	readKinds(t,
		writeParquet(t, []kinds{{5, 1, 1, -1}, {0, 0, 0, 2}}),
		writeParquet(t, []texts{{5, "1", "TRUE", -100}, {0, " 0", "0", 200}}))
}

// readKinds reads files of two rows: x is 5 and 0, f and b are 1 and 0, y is −1 and 2.
func readKinds(t *testing.T, paths ...string) {
	t.Helper()
	columns := must.Get(schema.ReadSchema(strings.NewReader(`{"fields":[
		{"name":"x","type":"number","constraints":{"minimum":0,"maximum":10}},
		{"name":"f","type":"string","constraints":{"enum":["0","1"]}},
		{"name":"b","type":"boolean"},
		{"name":"y","type":"number","constraints":{"minimum":-1,"maximum":3}}]}`), "kinds"))(t)
	d := must.Get(columns.Design(""))(t)
	want := [][]float64{{0, 1, 1, -1}, {-1, -1, -1, 0.5}}
	for _, path := range paths {
		if got := must.Get(copied(Options{}.Rows(find1(t, path), d)))(t); !sameRows(got, want) {
			t.Errorf("%s: got %v, want %v", path, got, want)
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
		if err == nil || !strings.Contains(err.Error(), want) || reveals(err) || len(rows) != 3 {
			t.Errorf("%d rows, error %v, want %q", len(rows), err, want)
		}
	}
	type floating struct {
		X float64 `parquet:"x"`
		Y bool    `parquet:"y"`
		B float64 `parquet:"b"`
		F float64 `parquet:"f"`
	}
	for formula, want := range map[string]string{"y ~ x": `column "y": it is of type`, "x ~ f": `column "f": it is of type`, "x ~ b": `data.parquet:2: column "b": a cell is neither true nor false`} {
		must.Fail(t, must.Err(rowsOf(Options{}, writeParquet(t, []floating{{B: 1}, {B: .5}}), formula, t)), want)
	}
	rows, err := rowsOf(Options{}, writeParquet(t, []floating{{B: 1}, {}}), "x ~ b", t)
	if err != nil || !reflect.DeepEqual(rows, [][]float64{{1, -1}, {-1, -1}}) {
		t.Errorf("truth values as 1.0 and 0.0: rows %v, error %v", rows, err)
	}
}

// elsewhere are files of a format that others wrote (testdata/parquet.cjs, arrow.cjs): DuckDB,
// Arrow's libraries in Rust and JavaScript, Polars. All have the same rows.
func elsewhere(t testing.TB, format Format) []string {
	t.Helper()
	paths, err := filepath.Glob(fmt.Sprintf("testdata/%s/*", format))
	if err != nil || len(paths) == 0 {
		t.Fatal("no files", err)
	}
	return paths
}

func TestElsewhere(t *testing.T) {
	var text strings.Builder
	text.WriteString("x,y,f,b\n")
	for i := range 60 {
		cells := []string{fmt.Sprint(i % 13), fmt.Sprint(float64(i*37%400)/100 - 1), string(rune('a' + i%3)), fmt.Sprint(i%2 == 0)}
		for j, every := range []int{7, 11, 9} {
			if i%every == 0 {
				cells[j] = ""
			}
		}
		text.WriteString(strings.Join(cells, ",") + "\n")
	}
	o := Options{Missing: Midpoint}
	want := must.Get(o.collect(text.String(), mixed(t, "")))(t)
	for _, path := range append(elsewhere(t, ParquetFormat), elsewhere(t, ArrowFormat)...) {
		if got, err := rowsOf(o, path, "", t); err != nil || !sameRows(got, want) {
			t.Errorf("%s: %d rows and %v, want %d", path, len(got), err, len(want))
		}
		tags := &schema.Design{Response: schema.Column{Name: "y", Lower: -1, Upper: 3}, Covariates: []schema.Column{{Name: "tags", Upper: 10}}}
		for _, err := range o.Rows(find1(t, path), tags) {
			if err == nil || !strings.Contains(err.Error(), `column "tags": it holds lists`) {
				t.Errorf("%s: a list: %v", path, err)
			}
		}
	}
}

// claim writes a file anew with another footer.
func claim(t *testing.T, path string, change func(*format.FileMetaData)) string {
	t.Helper()
	text := must.Get(os.ReadFile(path))(t)
	end := len(text) - 8
	start := end - int(binary.LittleEndian.Uint32(text[end:]))
	var m format.FileMetaData
	must.Do(t, thrift.Unmarshal(&thrift.CompactProtocol{}, text[start:end], &m))
	change(&m)
	footer := must.Get(thrift.Marshal(&thrift.CompactProtocol{}, m))(t)
	text = append(append(text[:start], footer...), "\x00\x00\x00\x00PAR1"...)
	binary.LittleEndian.PutUint32(text[len(text)-8:], uint32(len(footer)))
	path = filepath.Join(t.TempDir(), "data.parquet")
	must.Do(t, os.WriteFile(path, text, 0o600))
	return path
}

// What a footer claims is not believed.
func TestParquetClaims(t *testing.T) {
	for want, change := range map[string]func(m *format.FileMetaData){
		`column "x": the file is damaged here`: func(m *format.FileMetaData) {
			m.Schema[1].ConvertedType.V, m.Schema[1].ConvertedType.Valid = deprecated.List, true
		},
		"this is no Parquet file":                                func(m *format.FileMetaData) { m.NumRows-- },
		"data.parquet: this is no Parquet file":                  func(m *format.FileMetaData) { m.RowGroups[0].Columns = m.RowGroups[0].Columns[:1] },
		`data.parquet:1: column "x": row group 1: the file is `:  func(m *format.FileMetaData) { m.RowGroups[0].Columns[0].MetaData.Codec = format.Lz4Raw },
		`data.parquet:61: column "x": row group 1: the file is `: func(m *format.FileMetaData) { m.NumRows, m.RowGroups[0].NumRows = 1<<40, 1<<40 },
		`data.parquet:1: column "x": row group 1: the file is d`: func(m *format.FileMetaData) { m.NumRows, m.RowGroups[0].NumRows = 50, 50 },
	} {
		_, err := rowsOf(Options{Missing: Midpoint}, claim(t, "testdata/parquet/duckdb_zstd.parquet", change), "", t)
		must.Fail(t, err, want)
	}
}

// damage changes bytes of a file: edits are a place, in two bytes, and what is changed there.
func damage(text, edits []byte) []byte {
	damaged := slices.Clone(text)
	for ; len(edits) > 2; edits = edits[3:] {
		damaged[(int(edits[0])<<8|int(edits[1]))%len(text)] ^= edits[2]
	}
	return damaged
}

// survives reads a damaged file: in bounded memory, and without a word of what it holds.
func survives(t *testing.T, path string, text []byte) {
	t.Helper()
	must.Do(t, os.WriteFile(path, text, 0o600))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	rows, err := rowsOf(Options{Missing: Midpoint}, path, "", t)
	if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > 1<<30 {
		t.Errorf("%d bytes were taken", after.TotalAlloc-before.TotalAlloc)
	}
	for _, row := range rows {
		for _, v := range row {
			if !(math.Abs(v) <= 1) {
				t.Fatalf("row %v", row)
			}
		}
	}
	if err != nil && reveals(err) {
		t.Fatal(err)
	}
}

// Up to three bytes of each file are changed, at random.
// Files put together in one have the rows of the last one's footer alone.
func TestParquetJoined(t *testing.T) {
	for _, name := range elsewhere(t, ParquetFormat) {
		text := must.Get(os.ReadFile(name))(t)
		path := filepath.Join(t.TempDir(), "joined.parquet")
		must.Do(t, os.WriteFile(path, slices.Concat(text, text), 0o600))
		if _, err := rowsOf(Options{Missing: Midpoint}, path, "", t); err == nil || !strings.Contains(err.Error(), "several files put together") {
			t.Errorf("%s twice: error %v", name, err)
		}
	}
}

// damaged files of a format, as many of each as tries, are read, or refused without a word of what they hold.
func damaged(t *testing.T, format Format, tries int) {
	rng := rand.New(rand.NewPCG(10, 10))
	for _, name := range elsewhere(t, format) {
		text, path := must.Get(os.ReadFile(name))(t), filepath.Join(t.TempDir(), filepath.Base(name))
		for range tries {
			var edits []byte
			for range 1 + rng.IntN(3) {
				edits = append(edits, byte(rng.Uint32()), byte(rng.Uint32()), byte(1+rng.IntN(255)))
			}
			survives(t, path, damage(text, edits))
		}
	}
}

// fuzzed files of one format are, with any bytes changed and cut off anywhere.
func fuzzed(f *testing.F, paths []string) {
	var files [][]byte
	for i, path := range paths {
		text := must.Get(os.ReadFile(path))(f)
		files = append(files, text)
		f.Add(byte(i), []byte{0, 40, 255}, len(text))
	}
	path := filepath.Join(f.TempDir(), "data"+filepath.Ext(paths[0]))
	f.Fuzz(func(t *testing.T, which byte, edits []byte, length int) {
		text := damage(files[int(which)%len(files)], edits)
		if length >= 0 && length < len(text) {
			text = text[:length]
		}
		survives(t, path, text)
	})
}

func TestParquetDamaged(t *testing.T) { damaged(t, ParquetFormat, testsize.Of(25, 500)) }

func FuzzParquet(f *testing.F) {
	list, _ := people(rand.New(rand.NewPCG(9, 9)), 20, true)
	fuzzed(f, append(elsewhere(f, ParquetFormat),
		writeParquet(f, list, parquet.PageBufferSize(64), parquet.MaxRowsPerRowGroup(8)),
		writeParquet(f, list, parquet.DataPageVersion(1), parquet.Compression(&parquet.Lz4Raw))))
}

// crafted writes a file of n rows whose columns are all one page, without a value.
func crafted(t *testing.T, columns int, n int64) string {
	t.Helper()
	marshal := func(v any) []byte {
		return must.Get(thrift.Marshal(&thrift.CompactProtocol{}, v))(t)
	}
	run := append(binary.AppendUvarint(nil, uint64(n)<<1), 0)
	body := append(binary.LittleEndian.AppendUint32(nil, uint32(len(run))), run...)
	h := format.PageHeader{UncompressedPageSize: int32(len(body)), CompressedPageSize: int32(len(body))}
	h.DataPageHeader.Valid, h.DataPageHeader.V = true, format.DataPageHeader{NumValues: int32(n), DefinitionLevelEncoding: format.RLE}
	page := append(marshal(h), body...)
	m := format.FileMetaData{Version: 1, NumRows: n, Schema: make([]format.SchemaElement, 1+columns), RowGroups: []format.RowGroup{{NumRows: n}}}
	m.Schema[0].NumChildren.Valid, m.Schema[0].NumChildren.V = true, int32(columns)
	for i := range columns {
		s := &m.Schema[1+i]
		s.Name = fmt.Sprintf("x%d", i)
		s.Type.Valid, s.Type.V = true, format.Double
		s.RepetitionType.Valid, s.RepetitionType.V = true, format.Optional
		chunk := format.ColumnMetaData{Type: format.Double, PathInSchema: []string{s.Name}, NumValues: n, TotalCompressedSize: int64(len(page)), DataPageOffset: 4}
		m.RowGroups[0].Columns = append(m.RowGroups[0].Columns, format.ColumnChunk{MetaData: chunk})
	}
	return writeFooter(t, append([]byte("PAR1"), page...), marshal(m))
}

// writeFooter writes a file with this footer after what is before.
func writeFooter(t *testing.T, before, footer []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "data.parquet")
	text := binary.LittleEndian.AppendUint32(slices.Concat(before, footer), uint32(len(footer)))
	must.Do(t, os.WriteFile(path, append(text, "PAR1"...), 0o600))
	return path
}

// A small file that claims much is read in bounded memory, or refused.
func TestParquetSmallClaims(t *testing.T) {
	for _, c := range []struct {
		path, want string
	}{
		{crafted(t, 10, 1<<17), ""},
		{crafted(t, 10, maxPageValues), "a page of each column needs more than"},
		{writeFooter(t, nil, bytes.Repeat([]byte{0x19}, 8<<20)), "this is no Parquet file"}, // lists in lists
		// A row group whose columns are empty structs.
		{writeFooter(t, nil, slices.Concat([]byte{0x49, 0x1c, 0x19, 0xfc}, binary.AppendUvarint(nil, 1<<20), make([]byte, 1<<20+2))), "this is no Parquet file"},
	} {
		columns := make([]schema.Column, 10)
		for i := range columns {
			columns[i].Name = fmt.Sprintf("x%d", i)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		var err error
		for _, err = range (Options{Missing: Drop}).Values(find1(t, c.path), columns, nil) {
		}
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) || took > 1<<28 {
			t.Errorf("%d bytes were taken, and error %v, want %q", took, err, c.want)
		}
	}
}
