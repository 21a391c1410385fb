package parallel

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
)

func TestEach(t *testing.T) {
	for _, workers := range []int{0, 1, 3, 200} {
		done, last := make([]atomic.Int32, 100), 0
		err := Each(t.Context(), workers, len(done), func(now, total int) {
			if last++; now != last || total != len(done) {
				t.Errorf("%d workers: progress %d of %d after %d calls", workers, now, total, last)
			}
		}, func(_ context.Context, i int) error {
			done[i].Add(1)
			return nil
		})
		if err != nil || last != len(done) {
			t.Errorf("%d workers: error %v, %d done", workers, err, last)
		}
		for i := range done {
			if n := done[i].Load(); n != 1 {
				t.Errorf("%d workers: task %d was done %d times", workers, i, n)
			}
		}
	}
	if err := Each(t.Context(), 4, 0, nil, nil); err != nil {
		t.Errorf("no task: %v", err)
	}
}

// The first error ends the tasks that run, by their context, and begins no other.
func TestEachFails(t *testing.T) {
	fault := errors.New("fault")
	var begun atomic.Int32
	err := Each(t.Context(), 2, 1000, nil, func(ctx context.Context, i int) error {
		begun.Add(1)
		if i == 5 {
			return fault
		}
		if i == 4 {
			<-ctx.Done()
			return ctx.Err()
		}
		return nil
	})
	if err != fault || begun.Load() > 7 {
		t.Errorf("error %v after %d tasks", err, begun.Load())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Each(ctx, 2, 10, nil, func(context.Context, int) error { return fault }); err != context.Canceled {
		t.Errorf("error %v of a context that is done", err)
	}
}

// Every index is in one part, and parts are as long as asked for, but the last.
func TestShare(t *testing.T) {
	for _, n := range []int{0, 1, 4, 5, 8, 9, 1000} {
		done := make([]atomic.Int32, n)
		Share(done, n, 4, func(done []atomic.Int32, from, to int) {
			if from%4 != 0 || to != min(from+4, n) {
				t.Errorf("%d: a part from %d to %d", n, from, to)
			}
			for i := from; i < to; i++ {
				done[i].Add(1)
			}
		})
		for i := range done {
			if k := done[i].Load(); k != 1 {
				t.Errorf("%d: index %d was in %d parts", n, i, k)
			}
		}
	}
}
