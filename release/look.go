package release

// A look at the rows is one measurement of their sums. In the box it is what
// dpreg-release/1 holds. In a frame, which what was released before it decides, rows are
//
//	u = W (v − c),   ũ = u min(1, R/‖u‖),
//
// v a row in scaled units, response last, and the statistics are Σũ_j and Σũ_jũ_k. With
// φ(u) = (κ², √2κu, uuᵀ) ⟨φ(a), φ(b)⟩ = (κ² + aᵀb)², so that in the norm of φ (Frobenius's:
// an entry off the diagonal counts twice)
//
//	replace-one  ‖φ(a) − φ(b)‖² ≤ 2(κ² + R²)²      add-remove  ‖φ(a)‖ ≤ κ² + R²,
//
// and noise that is isotropic in it has the scale of Noise on squares, 1/√2 of that on
// products of two columns, 1/(√2κ) of it on linear sums and 1/κ² of it on the number of
// rows; see docs/adaptive.md.
type Look struct {
	Frame      *Frame     `json:"frame,omitzero"` // nil: the box, and no clipping
	Radii      *Radii     `json:"radii,omitzero"` // by which R was chosen; nil: it was public
	N          int64      `json:"n,omitzero"`     // noisy; 0 where the number of rows is public
	NNoise     float64    `json:"n_noise,omitzero"`
	Noise      Noise      `json:"noise"`
	Statistics Statistics `json:"statistics"`
}

// Frame is where a look is taken: public, exact, in scaled units.
type Frame struct {
	Centre []float64   `json:"centre"` // c, m numbers
	Matrix [][]float64 `json:"matrix"` // W, lower triangular: row j has j+1 numbers, the last above 0
	Radius float64     `json:"radius"` // R
	Weight float64     `json:"weight"` // κ
	// Lost is about what clipping takes of Σ‖u‖², as the noisy radii tell, with their error:
	// it widens what is inferred.
	Lost float64 `json:"lost,omitzero"`
}

// Radii is a noisy histogram of ‖u‖² over the rows, before clipping: bin 0 holds those up to
// 2^(Least/2), bin i those between 2^((Least+i−1)/2) and 2^((Least+i)/2), and the last all
// beyond. Scale is that of the noise on each count: b of the discrete Laplace law where the
// release promises pure ε, else σ of the rounded Gaussian one.
type Radii struct {
	Least  int     `json:"least"`
	Counts []int64 `json:"counts"`
	Scale  float64 `json:"scale"`
}
