package exact

import (
	"math"
)

// pull writes the gradient in x where take was last, of a density of statistics to which take's is added:
// noisy has its gradient in y's mean and row of D. It adds those in x̄ and in D_x to t and noisy, in W_x to
// t, as covariates.slope has it, and in λ; it returns that in n.
func (l *linked) pull(grad, x []float64, t, noisy *statistics, gLambda, lambda []float64) float64 {
	p, at := l.coefficients.p, l.sumsAt()
	clear(l.gF)
	byEta, byN := l.sumsOfY.pull(grad[at:], x[at:], noisy, l.gF)
	l.pullMiddle(grad[p:at], x[p:at], byEta, t)
	for j, b := range l.beta {
		l.gBeta[j] += dot(t.d[j*l.m:j*l.m+j+1], l.gF) - l.pulled[j]
		addScaled(t.gD[j*l.m:j*l.m+j+1], b, l.gF)
	}
	l.slopes.Pull(grad[:p], l.gBeta, x[:p])
	l.pullScatter(t)
	l.pullFree(gLambda, lambda)
	return byN
}

// pullMiddle is pull of takeMiddle, and writes the gradient in β.
func (l *linked) pullMiddle(grad, x []float64, byEta float64, t *statistics) {
	if !l.intercept {
		for j, b := range l.beta {
			l.gBeta[j] = byEta * t.mean[j]
			t.gMean[j] += byEta * b
		}
		return
	}
	root := math.Sqrt(l.tell)
	byDelta := l.alpha * l.force
	byEta -= byDelta
	byMiddle, byRho := byEta*l.rho, byEta*l.middle+1/l.rho
	grad[0] = byMiddle / root
	byTell := -(byMiddle*(l.middle-0.5*x[0]/root) + 0.5) / l.tell
	byRho += 2*byTell*l.alpha*l.rho + byMiddle*l.alpha*(l.level+l.delta+l.shift)/l.tell
	byShift := byMiddle*l.alpha*l.rho/l.tell - byEta
	byDelta += byMiddle * l.alpha * l.rho / l.tell
	addScaled(l.gF, byRho*l.of.steep/l.rho+byShift*l.of.lift, l.f)
	for j, b := range l.beta {
		l.gBeta[j] = byDelta * (t.mean[j] - l.centre[j])
		t.gMean[j] += byDelta * b
	}
}

// pullScatter is pull of what takeSlopes has of W and m̂: with G the gradient in P and g that in b,
// c²(GWV + VWG) + ½c(gvᵀ + vgᵀ) in W, v = Vm̂, and cVWg in m̂.
func (l *linked) pullScatter(t *statistics) {
	p, g := l.coefficients.p, l.slopes.Linear
	clear(l.square)
	for i := range p {
		for k, v := range l.slopes.Precise[i*p : (i+1)*p] {
			addScaled(l.square[i*p:(i+1)*p], v, l.wv[k*p:])
		}
	}
	clear(l.work)
	for i := range p {
		addScaled(l.work, l.c*g[i], l.wv[i*p:])
		for j := range i + 1 {
			t.e[i*l.m+j] += l.c*l.c*(l.square[i*p+j]+l.square[j*p+i]) + 0.5*l.c*(g[i]*l.vb[j]+l.vb[i]*g[j])
		}
	}
	for j, v := range l.work {
		t.gMean[j] -= 0.5 * l.sumsOfY.mean * v
	}
}

// pullFree adds the gradient in λ.
func (l *linked) pullFree(gLambda, lambda []float64) {
	p, mean := l.coefficients.p, l.coefficients.mean
	for _, b := range l.free {
		k, sum := len(b.slopes), 0.0
		for i, row := range b.slopes {
			for j, column := range b.slopes {
				g := l.slopes.Precise[row*p+column] + l.slopes.Linear[row]*mean[column] - 0.5*l.dev[row]*l.dev[column]
				sum += b.precision[i*k+j] * g
			}
		}
		gLambda[b.at] -= math.Exp(-lambda[b.at])*sum + 0.5*float64(k)
	}
}
