package mcmc

import "math/rand/v2"

// Stream returns the generator number index of a family that seed names: a
// PCG whose 128 bits of state are hashed from (seed, index), so that
// neighbouring seeds and neighbouring indices give unrelated streams. Run
// gives Stream(plan.Seed, c) to chain c.
func Stream(seed uint64, index int) *rand.Rand {
	pcg := new(rand.PCG)
	seedStream(pcg, seed, index)
	return rand.New(pcg)
}

// seedStream seeds pcg with outputs 2·index and 2·index+1 of SplitMix64
// started at mix(seed). Both the finaliser and the Weyl sequence are
// bijections, so two indices of one seed never share a state; hashing the
// seed first keeps the sequences of seeds that differ by a multiple of the
// increment from being shifts of each other.
func seedStream(pcg *rand.PCG, seed uint64, index int) {
	const increment = 0x9e3779b97f4a7c15 // 2⁶⁴ / golden ratio, odd
	state := mix(seed) + uint64(2*index)*increment
	first := mix(state + increment)
	state += increment
	pcg.Seed(first, mix(state+increment))
}

// mix is the finaliser of SplitMix64 (Steele, Lea and Flood 2014, OOPSLA;
// constants of Stafford's Mix13).
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
