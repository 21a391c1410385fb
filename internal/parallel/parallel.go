// Package parallel does independent tasks on several goroutines.
package parallel

import (
	"context"
	"runtime"
	"sync"
)

// Each does task(ctx, i) for i = 0 … n−1, begun in this order, so many at once as there
// are workers; 0 is GOMAXPROCS. The first error cancels the context of the others and is
// returned when all have ended; so is that of ctx. progress, which may be nil, is told
// after each task how many are done, one call at a time.
func Each(ctx context.Context, workers, n int, progress func(done, total int), task func(ctx context.Context, i int) error) error {
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	given := ctx
	ctx, cancel := context.WithCancelCause(given)
	defer cancel(nil)
	var mu sync.Mutex
	begun, done := 0, 0
	next := func() (i int, ok bool) {
		mu.Lock()
		defer mu.Unlock()
		begun++
		return begun - 1, begun <= n && ctx.Err() == nil
	}
	var group sync.WaitGroup
	for range min(workers, n) {
		group.Go(func() {
			for i, ok := next(); ok; i, ok = next() {
				if err := task(ctx, i); err != nil {
					cancel(err)
					return
				}
				if progress != nil {
					mu.Lock()
					done++
					progress(done, n)
					mu.Unlock()
				}
			}
		})
	}
	group.Wait()
	if err := given.Err(); err != nil {
		return err
	}
	return context.Cause(ctx)
}

// Share does f of 0 … n−1, in parts of so many and on all cores where there is more than one part.
// It allocates nothing where there is one.
func Share[T any](of T, n, part int, f func(of T, from, to int)) {
	if n <= part {
		f(of, 0, n)
		return
	}
	share(of, n, part, f)
}

func share[T any](of T, n, part int, f func(of T, from, to int)) {
	Each(context.Background(), 0, (n+part-1)/part, nil, func(_ context.Context, k int) error {
		f(of, k*part, min(n, (k+1)*part))
		return nil
	})
}
