package table

import (
	"encoding/binary"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
)

// TestElsewhere reads Arrow files and streams of others, too.

// kindsOf are the files of testdata/arrowkinds (testdata/arrow.cjs) that begin so.
func kindsOf(t *testing.T, prefix string) []string {
	t.Helper()
	paths, err := filepath.Glob("testdata/arrowkinds/" + prefix + "_*")
	if err != nil || len(paths) == 0 {
		t.Fatal("no files", err)
	}
	return paths
}

// Integers of any width may be levels and truth values, texts may be numbers, decimals are exact.
func TestArrowKinds(t *testing.T) { readKinds(t, kindsOf(t, "good")...) }

// What is wrong is told with the file, the row and the column, and without the cell.
func TestArrowRefuses(t *testing.T) {
	for name, want := range map[string]string{
		"bad_f":  `bad_f.arrow:4: column "f": a cell is none of`,
		"bad_b":  `bad_b.arrow:3: column "b": missing value`,
		"bad_x":  `bad_x.arrow:4: column "x": a cell is not a finite`,
		"bad_y":  `bad_y.arrow:4: column "y": a cell is not a finite`,
		"type_x": `column "x": it is of type boolean in the file, and numbers are wanted`,
		"type_f": `column "f": it is of type floating point in the file, and levels of a factor are wanted`,
		"type_y": `column "y": it is of type date in the file`,

		"type_x_list": `column "x": it holds lists`,
	} {
		_, err := rowsOf(Options{}, "testdata/arrowkinds/"+name+".arrow", "", t)
		if err == nil || !strings.Contains(err.Error(), want) || reveals(err) {
			t.Errorf("%s: error %v, want %q", name, err, want)
		}
	}
	for text, want := range map[string]string{
		"FEA1" + strings.Repeat("4711", 9): "Feather's version 1",
		strings.Repeat("4711", 9):          "this is no Arrow file",
		"":                                 "this is no Arrow file",
	} {
		path := filepath.Join(t.TempDir(), "data.feather")
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
		if _, err := rowsOf(Options{}, path, "", t); err == nil || !strings.Contains(err.Error(), want) || reveals(err) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}

// A number of 16 bits is what arithmetic in 64 makes of its parts, for all of them.
func TestHalf(t *testing.T) {
	for v := range 1 << 16 {
		sign, exponent, fraction := 1-2*float64(v>>15), v>>10&31, float64(v&1023)/1024
		want := sign * math.Pow(2, float64(exponent)-15) * (1 + fraction)
		if exponent == 0 {
			want = sign * math.Pow(2, -14) * fraction
		}
		if got := half(uint16(v)); exponent < 31 && got != want || exponent == 31 && got-got == 0 {
			t.Fatalf("%#x: %v, want %v", v, got, want)
		}
	}
}

// A decimal has two words, the lower first.
func TestWide(t *testing.T) {
	for _, text := range []string{"0", "-1", "12345678901234567890123456789012345678", "-12345678901234567890123456789012345678"} {
		v, _ := new(big.Int).SetString(text, 10)
		low := new(big.Int).And(v, new(big.Int).SetUint64(math.MaxUint64))
		high := new(big.Int).Rsh(v, 64)
		c := arrowColumn{data: binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(make([]byte, 16), low.Uint64()), uint64(high.Int64()))}
		if got := c.wide(1); got.Cmp(v) != 0 {
			t.Errorf("%v, want %v", got, v)
		}
	}
}

// A file or stream that is cut off anywhere is refused, and so is one after another in one file.
func TestArrowCut(t *testing.T) {
	for _, name := range []string{"batches.arrow", "batches.arrows"} {
		text := must.Get(os.ReadFile("testdata/arrow/" + name))(t)
		path := filepath.Join(t.TempDir(), name)
		read := func(text []byte) error {
			must.Do(t, os.WriteFile(path, text, 0o600))
			_, err := rowsOf(Options{Missing: Midpoint, Empty: true}, path, "", t)
			return err
		}
		for n := 0; n < len(text); n += testsize.Of(31, 1) { // at each place in eight bytes: 31 and 8 have no common factor
			if read(text[:n]) == nil {
				t.Errorf("%s: %d of %d bytes are read", name, n, len(text))
			}
		}
		if err := read(slices.Concat(text, text)); err == nil || !strings.Contains(err.Error(), "several files put together") {
			t.Errorf("%s twice: error %v", name, err)
		}
	}
}

func TestArrowDamaged(t *testing.T) { damaged(t, ArrowFormat, testsize.Of(10, 500)) }

func FuzzArrow(f *testing.F) { fuzzed(f, elsewhere(f, ArrowFormat)) }
