package table

import (
	"bufio"
	"context"
	"io"
)

// stdin is standard input, of which the beginning can be looked at. Nothing but its end
// ends a read of a terminal or of a pipe, so each is in a goroutine of its own, and who
// waits for it can be interrupted; then it is left behind.
type stdin struct {
	*bufio.Reader
	waiting *waiting
}

func newStdin(r io.Reader) *stdin {
	w := &waiting{r: r, came: make(chan read, 1), buffer: make([]byte, 1<<16)}
	return &stdin{bufio.NewReaderSize(w, maxRecord), w}
}

// until ends reads that wait once done is closed; nil never is.
func (s *stdin) until(done <-chan struct{}) { s.waiting.done = done }

// waiting reads r as it is asked for, by a goroutine, into buffer.
type waiting struct {
	r      io.Reader
	done   <-chan struct{}
	buffer []byte
	asked  bool      // the goroutine has buffer
	came   chan read // what it read
	rest   []byte    // of buffer
	err    error     // after rest
}

type read struct {
	n   int
	err error
}

func (w *waiting) Read(p []byte) (int, error) {
	if len(w.rest) == 0 && w.err == nil {
		if !w.asked {
			w.asked = true
			go func() {
				n, err := w.r.Read(w.buffer)
				w.came <- read{n, err}
			}()
		}
		select {
		case r := <-w.came:
			w.asked, w.rest, w.err = false, w.buffer[:r.n], r.err
		case <-w.done:
			return 0, context.Canceled
		}
	}
	n := copy(p, w.rest)
	if w.rest = w.rest[n:]; len(w.rest) > 0 {
		return n, nil
	}
	return n, w.err
}
