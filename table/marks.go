package table

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sync"
)

// Marks are fingerprints of what is read, by which a ledger knows its rows again: of each column
// the sum, modulo 2¹²⁸, of AES_k(tweak, value) over the rows that were read, k a secret key and the
// tweak that of the column. So the order of rows and columns, the name and the form of files have
// no part in them, nor have bounds, which values are clamped to later, nor what becomes of missing
// cells. (A multiset hash: Clarke, Devadas, van Dijk, Gassend & Suh, ASIACRYPT 2003. AES is
// taken for a random function.) Two tables have the same one with a probability of 2⁻¹²⁸ or so.
//
// A column is called by its name and by how its cells are coded, where that depends on levels or
// on texts that mean missing; coded otherwise it is another column.
type Marks struct {
	block cipher.Block

	mutex sync.Mutex
	rows  uint64
	names []string
	sums  []mark
}

// mark is an integer below 2¹²⁸.
type mark struct{ hi, lo uint64 }

func (m *mark) add(o mark) {
	var carry uint64
	m.lo, carry = bits.Add64(m.lo, o.lo, 0)
	m.hi += o.hi + carry
}

// NewMarks are marks under a key, of no rows yet.
func NewMarks(key [32]byte) *Marks {
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic(err) // the key has a length of AES
	}
	return &Marks{block: block}
}

// Format prints nothing of them, whatever the verb.
func (m *Marks) Format(f fmt.State, _ rune) { fmt.Fprint(f, "table.Marks(withheld)") }

// rowsName is what the number of rows is called among columns, as none is.
const rowsName = "number of rows"

// Sums are the marks of all that was read, by name.
func (m *Marks) Sums() map[string][16]byte {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	all := map[string][16]byte{rowsName: (&marker{Marks: m}).hash(tweakOf(rowsName), m.rows).bytes()}
	for j, name := range m.names {
		all[name] = m.sums[j].bytes()
	}
	return all
}

func (m mark) bytes() (b [16]byte) {
	binary.BigEndian.PutUint64(b[:8], m.hi)
	binary.BigEndian.PutUint64(b[8:], m.lo)
	return b
}

func tweakOf(name string) uint64 {
	sum := sha256.Sum256([]byte(name))
	return binary.BigEndian.Uint64(sum[:])
}

// marker is what a worker adds rows to.
type marker struct {
	*Marks
	tweaks  []uint64
	rows    uint64
	sums    []mark
	in, out [16]byte // memory that is used again
}

// hash is AES_k(tweak, value).
func (k *marker) hash(tweak, value uint64) mark {
	binary.BigEndian.PutUint64(k.in[:8], tweak)
	binary.BigEndian.PutUint64(k.in[8:], value)
	k.block.Encrypt(k.out[:], k.in[:])
	return mark{binary.BigEndian.Uint64(k.out[:8]), binary.BigEndian.Uint64(k.out[8:])}
}

// marker makes one for the columns of w; nil where nobody asks.
func (m *Marks) marker(w *wanted) *marker {
	if m == nil {
		return nil
	}
	names := w.markNames()
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.names == nil {
		m.names, m.sums = names, make([]mark, len(names))
	}
	one := &marker{Marks: m, sums: make([]mark, len(names))}
	for _, name := range names {
		one.tweaks = append(one.tweaks, tweakOf(name))
	}
	return one
}

// markNames are those of the columns, with how their cells are coded.
func (w *wanted) markNames() []string {
	names := make([]string, len(w.columns))
	for j, c := range w.columns {
		var coding []string
		for _, text := range w.options.NA {
			if _, err := parseNumber(text); text != "" && text != "NA" && (err == nil || c.Type != "" || c.Factor != "") {
				coding = append(coding, text)
			}
		}
		slices.Sort(coding)
		names[j] = c.Name
		if c.Factor != "" && c.Level == w.options.Other { // what it is hangs on all levels
			names[j] += fmt.Sprintf(" (other than %q)", w.factors)
		}
		if coding != nil {
			names[j] += fmt.Sprintf(" (missing: %q)", coding)
		}
	}
	return names
}

// add adds a row of values in the data's units, NaN where a cell is missing.
func (k *marker) add(row []float64) {
	k.rows++
	for j, v := range row {
		value := math.Float64bits(v + 0) // -0 is 0
		if v != v {
			value = math.MaxUint64
		}
		k.sums[j].add(k.hash(k.tweaks[j], value))
	}
}

// done adds what a worker has to all.
func (k *marker) done() {
	if k == nil {
		return
	}
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.Marks.rows += k.rows
	for j, sum := range k.sums {
		k.Marks.sums[j].add(sum)
	}
	k.rows = 0
	clear(k.sums)
}
