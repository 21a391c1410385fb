package audit

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"

	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/ssp"
)

// bench is where an audit works: the two data sets, what publishes them, and the law
// that noise must have.
type bench struct {
	*Audit
	sides   [2]side
	publish [2]func(ctx context.Context, trial int) (*release.Release, error)
	noise   release.Noise
	laws    []law // of each entry
	fine    []cells
	quarter []cells
}

func (a *Audit) open(ctx context.Context, path Path) (*bench, error) {
	b := &bench{Audit: a, sides: a.pair()}
	var err error
	if b.noise, err = ssp.Calibrate(a.Columns, a.Privacy, a.Noise, ssp.Exact); err != nil {
		return nil, err
	}
	for i, s := range b.sides {
		if b.publish[i], err = path(ctx, s.text); err != nil {
			return nil, err
		}
	}
	if a.counted() {
		b.laws = append(b.laws, law{a.Noise, b.noise.Scale, 1})
	}
	for range release.Length(a.Columns) {
		b.laws = append(b.laws, law{a.Noise, b.noise.Scale, b.noise.Lattice})
	}
	for _, l := range b.laws {
		b.fine, b.quarter = append(b.fine, l.cells(64)), append(b.quarter, l.cells(4))
	}
	return b, nil
}

// block is the number of trials that a worker does at once.
const block = 500

// run does trials number first to first+trials−1. Guesses are kept where limits is nil,
// else scored, at each limit.
func (b *bench) run(ctx context.Context, first, trials int, limits []float64, progress func(n int)) (*tally, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	sum := b.newTally(limits)
	var next int
	var mu sync.Mutex
	var group sync.WaitGroup
	take := func() (begin, n int) {
		mu.Lock()
		defer mu.Unlock()
		begin, n = first+next, min(block, trials-next)
		next += n
		return begin, n
	}
	for range b.Workers {
		group.Go(func() {
			t := b.newTally(limits)
			for begin, n := take(); n > 0; begin, n = take() {
				if err := b.block(ctx, t, begin, n, limits); err != nil {
					cancel(err)
					return
				}
				mu.Lock()
				progress(n)
				mu.Unlock()
			}
			mu.Lock()
			sum.merge(t)
			mu.Unlock()
		})
	}
	group.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return sum, nil
}

// block does trials that share a generator of coins.
func (b *bench) block(ctx context.Context, t *tally, first, trials int, limits []float64) error {
	coins := rand.New(rand.NewPCG(b.Seed, uint64(first)))
	t.last = nil
	for trial := first; trial < first+trials; trial++ {
		chosen := coins.IntN(2)
		r, err := b.publish[chosen](ctx, trial)
		if err == nil {
			err = b.observe(t, r, chosen, limits)
		}
		if err != nil {
			return fmt.Errorf("release %d: %w", trial+1, err)
		}
	}
	return nil
}
