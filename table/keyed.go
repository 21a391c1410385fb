package table

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/binary"
	"errors"
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

// Who a row is of. Options.Person names a column that says so; a row then is handed on with
// two more values, integers below 2⁵² that stand for the person, and the cell goes no further.
//
// They are the digits of a keyed hash of the text, CBC-MAC by AES with the length in front,
// which is a random function of texts for whoever has not the key (Bellare, Kilian & Rogaway,
// JCSS 2000). Two of N persons have the same with a probability of N²/2¹⁰⁵.

// PersonValues is how many values stand for the person.
const PersonValues = 2

// ErrNobody is the error of a row that names no person.
var ErrNobody = errors.New("a row says no person: each must, or nobody knows of how many rows a person is" +
	" (--missing drop with --neighbours add-remove leaves such rows out)")

// PersonHash hashes names.
type PersonHash struct{ block cipher.Block }

// NewPersonHash returns the hash with a key.
func NewPersonHash(key [32]byte) *PersonHash {
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic(err) // the key has a length of AES
	}
	return &PersonHash{block}
}

// Of is what stands for the person of a name.
func (p *PersonHash) Of(name string) [PersonValues]float64 { return hashed(p, new(hashState), name) }

// hashState is the state of the hash, which needs none of its own for each name.
type hashState [aes.BlockSize]byte

// hashed is Of, of bytes as well.
func hashed[Text string | []byte](p *PersonHash, state *hashState, name Text) (id [PersonValues]float64) {
	*state = hashState{}
	binary.BigEndian.PutUint64(state[:], uint64(len(name)))
	n := copy(state[8:], name)
	for p.block.Encrypt(state[:], state[:]); n < len(name); p.block.Encrypt(state[:], state[:]) {
		for i := 0; i < aes.BlockSize && n < len(name); i++ {
			state[i] ^= name[n]
			n++
		}
	}
	for i := range id {
		id[i] = float64(binary.BigEndian.Uint64(state[8*i:]) >> 12)
	}
	return id
}
