package accounting

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// logMoment is K(λ) = log Σ mass·e^{λℓ}, the cumulant generating function.
func (l *law) logMoment(lambda float64) float64 {
	return logMoment(lambda, len(l.cells), func(i int) (mass, loss float64) { return l.cells[i].mass, l.cells[i].loss })
}

// underflow is an x below which e^x is 0; of many points it is that in large tilts.
const underflow = -746

// logMoment is log Σ mass·e^{λ·loss} over n points in order of their loss.
func logMoment(lambda float64, n int, at func(i int) (mass, loss float64)) float64 {
	if n == 0 {
		return math.Inf(-1)
	}
	_, first := at(0)
	_, last := at(n - 1)
	top, sum := math.Max(lambda*first, lambda*last), 0.
	for i := range n {
		if mass, loss := at(i); mass > 0 && lambda*loss-top > underflow {
			sum += mass * math.Exp(lambda*loss-top)
		}
	}
	if sum > 1e-200 {
		return top + math.Log(sum)
	}
	// The ends have so little mass that all may underflow beside them.
	terms := make([]float64, n)
	for i := range n {
		mass, loss := at(i)
		terms[i] = math.Log(mass) + float64(lambda*loss)
	}
	return floats.LogSumExp(terms)
}

// chernoff bounds the mass of a law tilted by e^{λℓ} on one side of a point, above
// it for θ > 0 and below it for θ < 0:
//
//	P_λ(θL ≥ θx) ≤ exp(K(λ+θ) − K(λ) − θx).
type chernoff struct{ theta, difference float64 }

func (c chernoff) log(x float64) float64 { return c.difference - float64(c.theta*x) }

// tilts holds K of a sum of count losses, at many tilts in increasing order.
type tilts struct{ at, k []float64 }

func newTilts(l *law, count float64) *tilts {
	scale := 1 / math.Sqrt(count*l.square())
	t := &tilts{}
	// Few large losses may lie far beyond the standard deviation of many small ones.
	for x := math.Min(0.01*scale, 0.02); x < 1e5*scale; x *= 1.3 {
		t.at = append(t.at, x, -x)
	}
	t.at = append(t.at, 0)
	slices.Sort(t.at)
	for _, lambda := range t.at {
		t.k = append(t.k, count*l.logMoment(lambda))
	}
	return t
}

// square is the variance of the loss.
func (l *law) square() float64 {
	var mean, second, sum float64
	for _, c := range l.cells {
		sum += c.mass
		mean += c.mass * c.loss
		second += c.mass * c.loss * c.loss
	}
	return math.Max(second/sum-float64(mean*mean/(sum*sum)), 1e-30*second/sum)
}

// hinge is the logarithm of the bound on δ(ε) that a tilt λ > 0 gives, less K − λε:
// (1 − e^{ε−L})₊ ≤ e^{λ(L−ε)} max_u e^{−λu}(1 − e^{−u}), and that is
//
//	λ^λ / (1 + λ)^{1+λ}.
func hinge(lambda float64) float64 { return -float64(lambda*math.Log1p(1/lambda)) - math.Log1p(lambda) }

// epsilon is the smallest ε for which such a bound on δ(ε) is delta, and the λ of it.
func (t *tilts) epsilon(logDelta float64) (epsilon, lambda float64) {
	epsilon = math.Inf(1)
	for i, at := range t.at {
		if at > 0 && (t.k[i]+hinge(at)-logDelta)/at < epsilon {
			epsilon, lambda = (t.k[i]+hinge(at)-logDelta)/at, at
		}
	}
	return math.Max(0, epsilon), lambda
}

// logDelta is the smallest logarithm of such a bound on δ(ε).
func (t *tilts) logDelta(epsilon float64) float64 {
	best := 0.
	for i, lambda := range t.at {
		if lambda > 0 {
			best = math.Min(best, t.k[i]+hinge(lambda)-float64(lambda*epsilon))
		}
	}
	return best
}

// window is a tilt, and a distance from ε within which the tilted law lies but for
// what the Chernoff bounds say is negligible.
type window struct {
	lambda, distance float64
	above, below     chernoff
}

// rare is what a window leaves out, relative to δ(ε).
const rare = 1e-7

// window returns the narrowest window for a δ(ε) of about e^logDelta, among those of
// tilts under which what is summed up for δ(ε) is as large as loud; one that falls
// short of that has to be narrower by the square of the factor. ok is false where there
// is none.
func (t *tilts) window(epsilon, logDelta, loud float64) (best window, ok bool) {
	least := math.Inf(1)
	for i, lambda := range t.at {
		if lambda <= 0 {
			continue
		}
		size := logDelta + float64(lambda*epsilon) - t.k[i] - hinge(lambda)
		w := t.sides(i, epsilon, math.Min(size, 0)+math.Log(rare))
		if !(w.distance > 0 && w.distance < math.Inf(1)) {
			continue
		}
		size += math.Log(math.Min(1, lambda*w.distance/10))
		if cost := math.Log(w.distance) + 2*math.Max(0, math.Log(loud)-size); cost < least {
			best, least = w, cost
		}
	}
	return best, !math.IsInf(least, 1)
}

// sides finds the distance where both tails of the i-th tilt are below e^limit.
func (t *tilts) sides(i int, epsilon, limit float64) window {
	w := window{lambda: t.at[i]}
	up, down := math.Inf(1), math.Inf(1)
	for j, other := range t.at {
		if i == j {
			continue
		}
		c := chernoff{other - w.lambda, t.k[j] - t.k[i]}
		x := (c.difference - limit) / c.theta
		if c.theta > 0 && x-epsilon < up {
			up, w.above = x-epsilon, c
		}
		if c.theta < 0 && epsilon-x < down {
			down, w.below = epsilon-x, c
		}
	}
	w.distance = math.Max(up, down)
	return w
}
