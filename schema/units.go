package schema

// Parameters between scaled units and the data's units. From
//
//	(y - c_y)/h_y = θ_s0 + Σ_j θ_sj (x_j - c_j)/h_j
//
// follows θ_o = h_y M θ_s + c_y e_0, where M has the first row
// (1, -c_1/h_1, ..., -c_p/h_p) and 1/h_j in place j of the diagonal. Without an
// intercept all centres are 0 and the first row and column fall away.

// dims returns p and q, the numbers of covariates and of regression coefficients.
func (f Frame) dims() (p, q int) {
	p = len(f.Half) - 1
	if f.Intercept {
		return p, p + 1
	}
	return p, p
}

// ThetaToOriginal maps coefficients, intercept first, from scaled units to the
// data's units. Both slices have length q (else it panics) and may be the same.
func (f Frame) ThetaToOriginal(dst, theta []float64) {
	p, q := f.dims()
	mustLen("theta", len(theta), q)
	mustLen("dst", len(dst), q)
	hy, first := f.Half[p], q-p
	for j := range p {
		dst[first+j] = theta[first+j] * hy / f.Half[j]
	}
	if !f.Intercept {
		return
	}
	shift := f.Centre[p]
	for j := range p {
		shift -= float64(dst[1+j] * f.Centre[j])
	}
	dst[0] = float64(hy*theta[0]) + shift
}

// ThetaToScaled is the inverse of ThetaToOriginal.
func (f Frame) ThetaToScaled(dst, theta []float64) {
	p, q := f.dims()
	mustLen("theta", len(theta), q)
	mustLen("dst", len(dst), q)
	hy, first := f.Half[p], q-p
	if f.Intercept {
		shift := f.Centre[p]
		for j := range p {
			shift -= float64(theta[1+j] * f.Centre[j])
		}
		dst[0] = (theta[0] - shift) / hy
	}
	for j := range p {
		dst[first+j] = theta[first+j] * f.Half[j] / hy
	}
}

// ThetaMatrix returns the map of ThetaToOriginal as θ_o = aθ_s + b: a = h_y M is
// q×q, row-major, and b = c_y e_0 has length q.
func (f Frame) ThetaMatrix() (a, b []float64) {
	p, q := f.dims()
	a, b = make([]float64, q*q), make([]float64, q)
	hy, first := f.Half[p], q-p
	for j := range p {
		i := first + j
		a[i*q+i] = hy / f.Half[j]
	}
	if f.Intercept {
		a[0], b[0] = hy, f.Centre[p]
		for j := range p {
			a[1+j] = -f.Centre[j] * hy / f.Half[j]
		}
	}
	return a, b
}

// Sigma2ToOriginal maps the residual variance to the data's units, h_y² s2.
func (f Frame) Sigma2ToOriginal(s2 float64) float64 {
	hy := f.Half[len(f.Half)-1]
	return hy * hy * s2
}

// MuXToOriginal maps the mean of the covariates to the data's units, c + H mu.
// Both slices have length p (else it panics) and may be the same.
func (f Frame) MuXToOriginal(dst, mu []float64) {
	p, _ := f.dims()
	mustLen("mu", len(mu), p)
	mustLen("dst", len(dst), p)
	for j, v := range mu {
		dst[j] = f.Centre[j] + float64(f.Half[j]*v)
	}
}

// TauToOriginal maps the covariance of the covariates to the data's units,
// H tau H. Both are p×p, row-major (else it panics), and may be the same slice.
func (f Frame) TauToOriginal(dst, tau []float64) {
	p, _ := f.dims()
	mustLen("tau", len(tau), p*p)
	mustLen("dst", len(dst), p*p)
	for i := range p {
		for j := range p {
			// The product of the half-widths first: the result is symmetric
			// to the last bit where tau is.
			dst[i*p+j] = tau[i*p+j] * float64(f.Half[i]*f.Half[j])
		}
	}
}
