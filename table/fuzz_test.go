package table

import (
	"math"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
)

// everyError is all that an error about a body below the header "x,y" can say:
// numbers stand only for lines and counts, so no text of a cell can be in it.
var everyError = regexp.MustCompile(`^data\.csv(:\d+)?: (column "[xy]": )?(` + strings.Join([]string{
	"there are no rows after the header",
	`\d+ fields where the header has 2, separated by comma`,
	`a quotation mark is out of place or never closed \(fields are separated by [a-z]+\)`,
	regexp.QuoteMeta(ErrMissing.Error()),
	regexp.QuoteMeta(errCell.Error()),
	`after line \d+: ` + regexp.QuoteMeta(errRecord.Error()),
}, "|") + `)$`)

// Rows lie in [-1, 1]², and errors hold nothing of the data.
func FuzzCSV(f *testing.F) {
	for _, body := range []string{
		"0,0.5\n5,-1\n", "1,\"2\"\r\n", "1,\n", "NA,1\n", "NaN,0x1p3\n", "1e999,1_0\n", "1,2,3\n", "\"1\n", "1\"2,3\n", "", "\n\n1,1",
	} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		rows, err := collect(strings.NewReader("x,y\n"+body), design())
		for _, row := range rows {
			if len(row) != 2 || !(math.Abs(row[0]) <= 1 && math.Abs(row[1]) <= 1) {
				t.Fatalf("row %v", row)
			}
		}
		if err == nil && len(rows) == 0 {
			t.Fatal("neither rows nor an error")
		}
		if err != nil && !everyError.MatchString(err.Error()) {
			t.Fatalf("error %q", err)
		}
	})
}

// Names are sound, or there is an error that repeats none of them.
func FuzzHeader(f *testing.F) {
	for _, path := range []string{"../testdata/pums.csv", "../testdata/cirrhosis.csv"} {
		text := must.Get(os.ReadFile(path))(f)
		f.Add(string(text[:200]))
	}
	for _, text := range []string{"", "\ufeffx,y", "\"\",x\r\n", "59,1\n", "x;y", "x,x", "\xff\xfe", "a\"b,c"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		names, err := Form{}.read(strings.NewReader(text), "data.csv").publicNames(nil)
		if err == nil && len(names) == 0 {
			t.Fatal("neither names nor an error")
		}
		if err != nil && (!strings.HasPrefix(err.Error(), "data.csv") || len(err.Error()) > 220) {
			t.Fatalf("error %q", err)
		}
	})
}
