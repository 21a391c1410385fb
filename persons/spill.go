package persons

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

// spill is where records go that memory has no room for: a file that is the user's alone, and
// enciphered with a key that stays in memory: after the run nobody can read it, and it is removed.
type spill struct {
	file   *os.File // nil: nothing was spilled
	stream cipher.Stream
	block  cipher.Block
	iv     []byte
	chunk  []byte
}

func (s *spill) put(all [][]int64) error {
	if len(all) == 0 {
		return nil
	}
	if err := s.open(); err != nil {
		return err
	}
	for _, words := range all {
		for some := range slices.Chunk(words, chunk) {
			s.chunk = appendWords(s.chunk[:0], some)
			s.stream.XORKeyStream(s.chunk, s.chunk)
			if _, err := s.file.Write(s.chunk); err != nil {
				return spilling(err)
			}
		}
	}
	return nil
}

// chunk is how many words are enciphered at once, about.
const chunk = 1 << 13

func spilling(err error) error {
	return fmt.Errorf("persons' rows are many, and did not fit on the disk for temporary files (TMPDIR says which): %w", err)
}

func (s *spill) open() (err error) {
	if s.file != nil {
		return nil
	}
	secret := make([]byte, 32+aes.BlockSize)
	rand.Read(secret) // never fails
	if s.block, err = aes.NewCipher(secret[:32]); err != nil {
		return err
	}
	s.iv = secret[32:]
	s.stream = cipher.NewCTR(s.block, s.iv)
	if s.file, err = os.CreateTemp("", "dpreg-persons-"); err != nil { // mode 0600
		return spilling(err)
	}
	os.Remove(s.file.Name()) // where the system allows it, it has no name any more
	return nil
}

// take hands on records of so many words that were written, some at a time.
func (s *spill) take(width int, put func(records []int64)) error {
	if s.file == nil {
		return nil
	}
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return spilling(err)
	}
	stream, some := cipher.NewCTR(s.block, s.iv), make([]byte, 8*width*max(1, chunk/width))
	for {
		n, err := io.ReadFull(s.file, some)
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return spilling(err)
		}
		stream.XORKeyStream(some[:n], some[:n])
		if put(wordsOf(some[:n])); n < len(some) {
			return nil
		}
	}
}

func appendWords(to []byte, words []int64) []byte {
	to, _ = binary.Append(to, binary.LittleEndian, words)
	return to
}

// wordsOf reads what appendWords wrote.
func wordsOf(from []byte) []int64 {
	words := make([]int64, len(from)/8)
	binary.Decode(from, binary.LittleEndian, words)
	return words
}

func (s *spill) close() {
	if s.file != nil {
		s.file.Close()
		os.Remove(s.file.Name())
	}
}
