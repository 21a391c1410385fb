package calibration

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"iter"
	"math"

	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/table"
)

// Table says which rows of which table are meant, and how they are read.
type Table struct {
	Name    string        `json:"name"` // of the file, without its directory
	Columns schema.Design `json:"columns"`
	Missing table.Missing `json:"missing,omitempty"`
	NA      []string      `json:"na,omitempty"`
	Rows    int64         `json:"rows"`
	Digest  string        `json:"digest"` // Rows.Digest
}

// Rows are those of a table, in scaled units, one after another.
type Rows struct {
	m int
	v []float64
}

// ReadRows keeps rows of m values, as table.Options.Rows yields them. Errors: what rows yields.
func ReadRows(rows iter.Seq2[[]float64, error], m int) (*Rows, error) {
	r := &Rows{m: m}
	for row, err := range rows {
		if err != nil {
			return nil, err
		}
		r.v = append(r.v, row...)
	}
	return r, nil
}

// Len is the number of rows.
func (r *Rows) Len() int64 { return int64(len(r.v) / r.m) }

// At is row i, counted from 0; it is not to be changed.
func (r *Rows) At(i int) []float64 { return r.v[i*r.m : (i+1)*r.m] }

// Digest is a checksum of the values, by which a table is known again.
func (r *Rows) Digest() string {
	h := sha256.New()
	buffer := make([]byte, 0, 8*len(r.v))
	for _, v := range r.v {
		buffer = binary.LittleEndian.AppendUint64(buffer, math.Float64bits(v))
	}
	h.Write(buffer)
	return hex.EncodeToString(h.Sum(nil))
}

// Check tells rows that are not the table's.
func (t *Table) Check(r *Rows) error {
	if r.Len() != t.Rows || r.Digest() != t.Digest {
		return fmt.Errorf("these rows are not those of the study, which has %d rows of %s: they changed, or are read in another way", t.Rows, t.Name)
	}
	return nil
}
