package table

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
)

// slowly reads a text by encoding/csv alone, in one piece: what the fast way must agree
// with, to the bit and to the word.
func slowly(text string, w wanted) (rows [][]float64, err error) {
	text = strings.TrimPrefix(text, byteOrderMark)
	records := (&block{text: []byte(text), line: 1, delim: ','}).records("data.csv", 0)
	record, err := records.next()
	if err != nil {
		return nil, err
	}
	l, err := w.layout("data.csv", record, ',')
	if err != nil {
		return nil, err
	}
	for some := false; ; some = true {
		record, err := records.next()
		if err == io.EOF && !some {
			return nil, &Error{File: "data.csv", Err: errNoRows}
		}
		if err == io.EOF {
			return rows, nil
		}
		row := make([]float64, len(w.columns))
		if err != nil {
			return rows, err
		}
		missing, err := l.record(row, record, records)
		if err != nil {
			return rows, err
		}
		if l.complete(row, missing) {
			rows = append(rows, row)
		}
	}
}

// quickly reads a text as files are, in blocks of so many bytes, by several workers.
// With one the rows are in order.
func quickly(text string, w wanted, size, workers int) (rows [][]float64, err error) {
	var s scan
	s.add(func() (rowsFile, io.Closer, error) {
		blocks := Form{Delim: ','}.read(strings.NewReader(text), "data.csv")
		blocks.size = size
		f, err := openText(blocks, w)
		return f, nil, err
	})
	var sinks sync.Mutex
	sink := func(some []float64) error {
		sinks.Lock()
		defer sinks.Unlock()
		for row := range slices.Chunk(some, len(w.columns)) {
			rows = append(rows, slices.Clone(row))
		}
		return nil
	}
	var all []*worker
	for range workers {
		all = append(all, w.worker(context.Background(), sink))
	}
	err = s.run(context.Background(), "data.csv", all)
	return rows, err
}

func sameRows(a, b [][]float64) bool {
	return slices.EqualFunc(a, b, func(x, y []float64) bool {
		return slices.EqualFunc(x, y, func(v, w float64) bool { return math.Float64bits(v) == math.Float64bits(w) })
	})
}

// agree compares the two ways for blocks of this size; order decides whether several
// workers found the same rows.
func agree(t *testing.T, text string, w wanted, size int) {
	t.Helper()
	want, wantErr := slowly(text, w)
	for workers := 1; workers <= 3; workers += 2 {
		got, err := quickly(text, w, size, workers)
		if fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Fatalf("%q, blocks of %d, %d workers: error %v, want %v", text, size, workers, err, wantErr)
		}
		if workers > 1 && err != nil {
			continue // some rows after the error may have been read
		}
		expected := slices.Clone(want)
		if workers > 1 {
			slices.SortFunc(got, slices.Compare)
			slices.SortFunc(expected, slices.Compare)
		}
		if !sameRows(got, expected) {
			t.Fatalf("%q, blocks of %d, %d workers: got %v, want %v", text, size, workers, got, expected)
		}
	}
}

// wants is what the rows of mixed hold, in scaled units.
func wants(t testing.TB, missing Missing, na ...string) wanted {
	t.Helper()
	w := must.Get(Options{Missing: missing, NA: na}.scaled(mixed(t, "")))(t)
	w.enclosed = &enclosed{}
	return w
}

// The borders of blocks are everywhere.
func TestBlocksAgree(t *testing.T) {
	for _, body := range []string{
		"1,2,a,true\n3,-.5,b,FALSE\n9.75,0.125,c,0\n",
		"1,2,a,true\r\n3,-.5,b,FALSE\r\n\r\n9.75,0.125,c,0",
		"1,2,a,true\n\n\n\"3\",\"-.5\",\"b\",FALSE\n 9.75 ,0.125,c,0\r",
		"1,2,a,\"true\"\n3,1e-1,NA,1\n\"NA\",+5,\"a\",\n",
		"1,2,a,1\n3,\"5\n\",b,1\n4,\"\n\n6\",b,0\n7,1,c,0\n",
		"1,2,a,1\n3,,b,1\n-9,,b,1\n", "1,2,a,1\n-9,4,b,1\n", "1,2,a,1\n-9.0,4,b,1\n",
		"1,2,a,1\n3,4,d,1\n", "1,2,a,1\n3,4,a,2\n", "1,2,a,1\n3,4,a\n", "1,2,a,1\n3,4,a,1,\n5,x,a,1\n",
		"1,2,a,1\n3,4711x,a,1\n1,2,a\n", "1,2,a,1\n3,\"4\"711,a,1\n1,2,a,1\n", "1,2,a,1\n3,47\"11,a,1\n", "1,2,a,1\n3,\"4711,a,1\n5,6,a,1\n",
		"1,2,\"a\",1\n3,\"4\"\"\n\",a,1\n", "1,2,a,1\r3,4,a,1\r", "1,2,a,1\r\r\n", "\r\n", "", "\n\n", "   \n", ",,,\n",
	} {
		for _, head := range []string{"x,y,f,b\n", "\ufeff\"x\",y,\"f\",b\r\n", "\n\r\nx,y,f,b\n"} {
			for _, w := range []wanted{wants(t, MissingError), wants(t, Midpoint, "NA", "-9"), wants(t, Drop, "", "4")} {
				for size := len(byteOrderMark); size < 24; size++ {
					agree(t, head+body, w, size)
				}
				agree(t, head+body, w, blockSize)
			}
		}
	}
}

// The two ways agree on whatever bytes.
func FuzzBlocks(f *testing.F) {
	for _, body := range []string{"1,2,a,1\n", "\"1\",2,b,\"true\"\r\n3,4,a,0", "1,\"\n\",a,1\n\n", "1,1e-5,c,NA\r", "1,0x1p3,a,1\n", "\"1\n", "1\"2,3,a,1\n", " 1,\t2,a ,1\n", "-0,-.0,a,1\n1,2,a,1,1\n"} {
		f.Add(body, byte(3), byte(0))
		f.Add(body, byte(40), byte(1))
	}
	f.Fuzz(func(t *testing.T, body string, size, mode byte) {
		w := []wanted{wants(t, MissingError), wants(t, Midpoint), wants(t, Drop, "-1", "z"), wants(t, Midpoint, "0", "1e3")}[mode%4]
		agree(t, "x,y,f,b\n"+body, w, len(byteOrderMark)+int(size))
	})
}

// A number that the fast way takes is strconv's, to the bit.
func wantParsed(t *testing.T, text string) (taken bool) {
	t.Helper()
	v, n := decimal([]byte(text + ",1"))
	if n == 0 || n != len(text) {
		return false
	}
	want, err := strconv.ParseFloat(text, 64)
	if err != nil || math.Float64bits(v) != math.Float64bits(want) {
		t.Fatalf("%s is %v, want %v, %v", text, v, want, err)
	}
	return true
}
