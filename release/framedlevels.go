package release

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/internal/number"
)

// Sums by levels in a frame are two queries. Of a row of level l and a place u, ‖u‖ ≤ R,
//
//	ψ(l, u) = e_l ⊗ (κ, u)   counts it, and adds it to its level,      uuᵀ   adds its products to all others.
//
// Two rows (l, a) and (h, b) are apart by
//
//	ψ, L2          √(2κ² + ‖a‖² + ‖b‖²)         or ‖a − b‖ where l = h     ≤ √max(2(κ² + R²), 4R²)
//	ψ, Σ by level  √(κ² + ‖a‖²) + √(κ² + ‖b‖²)  or ‖a − b‖ where l = h     ≤ 2√(κ² + R²)
//	uuᵀ            √(‖a‖⁴ + ‖b‖⁴ − 2(aᵀb)²)                                ≤ √2 R²
//
// whatever the number of levels. Gaussian noise is isotropic in the first and the third. Without δ, ψ has a ball
// a level: by the second norm densities of neighbours differ by a factor of exp(2√(κ² + R²)/s) at most.
// A row that others lack has ψ in its level alone, of norm √(κ² + ‖a‖²) ≤ √(κ² + R²), and products of norm ‖a‖² ≤ R².

// LevelSensitivity returns the squares of the sensitivities of ψ and of products in a frame.
func (f *Frame) LevelSensitivity(kind Kind, nb Neighbours) (levels, products *big.Rat) {
	radius := square2(f.Radius)
	levels, products = f.reach(), new(big.Rat).Mul(radius, radius)
	if nb == AddRemove {
		return levels, products
	}
	if kind == Gaussian {
		if levels.Cmp(new(big.Rat).Add(radius, radius)) < 0 {
			levels.Add(radius, radius)
		}
		levels.Add(levels, levels)
	} else {
		levels.Mul(levels, big.NewRat(4, 1))
	}
	return levels, products.Add(products, products)
}

// Behind is the frame of k columns, which it leaves as they are, and then those of f.
func (f *Frame) Behind(k int) *Frame {
	if f == nil || k == 0 {
		return f
	}
	return f.among(k, 0)
}

// Before is the frame of those of f, and then k columns, which it leaves as they are.
func (f *Frame) Before(k int) *Frame { return f.among(0, k) }

// among is the frame of those of f with so many columns before and after them, which it leaves as they are.
func (f *Frame) among(before, after int) *Frame {
	out, m := *f, len(f.Matrix)
	out.Centre, out.Matrix = slices.Concat(make([]float64, before), f.Centre, make([]float64, after)), nil
	for j := range before + m + after {
		row := make([]float64, j+1)
		if j < before || j >= before+m {
			row[j] = 1
		} else {
			copy(row[before:], f.Matrix[j-before])
		}
		out.Matrix = append(out.Matrix, row)
	}
	return &out
}

// validate checks the noise beside that on products, of d columns.
func (n *LevelNoise) validate(l *Look, d int) error {
	switch {
	case n == nil:
		return errors.New("missing; counts and sums in a frame have noise of their own")
	case !positive(n.Scale):
		return within("scale", fmt.Errorf("must be a positive number up to 1e100, not %v", n.Scale))
	case !(math.Abs(n.Count*l.Frame.Weight/n.Scale-1) <= isotropy):
		return within("count", fmt.Errorf("must be scale/weight = %v, not %v", n.Scale/l.Frame.Weight, n.Count))
	}
	return within("freedom", checkFreedom(l.Noise.Kind, n.Freedom, d+1))
}

// levelClaims is claims of such a look.
func (l *Look) levelClaims(nb Neighbours) error {
	n, f, own := l.Noise, l.Frame, l.levels.Noise
	_, products := f.LevelSensitivity(n.Kind, nb)
	const short = "%v is too small beside %v: the privacy claimed does not hold"
	switch {
	case square2(n.Sensitivity).Cmp(relax(products)) < 0:
		return within("noise", within("sensitivity", fmt.Errorf(short, n.Sensitivity, fmt.Sprintf("%sradius² of radius %v", map[Neighbours]string{ReplaceOne: "√2·"}[nb], f.Radius))))
	case new(big.Rat).Mul(big.NewRat(2, 1), square2(n.Cross)).Cmp(relax(square2(n.Scale))) < 0:
		return within("noise", within("cross", fmt.Errorf(short, n.Cross, "scale/√2")))
	case new(big.Rat).Mul(square2(own.Count), square2(f.Weight)).Cmp(relax(square2(own.Scale))) < 0:
		return within("levels", within("noise", within("count", fmt.Errorf(short, own.Count, "scale/weight"))))
	}
	return nil
}

// below is the root of a square, rounded down.
func below(square *big.Rat) *big.Rat {
	x, _ := square.Float64()
	return number.Exactly(math.Nextafter(math.Nextafter(math.Sqrt(x), 0), 0))
}

// scales are those of the noise on Measured, and standard deviations.
func (r *Release) scales() (scales, sd []float64) {
	add := func(n Noise, scale float64, times int) {
		scales, sd = append(scales, slices.Repeat([]float64{scale}, times)...), append(sd, slices.Repeat([]float64{n.SDOf(scale)}, times)...)
	}
	l, d, products := r.Levels, r.inFrame(), 1
	if l.PerLevel() {
		d, products = len(l.Sums[0]), len(l.Sums)
	}
	of, count, sum, cross := r.Noise, r.Noise.Scale, r.Noise.Scale, r.Noise.Scale
	if l.Noise != nil {
		of.Freedom, count, sum, cross = l.Noise.Freedom, l.Noise.Count, l.Noise.Scale, r.Noise.Cross
	}
	add(of, count, len(l.Counts))
	add(of, sum, len(l.Sums)*d)
	merged := len(sd)
	for range products {
		for j := range d {
			add(r.Noise, r.Noise.Scale, 1)
			add(r.Noise, cross, d-1-j)
		}
	}
	if l.Products != nil {
		merged = len(sd)
	}
	times := math.Sqrt(float64(max(1, l.Merged)))
	for i := range merged {
		if sd[i] *= times; r.Noise.Kind == Gaussian {
			scales[i] *= times
		}
	}
	if at := l.KnownAt(); at >= 0 { // n, which to add-remove neighbours has the noise of all counts
		if sd[at] = 0; r.Neighbours() == AddRemove {
			scales[at] *= times * math.Sqrt(float64(len(l.Counts)))
		}
	}
	return scales, sd
}

// MeasuredScales are the scales of the noise on Measured. What is known is as if it had noise: where n is public, that of others.
func (r *Release) MeasuredScales() []float64 {
	scales, _ := r.scales()
	return scales
}

// ScaledLevels are the sums within levels in scaled units, n_lc + LS_l in a frame, a row a level; the standard deviations of
// their noise, and that of the noise on counts.
func (r *Release) ScaledLevels() (sums [][]float64, sd [][]float64, countSD float64) {
	l, d := r.Levels, len(r.Levels.Sums[0])
	_, all := r.scales()
	for i, row := range l.Sums {
		v, noise := slices.Clone(row), slices.Clone(all[len(l.Counts)+i*d:][:d])
		if r.Frame != nil {
			inverse := r.Frame.Inverse()
			dense.MulLowerVec(v, inverse, d, row)
			for j, c := range r.Frame.Centre {
				row := inverse[j*d : (j+1)*d]
				v[j], noise[j] = v[j]+l.Counts[i]*c, math.Hypot(c*all[0], math.Sqrt(inner(row, row))*noise[j])
			}
		}
		sums, sd = append(sums, v), append(sd, noise)
	}
	return sums, sd, all[0]
}

// Numbers is the last look; of sums by levels in a frame at the columns behind so many dummies alone, of which
// linear sums are those of all levels, with noise of the same standard deviation.
func (r *Release) Numbers() (last Look, dummies int) {
	if last = r.last(); r.Frame == nil || r.Levels == nil {
		return last, 0
	}
	d, own := r.inFrame(), r.Levels.Noise
	z := make([]float64, d)
	for _, row := range r.Levels.Sums {
		floats.Add(z, row)
	}
	last.Statistics = StatisticsFromVector(d, append(z, r.products()...))
	last.Noise.Linear = own.Scale * math.Sqrt(float64(int64(len(r.Levels.Sums))*max(1, r.Levels.Merged)))
	if last.Noise.Kind == Ball {
		last.Noise.Linear *= math.Sqrt(own.Freedom / last.Noise.Freedom)
	}
	return last, r.Levels.Dummies()
}

// turned are the levels in the frame of some columns behind the factor's, at these places of those of another.
func (l *Levels) turned(from, to *Frame, at []int) *Levels {
	d, inverse, out := len(from.Centre), from.Inverse(), *l
	out.Counts, out.Sums = slices.Clone(l.Counts), nil
	for _, row := range l.Sums {
		v, picked, sums := make([]float64, d), make([]float64, len(at)), make([]float64, len(at))
		dense.MulLowerVec(v, inverse, d, row)
		for i, a := range at {
			picked[i] = v[a]
			sums[i] = inner(to.Matrix[i], picked)
		}
		out.Sums = append(out.Sums, sums)
	}
	return &out
}
