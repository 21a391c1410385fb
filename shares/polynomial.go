package shares

import (
	"crypto/rand"
	"math/big"
)

// prime is 2¹²⁷ − 1, the order of the field in which integers are shared; one from −2¹²⁶ to 2¹²⁶ is
// told from all others.
var prime = new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 127), big.NewInt(1))

// width is the length of an encoded element in bytes.
const width = 16

// split shares each element z among n (Shamir, How to share a secret, CACM 22(11), 1979): member i
// gets q(i) of a polynomial
//
//	q(x) = z + c₁x + … + c_{T−1}x^{T−1},   c uniform on the field,
//
// of which any T values tell z, and T − 1 are uniform whatever z is.
func split(z []*big.Int, threshold, n int) [][]*big.Int {
	values := make([][]*big.Int, n)
	q := make([]*big.Int, threshold)
	for _, q[0] = range z {
		for k := 1; k < threshold; k++ {
			c, err := rand.Int(rand.Reader, prime)
			if err != nil {
				panic("shares: the operating system's randomness failed: " + err.Error())
			}
			q[k] = c
		}
		for i := range values {
			values[i] = append(values[i], value(q, big.NewInt(int64(i+1))))
		}
	}
	return values
}

// value is q(x), by Horner's rule.
func value(q []*big.Int, x *big.Int) *big.Int {
	v := new(big.Int)
	for k := len(q) - 1; k >= 0; k-- {
		v.Mul(v, x)
		v.Add(v, q[k])
		v.Mod(v, prime)
	}
	return v
}

// interpolate returns at x the polynomials of degree below len(points) that have these values at the
// points: Σ_i values_i λ_i with Lagrange's λ_i = Π_{k≠i} (x − x_k)/(x_i − x_k).
func interpolate(x int64, points []int64, values [][]*big.Int) []*big.Int {
	sum := make([]*big.Int, len(values[0]))
	for l := range sum {
		sum[l] = new(big.Int)
	}
	for i, at := range points {
		over, under := big.NewInt(1), big.NewInt(1)
		for k, other := range points {
			if k != i {
				over.Mod(over.Mul(over, big.NewInt(x-other)), prime)
				under.Mod(under.Mul(under, big.NewInt(at-other)), prime)
			}
		}
		weight := over.Mul(over, under.ModInverse(under, prime))
		for l, v := range values[i] {
			sum[l].Add(sum[l], new(big.Int).Mul(weight, v))
			sum[l].Mod(sum[l], prime)
		}
	}
	return sum
}

// centred is the integer of least magnitude that an element stands for.
func centred(v *big.Int) *big.Int {
	if v.BitLen() == 127 {
		return new(big.Int).Sub(v, prime)
	}
	return new(big.Int).Set(v)
}

func encode(v []*big.Int) []byte {
	out := make([]byte, width*len(v))
	for i, x := range v {
		x.FillBytes(out[width*i : width*(i+1)])
	}
	return out
}

// decode reads them; ok tells whether they are elements.
func decode(text []byte) (v []*big.Int, ok bool) {
	for ; len(text) >= width; text = text[width:] {
		x := new(big.Int).SetBytes(text[:width])
		if x.Cmp(prime) >= 0 {
			return nil, false
		}
		v = append(v, x)
	}
	return v, len(text) == 0 && len(v) > 0
}
