package persons

import "errors"

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
