package table

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"errors"
)

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
