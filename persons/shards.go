package persons

import (
	"errors"
	"slices"
)

// Rows of one data set that several processes read: each groups what it reads, and encodes its groups,
// part by part; who has all pieces of a part goes on with it. What is encoded is as sensitive as the rows.

// mostPiece is about how long a piece is, in bytes.
const mostPiece = 1 << 20

// Encode ends the taking, and hands on each part, in one piece or more.
func (g *Group) Encode(hand func(part int, piece []byte, last bool) error) error {
	for part := range Parts {
		p, err := g.whole(part)
		if err != nil {
			return err
		}
		p.merge()
		var piece []byte
		for words := range slices.Chunk(p.sums.words, p.sums.width()) {
			if len(piece) >= mostPiece {
				if err := hand(part, piece, false); err != nil {
					return err
				}
				piece = nil
			}
			piece = appendWords(piece, words)
		}
		if err := hand(part, piece, true); err != nil {
			return err
		}
	}
	return nil
}

// Decode takes a piece of a part that a group of the same rule encoded.
func (g *Group) Decode(part int, piece []byte) error {
	p := &g.parts[part]
	width := p.sums.width()
	if len(piece)%(8*width) != 0 {
		return errPiece
	}
	words := wordsOf(piece)
	for entry := range slices.Chunk(words, width) {
		if entry[0]>>46 != int64(part) {
			return errPiece
		}
	}
	g.put(p, words)
	return nil
}

var errPiece = errors.New("these are not persons that were encoded")
