package model

import "github.com/dpreg/dpreg/schema"

// Units is the affine map from common scaled units to those of one release,
//
//	v_own = a v + b,  entry by entry,  a > 0,
//
// and its inverse. With K = [1 0; b diag(a)], B_own = K B Kᵀ. Without an intercept
// b = 0.
type Units struct{ Scale, Shift []float64 } // a and b, of length m

// UnitsBetween returns the map from the scaled units of one frame to those of
// another, of the same columns in the same order.
func UnitsBetween(common, own schema.Frame) *Units {
	m := len(own.Half)
	u := &Units{make([]float64, m), make([]float64, m)}
	for j := range m {
		u.Scale[j] = common.Half[j] / own.Half[j]
		u.Shift[j] = (common.Centre[j] - own.Centre[j]) / own.Half[j]
	}
	return u
}

// Moments takes the mean (m) and covariance (m×m) of rows from common units to the
// release's, in place.
func (u *Units) Moments(mean, cov []float64) {
	m := len(u.Scale)
	for j, a := range u.Scale {
		mean[j] = a*mean[j] + u.Shift[j]
		for k, b := range u.Scale {
			cov[j*m+k] *= a * b
		}
	}
}

// Gram writes B_own = K B Kᵀ; of both matrices, (m+1)×(m+1), the lower triangle is
// given.
func (u *Units) Gram(own, b []float64) {
	k := len(u.Scale) + 1
	own[0] = b[0]
	for i := 1; i < k; i++ {
		ai, bi := u.Scale[i-1], u.Shift[i-1]
		own[i*k] = ai*b[i*k] + bi*b[0]
		for j := 1; j <= i; j++ {
			aj, bj := u.Scale[j-1], u.Shift[j-1]
			own[i*k+j] = ai*(aj*b[i*k+j]+bj*b[i*k]) + bi*(aj*b[j*k]+bj*b[0])
		}
	}
}

// PullGram replaces the symmetric E with df = Σ_ij E_ij dB_own,ij by KᵀEK, the same of
// B; the lower triangle is given.
func (u *Units) PullGram(e []float64) {
	k := len(u.Scale) + 1
	corner := e[0]
	for i := 1; i < k; i++ { // Eb of each row of v, then the corner's terms
		sum := e[i*k]
		for j := 1; j < k; j++ {
			sum += e[max(i, j)*k+min(i, j)] * u.Shift[j-1]
		}
		corner += u.Shift[i-1] * (e[i*k] + sum)
		e[i*k] = sum
	}
	e[0] = corner
	for i := 1; i < k; i++ {
		e[i*k] *= u.Scale[i-1]
		for j := 1; j <= i; j++ {
			e[i*k+j] *= u.Scale[i-1] * u.Scale[j-1]
		}
	}
}

// Common takes statistics of n rows, canonical order, from the release's units to
// common ones; dst may be s.
func (u *Units) Common(dst, s []float64, n float64) {
	m := len(u.Scale)
	at := len(s) - 1
	for j := m - 1; j >= 0; j-- { // backwards, so that linear sums stay until they are not needed
		aj, bj := u.Scale[j], u.Shift[j]
		for k := m - 1; k >= j; k-- {
			ak, bk := u.Scale[k], u.Shift[k]
			dst[at] = (s[at] - bj*s[k] - bk*s[j] + bj*bk*n) / (aj * ak)
			at--
		}
	}
	for j := range m {
		dst[j] = (s[j] - u.Shift[j]*n) / u.Scale[j]
	}
}
