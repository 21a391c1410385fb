package network

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/dpreg/dpreg/internal/files"
	"github.com/dpreg/dpreg/vi/pvi"
)

// Journal is a client whose answers are kept, a file a round, before anybody sees them. A round that
// is asked for again has the answer that it had: no noise is drawn twice for it, whoever asks, and
// whatever ended in between. Both sides keep one: a client of what it sent, the server of what it
// got or did not get.
type Journal struct {
	// Before, where it is not nil, is called with an answer that is kept before anybody sees it, each time: none
	// leaves if it fails.
	Before func(ctx context.Context, round int, change []float64) error

	client pvi.Client
	dir    string
	rounds int
	memory []float64 // of client's rule
	kept   int       // rounds up to here are, or were skipped
}

// entry is a file of a journal.
type entry struct {
	Task   pvi.Task  `json:"task"`
	Change []float64 `json:"change"` // empty: none
	Memory []float64 `json:"memory"`
}

// Record keeps a client's answers in a directory, for so many rounds. memory is what the client
// remembers from round to round, and is set to what the last one left. Errors: the directory
// cannot be used.
func Record(client pvi.Client, dir string, rounds int, memory []float64) (*Journal, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	j := &Journal{client: client, dir: dir, rounds: rounds, memory: memory}
	names, _ := fs.Glob(os.DirFS(dir), "round-*.json") // the pattern is sound
	if len(names) == 0 {
		return j, nil
	}
	var last entry
	if err := read(filepath.Join(dir, slices.MaxFunc(names, longer)), &last); err != nil {
		return nil, err
	}
	j.kept = last.Task.Round
	copy(memory, last.Memory)
	return j, nil
}

// longer compares names of rounds by their numbers.
func longer(a, b string) int { return cmp.Or(len(a)-len(b), strings.Compare(a, b)) }

// Kept is the last round that there is an answer of, 0 before there is one.
func (j *Journal) Kept() int { return j.kept }

func (j *Journal) path(round int) string { return filepath.Join(j.dir, journalName(round)) }

func journalName(round int) string { return fmt.Sprintf("round-%04d.json", round) }

// Update implements pvi.Client. Errors, besides the client's and those of Before: a round that was not agreed upon,
// or one that was asked for with another law.
func (j *Journal) Update(ctx context.Context, t pvi.Task) ([]float64, error) {
	change, err := j.answer(ctx, t)
	if err == nil && change != nil && j.Before != nil {
		err = j.Before(ctx, t.Round, change)
	}
	if err != nil {
		return nil, err
	}
	return change, nil
}

func (j *Journal) answer(ctx context.Context, t pvi.Task) ([]float64, error) {
	if t.Round < 1 || t.Round > j.rounds {
		return nil, fmt.Errorf("round %d is asked for, and %d were agreed upon: refused", t.Round, j.rounds)
	}
	if old, err := j.again(t); !errors.Is(err, fs.ErrNotExist) {
		return old, err
	}
	change, err := j.client.Update(ctx, t)
	if err != nil {
		return nil, err
	}
	err = write(j.path(t.Round), entry{t, change, j.memory})
	if errors.Is(err, fs.ErrExist) { // by another process: what it kept is what was sent
		return j.again(t)
	}
	j.kept = max(j.kept, t.Round)
	return change, err
}

// again reads the answer that a task had.
func (j *Journal) again(t pvi.Task) ([]float64, error) {
	var e entry
	if err := read(j.path(t.Round), &e); err != nil {
		return nil, err
	}
	if e.Task.Round != t.Round || !slices.Equal(e.Task.Global, t.Global) || !slices.Equal(e.Task.Factor, t.Factor) {
		return nil, fmt.Errorf("round %d is asked for again, with another law than before: refused, since a round is answered once", t.Round)
	}
	copy(j.memory, e.Memory)
	if len(e.Change) == 0 {
		return nil, nil
	}
	return e.Change, nil
}

// Open keeps a session in a directory, where it goes on: if one is there it must be the same. s has
// an identity, or gets that of the one there, or a new one. Errors: another session is there, the
// directory cannot be used, names that no directory could have, as of s.Check.
func Open(dir string, s pvi.Session) (*pvi.Session, error) {
	path := filepath.Join(dir, "session.json")
	var there pvi.Session
	switch err := read(path, &there); {
	case errors.Is(err, fs.ErrNotExist):
		if s.ID == nil {
			s.ID = make([]byte, 16)
			rand.Read(s.ID) // never fails
		}
	case err != nil:
		return nil, err
	case s.ID == nil:
		s.ID = there.ID
	}
	if err := errors.Join(s.Open(s.ID), checkNames(s.Clients)); err != nil {
		return nil, err
	}
	if there.ID == nil {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
		return &s, write(path, s)
	}
	if there.Digest() != s.Digest() {
		return nil, fmt.Errorf("%s is of another session, %s: choose another directory, by --session DIR", dir, there.Digest())
	}
	return &s, nil
}

// checkNames refuses names of clients by which no file can be called, or that two have.
func checkNames(names []string) error {
	for i, name := range names {
		if len(name) > 100 || strings.ContainsAny(name, `/\:*?"<>|`) {
			return fmt.Errorf("%q is no name of a client", name)
		}
		if slices.ContainsFunc(names[:i], func(other string) bool { return strings.EqualFold(other, name) }) {
			return fmt.Errorf("two clients are called %q", name)
		}
	}
	if len(names) < 2 {
		return errors.New("a session needs two clients or more")
	}
	return nil
}

// maxFile bounds the size of a file, and of a message, in bytes.
const maxFile = 4 << 20

// write writes a file, which must not exist.
func write(path string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return files.WriteNew(path, 0o600, text)
}

func read(path string, v any) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxFile))
	if err == nil {
		err = json.Unmarshal(text, v, json.RejectUnknownMembers(true))
	}
	if err != nil {
		return fmt.Errorf("%s is no file of a session that is whole", path)
	}
	return nil
}
