package mechanisms

import (
	"math/big"
	"math/rand/v2"
	"sync"
	"testing"
)

func TestEntropyKinds(t *testing.T) {
	if OS().IsSimulated() {
		t.Error("OS is simulated")
	}
	if !Simulated(rand.New(rand.NewPCG(1, 2))).IsSimulated() {
		t.Error("Simulated is not simulated")
	}
}

func TestEntropyWithoutSourcePanics(t *testing.T) {
	for name, f := range map[string]func(){
		"zero value":    func() { new(Entropy).IsSimulated() },
		"nil":           func() { (*Entropy)(nil).IsSimulated() },
		"nil generator": func() { Simulated(nil) },
		"noise": func() {
			m, _ := Laplace(big.NewRat(1, 1))
			m.AddNoise([]*big.Int{new(big.Int)}, new(Entropy))
		},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}

// A copy must not replay the bytes of the original, nor leave any behind.
func TestEntropyCopySharesState(t *testing.T) {
	const scale = 1 << 62
	mechanism, _ := Laplace(big.NewRat(scale, 1))
	e := Simulated(rand.New(rand.NewPCG(3, 4)))
	f := *e
	a, b := []*big.Int{new(big.Int)}, []*big.Int{new(big.Int)}
	mechanism.AddNoise(a, e)
	mechanism.AddNoise(b, &f)
	if a[0].Cmp(b[0]) == 0 {
		t.Error("a copy of an Entropy gives the same noise again")
	}
	if e.state.buffer != [512]byte{} {
		t.Error("random bytes outlive the call")
	}
}

func TestReadWipesWhatItHandsOut(t *testing.T) {
	s := Simulated(rand.New(rand.NewPCG(5, 6))).state
	var b [700]byte
	s.read(b[:100])
	for _, x := range s.buffer[:100] {
		if x != 0 {
			t.Fatal("bytes stay in the buffer")
		}
	}
	s.read(b[:])
	if s.used != 800-512 {
		t.Errorf("used = %d after 800 bytes", s.used)
	}
}

// Noise at scale 2^100 repeats with probability below 1e-24 unless bytes do.
func TestEntropyConcurrentUse(t *testing.T) {
	mechanism, _ := Laplace(new(big.Rat).SetInt(new(big.Int).Lsh(one, 100)))
	e := OS()
	var mu sync.Mutex
	seen := map[string]bool{}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				z := []*big.Int{new(big.Int), new(big.Int)}
				mechanism.AddNoise(z, e)
				mu.Lock()
				for _, v := range z {
					if seen[v.String()] {
						t.Error("noise repeats")
					}
					seen[v.String()] = true
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
}

func TestSimulatedRepeats(t *testing.T) {
	a := draws(t, big.NewRat(1<<40, 3), 50, 8)
	b := draws(t, big.NewRat(1<<40, 3), 50, 8)
	for i := range a {
		if a[i].Cmp(b[i]) != 0 {
			t.Fatal("one seed, two results")
		}
	}
}

// Uniform below n for n around powers of two and beyond a word.
func TestBelow(t *testing.T) {
	s := Simulated(rand.New(rand.NewPCG(9, 9))).state
	var scratch uniformScratch
	var z big.Int
	for _, n := range []int64{1, 2, 3, 7, 8, 9, 255, 256, 257} {
		count := make([]float64, n)
		probability := make([]float64, n)
		for range 200 * n {
			s.below(&z, big.NewInt(n), &scratch)
			count[z.Int64()]++
		}
		for i := range probability {
			probability[i] = 1 / float64(n)
		}
		if n > 1 {
			if p := chiSquare(count, probability); p < falseAlarm {
				t.Errorf("below %d: p = %g", n, p)
			}
		}
	}
	n := new(big.Int).Lsh(big.NewInt(3), 128)
	top := make([]float64, 3)
	for range 3000 {
		s.below(&z, n, &scratch)
		top[new(big.Int).Rsh(&z, 128).Int64()]++
	}
	if p := chiSquare(top, []float64{1. / 3, 1. / 3, 1. / 3}); p < falseAlarm {
		t.Errorf("below 3*2^128: p = %g", p)
	}
}
