package persons

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"os"
	"slices"
	"sync"
)

// part is the rows of persons for whom the same number stands: records as they came, in memory and,
// where that is short, on the disk.
type part struct {
	sync.Mutex
	records [][]int64
	spilled spill
}

// partOf is that of a person, of whom this is the first number, below 2⁵².
func partOf(person int64) int { return int(person >> 46) }

// take gives a part records, which it keeps. Where all parts together have too many, all goes to the disk.
func (g *Group) take(at int, records []int64) error {
	if len(records) == 0 {
		return nil
	}
	p := &g.parts[at]
	p.Lock()
	p.records = append(p.records, records)
	p.Unlock()
	if g.words.Add(int64(cap(records))) <= int64(Memory/8) {
		return nil
	}
	for i := range g.parts {
		if err := g.spill(&g.parts[i]); err != nil {
			return err
		}
	}
	return nil
}

// spill writes what a part has in memory to the disk.
func (g *Group) spill(p *part) error {
	p.Lock()
	defer p.Unlock()
	for _, r := range p.records {
		g.words.Add(-int64(cap(r)))
	}
	records := p.records
	p.records = nil
	return p.spilled.put(records)
}

// whole is all that a part and workers have of its records; it can be had once.
func (g *Group) whole(at int) ([][]int64, error) {
	p := &g.parts[at]
	all := p.records
	p.records = nil
	for _, w := range g.workers {
		all = append(all, w.waiting[at])
		w.waiting[at] = nil
	}
	return all, p.spilled.take(g.width(), func(records []int64) { all = append(all, records) })
}

// Rows of one data set that several processes read: each groups what it reads, and encodes that,
// part by part; who has all pieces of a part goes on with it. What is encoded is as sensitive as the rows.

// mostPiece is about how long a piece is, in bytes.
const mostPiece = 1 << 20

// Encode ends the taking, and hands on each part, in one piece or more.
func (g *Group) Encode(hand func(part int, piece []byte, last bool) error) error {
	for part := range Parts {
		records, err := g.whole(part)
		if err != nil {
			return err
		}
		var piece []byte
		for _, some := range records {
			if len(piece) > 0 && len(piece)+8*len(some) > mostPiece {
				if err := hand(part, piece, false); err != nil {
					return err
				}
				piece = nil
			}
			piece = appendWords(piece, some)
		}
		if err := hand(part, piece, true); err != nil {
			return err
		}
	}
	return nil
}

// Decode takes a piece of a part that a group of as many values encoded.
func (g *Group) Decode(part int, piece []byte) error {
	words, width := wordsOf(piece), g.width()
	if len(piece)%(8*width) != 0 {
		return errPiece
	}
	for at := 0; at < len(words); at += width {
		if partOf(words[at]) != part {
			return errPiece
		}
	}
	return g.take(part, words)
}

var errPiece = errors.New("these are not persons that were encoded")

// sorter puts the records of a part in order by person.
type sorter struct {
	width   int
	ends    []int   // of buckets
	records []int64 // by bucket
}

// aBucket is about how many records a bucket has.
const aBucket = 8

// byPerson takes records, and hands on those of each person. Numbers that stand for persons are random: some digits
// of the first, below those of the part, say in which bucket records go, where those of few persons meet.
func (s *sorter) byPerson(records [][]int64, person func(own []int64) error) error {
	words := 0
	for _, some := range records {
		words += len(some)
	}
	digits := bits.Len(uint(words / s.width / aBucket))
	bucket := func(first int64) int { return int(uint64(first) << 18 >> (64 - digits)) }
	s.ends = append(s.ends[:0], make([]int, 1<<digits)...)
	for _, some := range records {
		for at := 0; at < len(some); at += s.width {
			s.ends[bucket(some[at])] += s.width
		}
	}
	begin := 0
	for i, n := range s.ends {
		s.ends[i] = begin // until it is filled
		begin += n
	}
	s.records = slices.Grow(s.records[:0], words)[:words]
	for i, some := range records {
		for ; len(some) > 0; some = some[s.width:] {
			to := &s.ends[bucket(some[0])]
			for j := range s.width { // copy takes longer
				s.records[*to+j] = some[j]
			}
			*to += s.width
		}
		records[i] = nil // its memory is free
	}
	begin = 0
	for _, end := range s.ends {
		for begin < end {
			own := s.first(s.records[begin:end])
			if err := person(s.records[begin : begin+own]); err != nil {
				return err
			}
			begin += own
		}
	}
	return nil
}

// first moves the records of the person of the first one to the front, and tells how many words they are.
func (s *sorter) first(records []int64) (own int) {
	own = s.width
	for at := own; at < len(records); at += s.width {
		if records[at] != records[0] || records[at+1] != records[1] {
			continue
		}
		if at != own {
			for i := range s.width {
				records[own+i], records[at+i] = records[at+i], records[own+i]
			}
		}
		own += s.width
	}
	return own
}

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
