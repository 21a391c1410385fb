package table

import (
	"cmp"
	"context"
	"errors"
	"io"
	"iter"
	"slices"
	"sync"

	"github.com/dpreg/dpreg/schema"
)

// rowsFile is an open file, in parts that any worker can parse.
type rowsFile interface {
	// next readies the next part for w, io.EOF after the last one. One worker at a time
	// calls it.
	next(w *worker) error
	// parse hands on the rows of the part that next readied for w; parts count from 0.
	parse(w *worker, part int) error
}

// scannedFile is a file with the workers on it.
type scannedFile struct {
	number int
	open   func() (rowsFile, io.Closer, error)

	reading sync.Mutex // held while a worker takes a part
	rows    rowsFile   // nil: not open yet
	closer  io.Closer  // nil: nothing to close
	part    int        // the last one taken, -1: none

	workers int // guarded by scan.state
	done    bool
}

func (f *scannedFile) close() {
	if f.closer != nil {
		f.closer.Close()
		f.closer = nil
	}
}

// scan reads files by several workers. Each is on the file with the fewest others, and
// takes part after part of it. That ends with the error that comes first in the order
// of the files and of their rows, whatever worker finds another one before.
type scan struct {
	files []*scannedFile
	empty bool // Options.Empty

	state  sync.Mutex
	err    error
	failed [2]int // the file and the part of err
}

func (s *scan) add(open func() (rowsFile, io.Closer, error)) {
	s.files = append(s.files, &scannedFile{number: len(s.files), open: open, part: -1})
}

// run lets the workers read all files; the first of them in the caller's goroutine.
// That there is no row in any is an error, about what has this name, unless s.empty.
func (s *scan) run(ctx context.Context, name string, workers []*worker) error {
	var others sync.WaitGroup
	for _, w := range workers[1:] {
		others.Go(func() { s.work(ctx, w) })
	}
	s.work(ctx, workers[0])
	others.Wait()
	if err := cmp.Or(ctx.Err(), s.err); err != nil {
		return err
	}
	if !s.empty && !slices.ContainsFunc(workers, func(w *worker) bool { return w.some }) {
		return &Error{File: name, Err: errNoRows}
	}
	return nil
}

func (s *scan) work(ctx context.Context, w *worker) {
	defer func() { w.mark.done() }()
	for f := s.join(nil); f != nil; f = s.join(f) {
		for s.step(ctx, f, w) {
		}
	}
}

// join leaves the file that a worker has finished, and gives it the next one, nil where
// there is none.
func (s *scan) join(finished *scannedFile) *scannedFile {
	s.state.Lock()
	defer s.state.Unlock()
	if finished != nil {
		finished.done = true
		if finished.workers--; finished.workers == 0 {
			finished.close()
		}
	}
	var next *scannedFile
	for _, f := range s.files {
		if !f.done && (next == nil || f.workers < next.workers) {
			next = f
		}
	}
	if next != nil {
		next.workers++
	}
	return next
}

// step reads and parses a part; it tells whether there may be another one.
func (s *scan) step(ctx context.Context, f *scannedFile, w *worker) bool {
	part, err := s.take(ctx, f, w)
	if err == io.EOF {
		return false
	}
	if err == nil {
		err = f.rows.parse(w, part)
	}
	if err != nil {
		s.fail([2]int{f.number, part}, err)
	}
	return err == nil
}

// take readies the next part, where there is one that still matters.
func (s *scan) take(ctx context.Context, f *scannedFile, w *worker) (part int, err error) {
	f.reading.Lock()
	defer f.reading.Unlock()
	if ctx.Err() != nil || s.moot([2]int{f.number, f.part + 1}) {
		return 0, io.EOF
	}
	f.part++
	if f.rows == nil {
		if f.rows, f.closer, err = f.open(); err != nil {
			f.close()
			return f.part, err
		}
	}
	return f.part, f.rows.next(w)
}

// fail notes an error, if none that comes before it is known.
func (s *scan) fail(at [2]int, err error) {
	s.state.Lock()
	defer s.state.Unlock()
	if s.err == nil || slices.Compare(at[:], s.failed[:]) < 0 {
		s.err, s.failed = err, at
	}
}

// moot tells whether an error comes before this part.
func (s *scan) moot(at [2]int) bool {
	s.state.Lock()
	defer s.state.Unlock()
	return s.err != nil && slices.Compare(at[:], s.failed[:]) > 0
}

// errStopped ends a sequence that is not wanted any longer.
var errStopped = errors.New("stopped")

// rows yields those of what is wanted, in the order of the files.
func (s *Source) rows(of func() (wanted, error)) iter.Seq2[[]float64, error] {
	return func(yield func([]float64, error) bool) {
		w, err := of()
		if err == nil {
			ctx, width := context.Background(), w.width()+w.extra()
			one := w.worker(ctx, func(rows []float64) error {
				for ; len(rows) > 0; rows = rows[width:] {
					if !yield(rows[:width:width], nil) {
						return errStopped
					}
				}
				return nil
			})
			err = s.scan(w).run(ctx, s.Name, []*worker{one})
		}
		if err != nil && err != errStopped {
			yield(nil, err)
		}
	}
}

// worker turns parts of files into rows and hands these on, some at a time. Its memory
// is used again for the next part.
type worker struct {
	ctx   context.Context
	sink  func(rows []float64) error
	block block
	arrow arrowPart
	width int       // of a row
	rows  []float64 // complete, and not handed on yet; a batch at most
	some  bool      // there was a row, be it one that was left out
	mark  *marker   // nil: nobody asks, or there was no row yet
	hash  hashState // of persons
}

// batch is the number of rows that are handed on at a time.
const batch = 256

// worker makes one that hands rows on as w has them.
func (w wanted) worker(ctx context.Context, sink func(rows []float64) error) *worker {
	width := len(w.columns) + w.extra()
	return &worker{ctx: ctx, sink: w.sunk(sink), width: width, rows: make([]float64, 0, batch*width)}
}

// row is the place of the next row.
func (w *worker) row() []float64 {
	n := len(w.rows)
	return w.rows[n : n+w.width]
}

// finish marks the row of which all cells were written to its place, and takes it.
func (w *worker) finish(l *layout, row []float64, missing bool) error {
	if l.marks != nil {
		if w.mark == nil {
			w.mark = l.marks.marker(&l.wanted)
		}
		w.mark.add(row[:len(l.columns)])
	}
	w.some = true
	if !l.complete(row, missing) {
		return nil
	}
	w.rows = w.rows[:len(w.rows)+w.width]
	if len(w.rows) < cap(w.rows) {
		return nil
	}
	return w.flush()
}

// flush hands on what is complete.
func (w *worker) flush() error {
	rows := w.rows
	if w.rows = rows[:0]; len(rows) == 0 || w.ctx.Err() != nil {
		return w.ctx.Err()
	}
	return w.sink(rows)
}

// lines parses a block: line by line where there are no quotation marks, and by
// encoding/csv where there are, and from the first line on with which anything is wrong.
func (w *worker) lines(l *layout) error {
	b := &w.block
	at, text := 0, b.text
	for !b.quoted && at < len(text) {
		if text[at] == '\n' {
			at++
			continue
		}
		if text[at] == '\r' && text[at+1] == '\n' {
			at += 2
			continue
		}
		row := w.row()
		length, missing := l.line(row, text[at:], &w.hash)
		if length == 0 {
			break
		}
		at += length
		if err := w.finish(l, row, missing); err != nil {
			return err
		}
	}
	if at < len(text) {
		b.skip(at)
		if err := w.records(l, b.records(l.name, len(l.inline))); err != nil {
			return err
		}
	}
	return w.flush()
}

// records parses what encoding/csv reads. Rows before an error are handed on.
func (w *worker) records(l *layout, records *recordReader) error {
	for {
		record, err := records.next()
		if err == io.EOF {
			return nil
		}
		row, missing := w.row(), false
		if err == nil {
			missing, err = l.record(row, record, records)
		}
		if err != nil {
			return cmp.Or(w.flush(), err)
		}
		if err := w.finish(l, row, missing); err != nil {
			return err
		}
	}
}

// made makes rows of a design with terms from rows of the columns that these are made of: clamped
// to their bounds first, so that a term is defined, and lies between the bounds that follow from
// theirs, whatever a cell holds.
type made struct {
	*schema.Maker
	frame schema.Frame
}

// width is that of the rows that are handed on.
func (w wanted) width() int {
	if w.made == nil {
		return len(w.columns)
	}
	return len(w.made.frame.Half)
}

// extra is how many values follow a row, which stand for its person.
func (w wanted) extra() int {
	if w.options.Person == "" {
		return 0
	}
	return PersonValues
}

// make makes a row as it is handed on of one that was read.
func (w wanted) make(row, base []float64) {
	copy(row[w.width():], base[len(w.columns):])
	row, base = row[:w.width()], base[:len(w.columns)]
	w.made.Row(row, base)
	w.made.frame.Scale(row, row)
}

// sunk are rows as they are handed on.
func (w wanted) sunk(sink func(rows []float64) error) func(rows []float64) error {
	if w.made == nil {
		return sink
	}
	from, to := len(w.columns)+w.extra(), w.width()+w.extra()
	var rows []float64
	return func(base []float64) error {
		n := len(base) / from
		rows = slices.Grow(rows[:0], n*to)[:n*to]
		for i := range n {
			w.make(rows[i*to:(i+1)*to], base[i*from:(i+1)*from])
		}
		return sink(rows)
	}
}
