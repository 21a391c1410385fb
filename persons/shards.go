package persons

import "errors"

// Rows of one data set that several processes read: each groups what it reads, and encodes its groups,
// part by part; who has all pieces of a part goes on with it. What is encoded is as sensitive as the rows.

// mostPiece is about how long a piece is, in bytes.
const mostPiece = 1 << 20

// Encode ends the taking, and hands on each part, in one piece or more.
func (g *Group) Encode(hand func(part int, piece []byte, last bool) error) error {
	for part := range Parts {
		t, err := g.whole(part)
		if err != nil {
			return err
		}
		var piece []byte
		for e := range t.used {
			if len(piece) >= mostPiece {
				if err := hand(part, piece, false); err != nil {
					return err
				}
				piece = nil
			}
			key, value := t.entry(e)
			piece = appendEntry(piece, key, value)
		}
		if err := hand(part, piece, true); err != nil {
			return err
		}
	}
	return nil
}

// Decode takes a piece of a part that a group of the same rule encoded.
func (g *Group) Decode(part int, piece []byte) error {
	t := g.workers[0].parts[part]
	words := make([]int64, t.key+t.value)
	if len(piece)%(8*len(words)) != 0 {
		return errPiece
	}
	for ; len(piece) > 0; piece = piece[8*len(words):] {
		key, value := entryOf(words, piece, t.key)
		if key[0]>>46 != int64(part) {
			return errPiece
		}
		t.to(key, value)
	}
	return nil
}

var errPiece = errors.New("these are not persons that were encoded")
