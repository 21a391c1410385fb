package release

import (
	"fmt"
	"math"
	"math/big"
	"strings"

	"github.com/dpreg/dpreg/internal/number"
)

// What a release in a frame may claim. Each look chooses its frame by what the looks before
// it released, and all see the same rows. Noise σ at sensitivity Δ in the norm of φ (see
// Look) is Δ/σ-GDP where it is Gaussian, and Δ/σ-DP where it is of a ball of all its entries
// (Hardt & Talwar 2010, On the geometry of differential privacy). A histogram of radii has
// one row in one bin: to replace-one neighbours two counts differ by 1, to add-remove ones a
// single count. These compose adaptively (Dong, Roth & Su 2022, Gaussian differential
// privacy, Corollary 2; Dwork & Roth 2014, Theorem 3.16):
//
//	Gaussian   μ² = Σ Δ_t²/σ_t² + Σ d/σ_h²      ball   ε = Σ Δ_t/σ_t + Σ d/b_h + Σ 1/b_n,
//
// d = 2 for replace-one, 1 for add-remove. To these the number of rows is noised too: with
// Gaussian noise as the first coordinate of φ, which costs nothing; beside a ball by discrete
// Laplace noise of scale b_n, since the samplers need noise on n that is its own.

// changed is d.
func changed(nb Neighbours) *big.Rat {
	if nb == AddRemove {
		return big.NewRat(1, 1)
	}
	return big.NewRat(2, 1)
}

// reach is κ² + R².
func (f *Frame) reach() *big.Rat { return new(big.Rat).Add(square2(f.Weight), square2(f.Radius)) }

// Sensitivity2 is the square of the proven sensitivity, d(κ² + R²)².
func (f *Frame) Sensitivity2(nb Neighbours) *big.Rat {
	s := f.reach()
	return s.Mul(s.Mul(s, s), changed(nb))
}

func square2(x float64) *big.Rat { return new(big.Rat).Mul(number.Exactly(x), number.Exactly(x)) }

// claims checks the sensitivity that a look states, and each scale of its noise against
// that on squares.
func (l *Look) claims(nb Neighbours) error {
	if l.levels != nil {
		return l.levelClaims(nb)
	}
	n, f := l.Noise, l.Frame
	if square2(n.Sensitivity).Cmp(relax(f.Sensitivity2(nb))) < 0 {
		return within("noise", within("sensitivity", fmt.Errorf("%v is too small: rows within radius %v with weight %v and %s neighbours have sensitivity %v, so the privacy claimed does not hold",
			n.Sensitivity, f.Radius, f.Weight, nb, below(f.Sensitivity2(nb)).FloatString(6))))
	}
	two, weight2, scale2 := big.NewRat(2, 1), square2(f.Weight), relax(square2(n.Scale))
	cross := new(big.Rat).Mul(two, square2(n.Cross))
	linear := new(big.Rat).Mul(two, new(big.Rat).Mul(weight2, square2(n.Linear)))
	const short = "%v is too small beside scale %v: it must be at least %s, or the privacy claimed does not hold"
	switch {
	case cross.Cmp(scale2) < 0:
		return within("noise", within("cross", fmt.Errorf(short, n.Cross, n.Scale, "scale/√2")))
	case linear.Cmp(scale2) < 0:
		return within("noise", within("linear", fmt.Errorf(short, n.Linear, n.Scale, "scale/(√2·weight)")))
	case nb == AddRemove && n.Kind == Gaussian && weight2.Mul(weight2, number.Exactly(l.NNoise)).Cmp(relax(number.Exactly(n.Scale))) < 0:
		return within("n_noise", fmt.Errorf(short, l.NNoise, n.Scale, "scale/weight²"))
	}
	return nil
}

// part is what one query has of the whole: of μ² or of ε.
type part struct {
	query string
	spent *big.Rat
}

// parts are those of all looks and radii; of a look that states no sensitivity that of the
// proven one.
func (r *Release) parts(value func(float64) *big.Rat) (all []part) {
	nb := r.Neighbours()
	for i, l := range r.Looks() {
		place := "" // of the last
		if i < len(r.Steps) {
			place = fmt.Sprintf("steps[%d].", i)
		}
		norm, scale := value(l.Noise.Sensitivity), value(l.Noise.Scale)
		if l.Noise.Sensitivity == 0 {
			norm = below(l.Frame.Sensitivity2(nb))
		}
		if l.levels != nil {
			levels, products := l.Frame.LevelSensitivity(l.Noise.Kind, nb)
			if l.Noise.Sensitivity == 0 {
				norm = below(products)
			}
			all = append(all, part{"levels.noise", r.power(levels.Quo(below(levels), value(l.levels.Noise.Scale)))})
		}
		each := new(big.Rat).Mul(r.power(r.perPerson()), l.Pooled.known())
		add := func(query string, spent *big.Rat) {
			all = append(all, part{place + query, spent.Mul(spent, each)})
		}
		add("noise", r.power(norm.Quo(norm, scale)))
		if l.Noise.Kind == Ball && nb == AddRemove && l.levels == nil {
			add("n_noise", new(big.Rat).Inv(value(l.NNoise)))
		}
		if l.Radii != nil {
			add("radii", new(big.Rat).Quo(changed(nb), r.power(value(l.Radii.Scale))))
		}
	}
	if count := r.countRatio(); count > 0 {
		all = append(all, part{"persons.more", square2(count)})
	}
	return all
}

// power is x² for Gaussian noise, x for that of a ball.
func (r *Release) power(x *big.Rat) *big.Rat {
	if r.Noise.Kind == Gaussian {
		return new(big.Rat).Mul(x, x)
	}
	return x
}

// frameClaim checks what all looks and radii spend together. Decimals serve as well as the
// numbers that they stand for, as in validateClaim.
func (r *Release) frameClaim() error {
	parts := r.parts(number.Exactly)
	spent, _ := total(parts).Float64()
	if r.Noise.Kind == Gaussian {
		epsilon, _ := r.statisticsEpsilon().Float64()
		least := leastDelta(epsilon, math.Sqrt(spent))
		if least <= r.Privacy.Delta {
			return nil
		}
		return fmt.Errorf("epsilon %v and delta %v do not hold%s: delta is at least %.3g. Squares of sensitivity over scale add up to %.6g: %s",
			r.Privacy.Epsilon, r.Privacy.Delta, r.besides(), least, spent, listed(parts))
	}
	if total(parts).Cmp(r.statisticsEpsilon()) <= 0 || total(r.parts(number.Decimal)).Cmp(r.statisticsEpsilon()) <= 0 {
		return nil
	}
	return fmt.Errorf("epsilon %v does not hold%s: sensitivities over scales add up to %v: %s", r.Privacy.Epsilon, r.besides(), spent, listed(parts))
}

func total(parts []part) *big.Rat {
	sum := new(big.Rat)
	for _, p := range parts {
		sum.Add(sum, p.spent)
	}
	return sum
}

func listed(parts []part) string {
	var texts []string
	for _, p := range parts {
		x, _ := p.spent.Float64()
		texts = append(texts, fmt.Sprintf("%s %.6g", p.query, x))
	}
	return strings.Join(texts, ", ")
}
