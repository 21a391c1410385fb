package table

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/schema"
)

// design has x in 0:10 and y in -1:1, named in that order.
func design() *schema.Design {
	return &schema.Design{
		Response:   schema.Column{Name: "y", Lower: -1, Upper: 1},
		Covariates: []schema.Column{{Name: "x", Lower: 0, Upper: 10}},
		Intercept:  true,
	}
}

// collect reads all rows, up to the first error.
func collect(r io.Reader, d *schema.Design) (rows [][]float64, err error) {
	return copied(Options{}.CSV(r, "data.csv", d))
}

// copied are all rows, up to the first error.
func copied(all iter.Seq2[[]float64, error]) (rows [][]float64, err error) {
	for row, err := range all {
		if err != nil {
			return rows, err
		}
		rows = append(rows, slices.Clone(row))
	}
	return rows, nil
}

func TestCSV(t *testing.T) {
	want := [][]float64{{-1, 0.5}, {0, -1}, {1, 1}}
	for name, text := range map[string]string{
		"plain":            "x,y\n0,0.5\n5,-1\n10,1\n",
		"no last line end": "x,y\n0,0.5\n5,-1\n10,1",
		"CRLF":             "x,y\r\n0,0.5\r\n5,-1\r\n10,1\r\n",
		"byte order mark":  "\ufeffx,y\n0,0.5\n5,-1\n10,1\n",
		"mark and quotes":  "\ufeff\"x\",\"y\"\n\"0\",\"0.5\"\n5,-1\n10,1\n",
		"empty lines":      "\nx,y\n0,0.5\n\n5,-1\n10,1\n\n",
		"spaces, exponent": " x , y\n 0 ,.5\n5e0,-1.\n+1E1, 1\n",
		"tabs":             "\tx,y \t\n\t0,.5\t\n5 \t,-1\n10,\"\t1 \"\n",
		"clamped":          "x,y\n-4,0.5\n5,-1e300\n1e9,7\n",
		"other columns":    "y,name,\"x\",\n0.5,\"a,\"\"b\n\",0,\n-1,NA,5,\n1,,10,3\n",
	} {
		t.Run(name, func(t *testing.T) {
			got := must.Get(collect(iotest.OneByteReader(strings.NewReader(text)), design()))(t)
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}

// secret stands in the cells below and must not stand in any error.
const secret = "4711"

// reveals tells whether an error has the secret but in the path of a file, as a temporary folder's name has digits.
func reveals(err error) bool {
	return strings.Contains(regexp.MustCompile(`/[^\s:]+`).ReplaceAllString(err.Error(), ""), secret)
}

func TestCSVRefuses(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "data.csv: the file is empty"},
		{"\n\n", "data.csv: the file is empty"},
		{"\ufeff", "data.csv: the file is empty"},
		{"x,y\n", "data.csv: there are no rows"},
		{"x,z\n4711,0\n", `data.csv:1: column "y": the header has no such column`},
		{"X,Y\n4711,0\n", `column "x": the header has no such column`},
		{"x,y,x\n1,4711,1\n", "data.csv:1: header: columns 1 and 3 have the same name"},
		{"a4711,y,a4711\n1,4711,1\n", "columns 1 and 3 have the same name"},
		{"secret,4711\n1,1\n", "data.csv:1: this looks like a row of data, since field 2 is no name but a value"},
		{",\n4711,0\n", "since 2 of 2 fields are empty"},
		{"x;z,y\n4711;0,1\n", "separated by comma or by semicolon: say which, by --delim"},
		{"x,y\rb,4711\r", "data.csv:1: lines end with a carriage return alone"},
		{"x\x00,y\n", "header: column 1: the name has control characters"},
		{"\xff\xfex\x00,\x00y\x00\n\x004\x00", "data.csv: this is not UTF-8, but UTF-16: --encoding utf-16 reads it"},
		{"x\x00,\x00y\x00\n\x004\x00", "--encoding utf-16"},
		{"\xfe\xff\x00x\x00,\x00y\x00\n\x004", "--encoding utf-16"},
		{"\x00x\x00,\x00y\x00\n\x004", "iconv -f UTF-16BE -t UTF-8"},
		{"\xff\xfe\x00\x00x\x00\x00\x00,\x00\x00\x00y\x00\x00\x00\n\x00\x00\x004", "not UTF-8, but UTF-32: convert the file, by iconv -f UTF-32LE -t UTF-8"},
		{"\x00\x00\x00x\x00\x00\x00,\x00\x00\x00y\x00\x00\x00\n\x00\x00\x004", "iconv -f UTF-32BE -t UTF-8"},
		{"gr\xf6\xdfe,y\n4711,1\n", "data.csv:1: this is not UTF-8, but probably Windows-1252 or Latin-1: --encoding latin1 reads it"},
		{"x,y\n1,1\n4711\n", "data.csv:3: 1 fields where the header has 2"},
		{"x,y\n4711,1,1\n", "data.csv:2: 3 fields where the header has 2"},
		{"x,y\n4711,\"1\"2\n", "data.csv:2: a quotation mark is out of place"},
		{"x,y\n47\"11,1\n", "data.csv:2: a quotation mark is out of place"},
		{"x,y\n1,1\n4711,\"1\n", "data.csv:3: a quotation mark is out of place or never closed"},
		{"x,y,z\n1,1,\"a\nb\"\n1,4711x,1\n", `data.csv:4: column "y": a cell is not a finite decimal number`},
		{"x,y\n\u00a04711,1\n", `data.csv:2: column "x": a cell is not a finite`},
		{"x,y\n1,\"4711\n\"\n", `data.csv:2: column "y": a cell is not a finite`},
		{"x,y\n4711,\n", `data.csv:2: column "y": missing value`},
		{"x,y\n 	,4711\n", `data.csv:2: column "x": missing value`},
		{"x,y\nNA,4711\n", `data.csv:2: column "x": missing value`},
		{"x,y\n1,NaN\n", `data.csv:2: column "y": a cell is not a finite decimal number`},
		{"x,y\n1,-Inf\n", "not a finite decimal number"},
		{"x,y\n1,0x4711p0\n", "not a finite decimal number"},
		{"x,y\n1,4_711\n", "not a finite decimal number"},
		{"x,y\n1,1e4711\n", "not a finite decimal number"},
		{"x,y\n1,\"4711,5\"\n", "not a finite decimal number"},
		{"x,y\n1,4711 dollars\n", "not a finite decimal number"},
		{"x,y\n1,1\n1,\"" + strings.Repeat("4711", 1<<20) + "\n", "data.csv: after line 2: a record is longer than"},
		{strings.Repeat("x", 1<<21), "a record is longer than"},
	} {
		_, err := collect(strings.NewReader(c.text), design())
		var place *Error
		switch {
		case err == nil:
			t.Errorf("%.40q: no error, want %q", c.text, c.want)
		case !errors.As(err, &place):
			t.Errorf("%.40q: error %q is no *Error", c.text, err)
		case !strings.Contains(err.Error(), c.want):
			t.Errorf("%.40q: error %q does not hold %q", c.text, err, c.want)
		case strings.Contains(err.Error(), secret):
			t.Errorf("%.40q: error %q holds a cell", c.text, err)
		}
	}
}

// stray is a table of n rows in which two quotation marks make one cell of the rows from the
// first of these to the second.
func stray(n, first, second int) string {
	var b strings.Builder
	b.WriteString("x,y,comment\n")
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "%d,0.%d,%s\n", i%10, i%10, map[int]string{first: "\"hello", second: "4711\""}[i])
	}
	return b.String()
}

// Two stray quotation marks do not swallow rows, whoever reads them; a comment of several
// lines is one, and is told of.
func TestCSVEnclosed(t *testing.T) {
	refused := func(how string, err error, line int) {
		t.Helper()
		if want := fmt.Sprintf(`:%d: column "comment": quotation marks make one cell of`, line); err == nil ||
			!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), "hello") {
			t.Errorf("%s: error %v, want %q", how, err, want)
		}
	}
	sink := func([]float64) error { return nil }
	for _, rows := range [][2]int{{100, 900}, {100, 101}, {1, 30000}} {
		text, line := stray(30000, rows[0], rows[1]), rows[0]+1
		_, err := collect(strings.NewReader(text), design())
		refused("CSV", err, line)
		s := find1(t, write(t, filepath.Join(t.TempDir(), "data.csv"), text))
		refused("Scan", Options{}.Scan(t.Context(), s, design(), sink, sink, sink), line)
		_, _, all, err := Options{}.Columns(strings.NewReader(text), "data.csv", design().Columns(), nil)
		for _, e := range all {
			err = e
		}
		refused("Columns", err, line)
	}
	for text, rows := range map[string]int{ // 0: the lines are rows
		"x,y,comment\n1,1,\"hello\n2,,b\n3,,c\n4,,\"\n5,1,d\n":       0, // without some cells
		"x,y,comment\n1,1,\"hello\n2,none,b\n3,,\"\n5,1,d\n":         0, // with others that fit not
		"x,y,comment\n1,1,\"hello\r\n\r\n2,,b\r\n3,,\"\r\n":          0,
		"x,comment,y\n1,\"hello,1\n2,b\",1\n3,c,1\n":                 0, // the end of a row and the beginning of one
		"x,comment,y\n1,\"hello, you\nwell, b\",1\n3,c,1\n":          2,
		"x,y,comment\n1,1,\"it was\n120,80,\nas before\"\n2,1,d\n":   2,
		"x,y,comment\n1,1,\"so, so, \nand on\"\n2,1,d\n":             2,
		"x,y,comment\n1,1,\"a\n1,2\n3,4\"\n2,1,d\n":                  2,
		"x,y,other,comment\n1,1,\"a, b\nc\",\"d, e\n\nf\"\n2,1,,d\n": 2,
	} {
		got, err := collect(strings.NewReader(text), design())
		if (rows == 0) != (err != nil) || len(got) != rows || err != nil && !strings.Contains(err.Error(), `data.csv:2: column "comment": quotation marks make one`) {
			t.Errorf("%q: %d rows, error %v; want %d rows", text, len(got), err, rows)
		}
	}
	_, err := collect(strings.NewReader("comment,x,y\na\"b,1,1\nc\",2,1\n"), design())
	must.Fail(t, err, "data.csv:2: a quotation mark is out of place")

	s := find1(t, write(t, filepath.Join(t.TempDir(), "data.csv"), "x,y,comment\n1,1,none\n2,0,\"sees, on 4711,\nwell\nagain\"\n3,1,\"1\n2\"\n"))
	if err := s.Warning(); err != nil {
		t.Errorf("warning before the rows: %v", err)
	}
	for range 2 { // counts are those of one reading
		if got, err := all(s); err != nil || len(got) != 3 {
			t.Errorf("%d rows, %v", len(got), err)
		}
	}
	if err := s.Warning(); err == nil || !strings.Contains(err.Error(), "data.csv:3: ") || !strings.Contains(err.Error(), "2 cells and 3 line ends") {
		t.Errorf("warning %v", err)
	}
}

func TestCSVErrors(t *testing.T) {
	_, err := collect(strings.NewReader("x,y\n1,\n"), design())
	var place *Error
	if !errors.Is(err, ErrMissing) || !errors.As(err, &place) || place.Line != 2 || place.Column != "y" || place.File != "data.csv" {
		t.Errorf("got %#v", err)
	}
	broken := errors.New("broken disk")
	for _, text := range []string{"", "x", "x,y\n", "x,y\n1,1\n2,"} {
		r := io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken))
		if _, err := collect(r, design()); !errors.Is(err, broken) {
			t.Errorf("%q: got %v, want %v", text, err, broken)
		}
	}
	if _, err := collect(strings.NewReader("x,y\n1,1\n"), &schema.Design{}); err == nil {
		t.Error("an invalid design was taken")
	}
}

func TestCSVStops(t *testing.T) {
	n := 0
	for range (Options{}).CSV(strings.NewReader("x,y\n1,1\n2,1\n3,oops\n"), "data.csv", design()) {
		if n++; n == 2 {
			break
		}
	}
	if n != 2 {
		t.Errorf("%d rows", n)
	}
}

func TestHeader(t *testing.T) {
	got, err := Form{}.read(strings.NewReader("\ufeff\"\", a b ,\"c,d\"\r\n1,2,3\r\n"), "data.csv").publicNames(nil)
	if want := []string{"", "a b", "c,d"}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

// A row of data that stands first is refused, and not shown; a name that is known, or rows
// of another kind below, tell a header.
func TestHeaderless(t *testing.T) {
	const row = "looks like a row of data"
	for text, want := range map[string]string{
		"4711,1,9\n":                                 row,
		"Ann,1970-01-31\nBob,1980-01-31\n":           row,
		"Ann,31/1/1970\nBob,1/1/1980\n":              row,
		"Ann,1970-01-31T08:00:00Z\nBob,\n":           row,
		"Ann,\"4,5\"\nBob,\"1,5\"\n":                 row,
		"Ann,$ 4711\nBob,$ 4712\n":                   row,
		"Ann,+49 4711\nBob,+49 4712\n":               row,
		"Ann,ann@example.org\nBob,bob@example.org\n": row,
		"Ann,NA\nBob,3\n":                            row,
		"Ann,.\nBob,3\n":                             row,
		"Ann,true\nBob,false\n":                      row,
		"Ann,,,\nBob,1,2,3\n":                        row,
		"Ann,\\N\nBob,3\n":                           row,
		"Ann,<NA>\nBob,3\n":                          row,
		"Ann,#N/A\nBob,3\n":                          row,
		"Ann,-Inf\nBob,3\n":                          row,
		"Ann,4711kg\nBob,3\n":                        row,
		"Ann,1/2/1970 3:04 PM\nBob,3\n":              row,
		"Ann,Ann\nBob,4711\n":                        "have the same name",
		"Ann,Rome\nBob,Oslo\nEve,Rome\n":             "since field 2 stands again below it, on line 4",
		"Ann,Rome\nBob,4711\nEve,Rome\n":             "since field 2 stands again below it",
		"Ann,Rome\nBob,Oslo\n":                       "may be a row of data",
		"Ann,Rome\nBob,NA\n":                         "may be a row of data",
		"Ann,Rome\nBob,Oslo\n" + "\"":                "may be a row of data",
		"name,town\nBob,4711\n":                      "",
		"name,owner\nBob,TRUE\n":                     "",
		"name,town\nBob,\nEve,1970-01-31\n":          "",
		"name,town\n":                                "",
	} {
		names, err := Form{}.read(strings.NewReader("\n"+text), "data.csv").publicNames(nil)
		switch {
		case want == "" && (err != nil || len(names) != 2):
			t.Errorf("%q: %q, %v", text, names, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "data.csv:2: ")):
			t.Errorf("%q: error %v, want %q", text, err, want)
		case err != nil && regexp.MustCompile(`Ann|Rome|4711|1970|example`).MatchString(err.Error()):
			t.Errorf("%q: error %q shows the row", text, err)
		}
	}
	for text, want := range map[string]string{ // of known columns x and y
		"x,y\na,b\n": "",
		"country,2019,18-24,2020-01,NA,none,true,.,y,x\n": "",
		"x,y,,,\n1,2,,,\n":         "",
		"x,y,Asthma\n1,2,Asthma\n": "",
		"x,town\nBob,Oslo\n":       "",
		"x,2019\n1,2\n":            row,
		"Ann,refused\nBob,4711\n":  `has no column "x", "y"`,
	} {
		names, err := Form{}.read(strings.NewReader(text), "data.csv").publicNames([]string{"y", "x"})
		if n := strings.Count(strings.SplitN(text, "\n", 2)[0], ",") + 1; want == "" && (err != nil || len(names) != n) ||
			want != "" && (err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "Ann")) {
			t.Errorf("%q: %q, error %v, want %q", text, names, err, want)
		}
		if want == "" && strings.Contains(text, "2019") {
			for _, err := range (Options{Empty: true}).CSV(strings.NewReader(text), "data.csv", design()) {
				t.Errorf("%q: %v", text, err)
			}
		}
	}
}

// The shipped tables fit their schemas: no row is refused, and none is clamped.
func TestShippedData(t *testing.T) {
	for _, c := range []struct {
		name, formula string
		rows          int
	}{{"pums", "income ~ .", 1000}, {"pums", "income ~ educ", 1000}, {"cirrhosis", "", 46}} {
		s := must.Get(os.Open("../testdata/" + c.name + ".schema.json"))(t)
		defer s.Close()
		columns := must.Get(schema.ReadSchema(s, c.name))(t)
		d := must.Get(columns.Design(c.formula))(t)
		data := must.Get(os.Open("../testdata/" + c.name + ".csv"))(t)
		defer data.Close()
		got, err := collect(data, d)
		if err != nil || len(got) != c.rows {
			t.Errorf("%s: %d rows, %v, want %d", c.name, len(got), err, c.rows)
		}
	}
}

// repeated yields the header and then line over and over.
type repeated struct {
	head, line string
	lines      int
	rest       string
}

func (r *repeated) Read(p []byte) (int, error) {
	if r.rest == "" {
		if r.rest, r.head = r.head, ""; r.rest == "" {
			if r.lines == 0 {
				return 0, io.EOF
			}
			r.lines--
			r.rest = r.line
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// The live heap after all rows is what it was after the first thousand: 1 MB is
// less than a sixth of what the rows would take if they were kept.
func TestCSVMemory(t *testing.T) {
	const few, many, slack = 1000, 200000, 1 << 20
	n := 0
	var stats runtime.MemStats
	var before uint64
	for row, err := range (Options{}).CSV(&repeated{head: "x,y\n", line: "3.25,0.5\n", lines: many}, "data.csv", design()) {
		must.Do(t, err)
		if math.Abs(row[0]) > 1 {
			t.Fatal(row)
		}
		if n++; n == few || n == many {
			runtime.GC()
			runtime.ReadMemStats(&stats)
		}
		if n == few {
			before = stats.HeapAlloc
		}
	}
	if n != many || stats.HeapAlloc > before+slack {
		t.Errorf("%d rows, heap from %d to %d bytes", n, before, stats.HeapAlloc)
	}
}

// What is written with few digits is taken, and what is taken is right.
func TestDecimal(t *testing.T) {
	for _, text := range []string{"0", "-0", "0.0", "-0.000", "1", "-12.5", "007", "5.", ".5", "-.25", "0.1", "0.000000000000000001", "9007199254740992", "-9007199254740.992", "0000000000000000123", "9007199254740993", "9999999999999999999", "-0.30000000000000004", "0.999999999999999999"} {
		if !wantParsed(t, text) {
			t.Errorf("%s is not taken", text)
		}
	}
	for _, text := range []string{"", "-", ".", "-.", "+1", "1e3", "12345678901234567890", "00000000000000000001", "1_0", "0x1", "Inf", "NaN", " 1", "--1", "1-", "1..2"} {
		if wantParsed(t, text) {
			t.Errorf("%s is taken", text)
		}
	}
	rng := rand.New(rand.NewPCG(7, 7))
	for range 200000 {
		v := math.Ldexp(rng.Float64(), rng.IntN(80)-40)
		text := strconv.FormatFloat(v, 'f', rng.IntN(18)-1, 64)
		if taken := wantParsed(t, text); taken != (len(strings.Replace(text, ".", "", 1)) <= maxDigits) {
			t.Fatalf("%s: taken %v", text, taken)
		}
	}
	// Close to the middle between two numbers: 2⁵³+1 and its like, and a digit beside.
	for range 200000 {
		middle := (1<<53+rng.Uint64N(1<<53))<<rng.IntN(10)*2 + 1
		text := strconv.FormatUint(middle+rng.Uint64N(3)-1, 10)
		at := rng.IntN(len(text) + 1)
		text = text[:at] + "." + text[at:]
		if taken := wantParsed(t, text); taken != (len(text) <= maxDigits+1) {
			t.Fatalf("%s: taken %v", text, taken)
		}
	}
}

func FuzzDecimal(f *testing.F) {
	for _, text := range []string{"0.1", "-5.", "9007199254740993", "123456789.123456789", "1e5", "0.30000000000000004", "00.00"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { wantParsed(t, text) })
}
