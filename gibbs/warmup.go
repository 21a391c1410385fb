package gibbs

// The metric of HMC, and the slope of a latent count, are estimated in windows of warm-up of
// doubling length that end at 0.1, 0.2, 0.4 and 0.9; after each the step size starts anew, and at
// the end it settles. The first half of the first window, which may be far from home, is left out.
var windowEnds = [...]float64{0.1, 0.2, 0.4, 0.9}

const (
	firstWindow   = 0.1
	firstStepSize = 0.1 // in the metric of warm-up's start, the identity
	whitenedStep  = 0.7 // a guess once the metric has been estimated
)

// Adapt is called by the driver after each warm-up step.
func (k *clt) Adapt(iteration, warmup int) {
	if iteration == 0 {
		k.hmc.restart(firstStepSize)
	}
	if k.last.Hamiltonian && !k.last.Failed {
		k.hmc.stepSize.Update(k.last.accept)
	}
	done := iteration + 1
	if done > share(firstWindow/2, warmup) && k.law.Unconstrain(k.phi, k.params) {
		k.metric.Add(k.phi)
		if k.count != nil {
			k.count.add(k.phi)
		}
	}
	if windowCloses(done, warmup) {
		if k.metric.Update() {
			k.hmc.restart(whitenedStep)
		}
		if k.count != nil {
			k.count.update()
		}
	}
	if done == warmup {
		k.hmc.stepSize.Settle()
	}
}

func share(of float64, warmup int) int { return int(of * float64(warmup)) }

// windowCloses tells whether a window of warm-up ends with the last of done steps.
func windowCloses(done, warmup int) bool {
	for _, end := range windowEnds {
		if done == share(end, warmup) {
			return true
		}
	}
	return false
}
