package schema

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The same line, in either unit: θ_oᵀ(1, x_o) is θ_sᵀ(1, x_s) in the data's units.
func TestThetaToOriginalPredicts(t *testing.T) {
	eachDesign(t, func(t *testing.T, d *Design, rng *rand.Rand) {
		f := d.Frame()
		p, q := f.dims()
		v, theta := make([]float64, p+1), make([]float64, q)
		for range 100 {
			thetaS, row := normals(rng, q), inBox(rng, d)
			f.Scale(v, row)
			f.ThetaToOriginal(theta, thetaS)
			yS, sizeS := predict(thetaS, v[:p])
			yO, sizeO := predict(theta, row[:p])
			wantClose(t, "prediction", yO, f.Centre[p]+f.Half[p]*yS, sizeO+math.Abs(f.Centre[p])+f.Half[p]*sizeS)
		}
	})
}

func TestThetaRoundTrip(t *testing.T) {
	eachDesign(t, func(t *testing.T, d *Design, rng *rand.Rand) {
		f := d.Frame()
		_, q := f.dims()
		theta, original := make([]float64, q), make([]float64, q)
		for range 100 {
			thetaS := normals(rng, q)
			f.ThetaToOriginal(original, thetaS)
			f.ThetaToScaled(theta, original)
			size := 1.0
			for j := range theta {
				size += math.Abs(thetaS[j]) * (1 + math.Abs(f.Centre[len(f.Centre)-1])/f.Half[len(f.Half)-1])
			}
			for j := range theta {
				wantClose(t, "round trip", theta[j], thetaS[j], size)
			}
			// In place, the same bits.
			f.ThetaToScaled(original, original)
			for j := range theta {
				if original[j] != theta[j] {
					t.Fatalf("in place: got %v, want %v", original, theta)
				}
			}
			f.ThetaToOriginal(original, original)
			f.ThetaToOriginal(theta, theta)
			for j := range theta {
				if original[j] != theta[j] {
					t.Fatalf("in place: got %v, want %v", original, theta)
				}
			}
		}
	})
}

func TestThetaMatrix(t *testing.T) {
	eachDesign(t, func(t *testing.T, d *Design, rng *rand.Rand) {
		f := d.Frame()
		_, q := f.dims()
		a, b := f.ThetaMatrix()
		thetaS, want := normals(rng, q), make([]float64, q)
		f.ThetaToOriginal(want, thetaS)
		for i := range q {
			got, size := b[i], math.Abs(b[i])
			for j := range q {
				got += a[i*q+j] * thetaS[j]
				size += math.Abs(a[i*q+j] * thetaS[j])
			}
			wantClose(t, "aθ + b", got, want[i], size)
		}
	})
}

// The same data in metres and in feet have the same scaled rows, and parameters
// that differ by the factors of their units alone.
func TestMetresAndFeet(t *testing.T) {
	const foot = 0.3048 // metres
	eachDesign(t, func(t *testing.T, metres *Design, rng *rand.Rand) {
		p := len(metres.Covariates)
		factor := make([]float64, p+1) // from metres to the other unit
		for j := range factor {
			factor[j] = []float64{1 / foot, 1, 12 / foot, 1 / (3 * foot)}[j]
		}
		feet := &Design{Intercept: metres.Intercept}
		for j, c := range metres.Columns() {
			feet.Covariates = append(feet.Covariates, Column{Name: c.Name, Lower: c.Lower * factor[j], Upper: c.Upper * factor[j]})
		}
		feet.Response, feet.Covariates = feet.Covariates[p], feet.Covariates[:p]
		fm, ff := metres.Frame(), feet.Frame()
		_, q := fm.dims()

		row, vm, vf := inBox(rng, metres), make([]float64, p+1), make([]float64, p+1)
		fm.Scale(vm, row)
		for j := range row {
			row[j] *= factor[j]
		}
		ff.Scale(vf, row)
		for j := range vm {
			wantClose(t, "scaled row", vf[j], vm[j], 1+math.Abs(fm.Centre[j])/fm.Half[j])
		}

		thetaS, tm, tf := normals(rng, q), make([]float64, q), make([]float64, q)
		fm.ThetaToOriginal(tm, thetaS)
		ff.ThetaToOriginal(tf, thetaS)
		y, size := factor[p], math.Abs(fm.Centre[p])+fm.Half[p]
		for j := range p {
			i := q - p + j
			wantClose(t, "slope", tf[i], tm[i]*y/factor[j], math.Abs(tf[i]))
			size += math.Abs(tm[i] * fm.Centre[j])
		}
		if metres.Intercept {
			wantClose(t, "intercept", tf[0], tm[0]*y, y*(size+math.Abs(tm[0])))
		}
		wantClose(t, "sigma2", ff.Sigma2ToOriginal(0.7), fm.Sigma2ToOriginal(0.7)*y*y, ff.Sigma2ToOriginal(0.7))
		sameMoments(t, fm, ff, factor[:p], rng)
	})
}

// sameMoments compares mean and covariance of the covariates in two units.
func sameMoments(t *testing.T, fm, ff Frame, factor []float64, rng *rand.Rand) {
	t.Helper()
	p := len(factor)
	mu, mm, mf := normals(rng, p), make([]float64, p), make([]float64, p)
	fm.MuXToOriginal(mm, mu)
	ff.MuXToOriginal(mf, mu)
	tau, tm, tf := normals(rng, p*p), make([]float64, p*p), make([]float64, p*p)
	fm.TauToOriginal(tm, tau)
	ff.TauToOriginal(tf, tau)
	for j := range p {
		wantClose(t, "mu_x", mf[j], mm[j]*factor[j], factor[j]*(math.Abs(fm.Centre[j])+math.Abs(fm.Half[j]*mu[j])))
		for k := range p {
			wantClose(t, "tau", tf[j*p+k], tm[j*p+k]*factor[j]*factor[k], math.Abs(tf[j*p+k]))
		}
	}
}

// By hand: x in 10:30, y in 0:100, so c = (20, 50), h = (10, 50).
func TestUnitsByHand(t *testing.T) {
	d := &Design{Response: Column{Name: "y", Lower: 0, Upper: 100}, Covariates: []Column{{Name: "x", Lower: 10, Upper: 30}}, Intercept: true}
	f := d.Frame()
	theta := []float64{0.5, 2}
	f.ThetaToOriginal(theta, theta) // y = 50 + 50(0.5 + 2(x-20)/10) = -125 + 10x
	mu, tau := []float64{-0.5}, []float64{0.25}
	f.MuXToOriginal(mu, mu)
	f.TauToOriginal(tau, tau)
	for _, c := range []struct {
		what      string
		got, want float64
	}{
		{"theta[0]", theta[0], -125}, {"theta[1]", theta[1], 10},
		{"mu_x", mu[0], 15}, {"tau", tau[0], 25}, {"sigma2", f.Sigma2ToOriginal(0.01), 25},
	} {
		wantClose(t, c.what, c.got, c.want, math.Abs(c.want))
	}
}
