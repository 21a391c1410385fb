package table

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"testing/iotest"

	"github.com/dpreg/dpreg/schema"
)

func sourceOf(r io.Reader) *Source {
	return &Source{Name: "standard input", Files: []File{{Stdin, CSVFormat}}, stdin: newStdin(r)}
}

// What comes through is what was read, however it comes.
func TestStdinIsRead(t *testing.T) {
	text := make([]byte, 3*maxRecord+1)
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range text {
		text[i] = byte(rng.Uint32())
	}
	for _, r := range []io.Reader{bytes.NewReader(text), iotest.HalfReader(bytes.NewReader(text)), iotest.DataErrReader(bytes.NewReader(text))} {
		s := newStdin(r)
		if start, err := s.Peek(100); err != nil || !bytes.Equal(start, text[:100]) {
			t.Errorf("the beginning is another one, error %v", err)
		}
		if got, err := io.ReadAll(s); err != nil || !bytes.Equal(got, text) {
			t.Errorf("%d bytes of %d, error %v", len(got), len(text), err)
		}
	}
	if _, err := io.ReadAll(newStdin(iotest.ErrReader(io.ErrClosedPipe))); err != io.ErrClosedPipe {
		t.Errorf("error %v", err)
	}
}

// Who waits for standard input can be interrupted: before it has a header, and amid its rows.
func TestStdinInterrupted(t *testing.T) {
	d := &schema.Design{Covariates: []schema.Column{{Name: "x", Lower: 0, Upper: 1}}, Response: schema.Column{Name: "y", Lower: 0, Upper: 1}}
	ctx, cancel := context.WithCancel(t.Context())
	in, out := io.Pipe()
	defer out.Close()
	s := sourceOf(in)
	s.Done = ctx.Done()
	go func() {
		io.WriteString(out, "x,y\n1,1\n")
		cancel()
	}()
	if _, err := s.Header(); !errors.Is(err, context.Canceled) {
		t.Errorf("header: error %v", err)
	}
	if _, err := s.Header(); !errors.Is(err, context.Canceled) {
		t.Errorf("header, again: error %v", err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	in, out = io.Pipe()
	defer out.Close()
	go func() {
		io.WriteString(out, "x,y\n1,1\n")
		cancel()
	}()
	nothing := func([]float64) error { return nil }
	if err := (Options{}).Scan(ctx, sourceOf(in), d, nothing, nothing); err != context.Canceled {
		t.Errorf("rows: error %v", err)
	}
}
