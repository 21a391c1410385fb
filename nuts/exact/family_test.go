package exact

import (
	"math"
	"testing"
)

// TestClampedCounts sums the moments of clamped counts over all counts, and takes slopes from
// differences.
func TestClampedCounts(t *testing.T) {
	for _, most := range []float64{2, 3, 20, 150} {
		of := ofCounts(most)
		for eta := -5.0; eta < 8; eta += 0.37 {
			rate, want, wantSquare := math.Exp(eta), 0.0, 0.0
			for k := range 4000 {
				top, _ := math.Lgamma(float64(k + 1))
				mass := math.Exp(float64(k)*eta - rate - top)
				y := min(float64(k), most) / most
				want, wantSquare = want+mass*y, wantSquare+mass*y*y
			}
			g, slope, square, squareSlope := of.mean(eta, math.Exp(eta))
			const h = 1e-5
			up, _, upSquare, _ := of.mean(eta+h, math.Exp(eta+h))
			down, _, downSquare, _ := of.mean(eta-h, math.Exp(eta-h))
			for _, c := range [][2]float64{{g, want}, {square, wantSquare}, {slope, (up - down) / (2 * h)}, {squareSlope, (upSquare - downSquare) / (2 * h)}} {
				if !(math.Abs(c[0]-c[1]) < 1e-8*(1+most*0.01)) {
					t.Errorf("K = %v, η = %.2f: %v, want %v", most, eta, c[0], c[1])
				}
			}
		}
	}
}
