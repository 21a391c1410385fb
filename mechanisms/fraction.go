package mechanisms

// fraction is a uniform variate in (0, 1), Σ f[i]·2^{−bits(i+1)}, of which the digits
// drawn so far are known. Those to come are independent and uniform whatever these are,
// since nothing was ever decided by a digit not yet drawn.
type fraction []uint64

// digits draws them, of so many bits each: byteDigits from an Entropy, wordDigits from a Stream.
type digits struct {
	next func() uint64
	bits int
}

const byteDigits, wordDigits = 8, 64

// begin makes a new variate, of one digit.
func (d digits) begin(f *fraction) { *f = append((*f)[:0], d.next()) }

// extend draws the next digit.
func (d digits) extend(f *fraction) { *f = append(*f, d.next()) }

// less reports whether f < g, two different variates, drawing digits of both
// until they differ: with probability 1 they do.
func (d digits) less(f, g *fraction) bool {
	if len(*g) > 0 && (*f)[0] != (*g)[0] {
		return (*f)[0] < (*g)[0]
	}
	for i := 0; ; i++ {
		if i == len(*f) {
			d.extend(f)
		}
		if i == len(*g) {
			d.extend(g)
		}
		if (*f)[i] != (*g)[i] {
			return (*f)[i] < (*g)[i]
		}
	}
}

// even reports whether the longest run U_1 > U_2 > … of new variates, of which last is the first,
// is of even length; next is scratch.
func (d digits) even(last, next *fraction) bool {
	for even := false; ; even = !even {
		d.begin(next)
		if !d.less(next, last) {
			return even
		}
		last, next = next, last
	}
}
