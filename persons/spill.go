package persons

import (
	"bufio"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// spill is where entries go that memory has no room for: a file that is the user's alone, and
// enciphered with a key that stays in memory: after the run nobody can read it, and it is removed.
type spill struct {
	sync.Mutex
	file   *os.File // nil: nothing was spilled
	out    *bufio.Writer
	stream cipher.Stream
	block  cipher.Block
	iv     []byte
	chunk  []byte
}

// put writes the entries of a table and clears it.
func (s *spill) put(t *sums) error {
	if t.used == 0 {
		return nil
	}
	s.Lock()
	defer s.Unlock()
	if err := s.open(); err != nil {
		return err
	}
	for e := range t.used {
		key, value := t.entry(e)
		s.chunk = appendEntry(s.chunk[:0], key, value)
		s.stream.XORKeyStream(s.chunk, s.chunk)
		if _, err := s.out.Write(s.chunk); err != nil {
			return spilling(err)
		}
	}
	t.clear()
	return nil
}

func spilling(err error) error {
	return fmt.Errorf("persons are many, and their sums did not fit on the disk for temporary files (TMPDIR says which): %w", err)
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
	s.out = bufio.NewWriterSize(s.file, 1<<16)
	return nil
}

// take adds what was spilled to a table.
func (s *spill) take(t *sums) error {
	if s.file == nil {
		return nil
	}
	if err := s.out.Flush(); err != nil {
		return spilling(err)
	}
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return spilling(err)
	}
	in, stream := bufio.NewReaderSize(s.file, 1<<16), cipher.NewCTR(s.block, s.iv)
	chunk, words := make([]byte, 8*(t.key+t.value)), make([]int64, t.key+t.value)
	for {
		if _, err := io.ReadFull(in, chunk); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return spilling(err)
		}
		stream.XORKeyStream(chunk, chunk)
		t.to(entryOf(words, chunk, t.key))
	}
}

// appendEntry writes an entry of a table behind others.
func appendEntry(to []byte, key, value []int64) []byte {
	for _, words := range [2][]int64{key, value} {
		for _, x := range words {
			to = binary.LittleEndian.AppendUint64(to, uint64(x))
		}
	}
	return to
}

// entryOf reads what appendEntry wrote into words, of which so many are the key.
func entryOf(words []int64, from []byte, keys int) (key, value []int64) {
	for i := range words {
		words[i] = int64(binary.LittleEndian.Uint64(from[8*i:]))
	}
	return words[:keys], words[keys:]
}

func (s *spill) close() {
	if s.file != nil {
		s.file.Close()
		os.Remove(s.file.Name())
	}
}
