package network

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/vi/pvi"
)

// answering is a client whose n-th answer is n, and which remembers how many it gave.
type answering struct {
	given  int
	memory []float64
	before func() // of an answer; nil: nothing
	err    error
}

func (c *answering) Update(_ context.Context, t pvi.Task) ([]float64, error) {
	if c.before != nil {
		c.before()
	}
	if c.given++; c.err != nil {
		return nil, c.err
	}
	c.memory[0] = float64(c.given)
	return []float64{float64(c.given)}, nil
}

func asked(round int) pvi.Task {
	return pvi.Task{Round: round, Global: []float64{float64(round)}, Factor: []float64{1}}
}

// No answer leaves that Before refuses, neither the first time nor when it is asked for again.
func TestBefore(t *testing.T) {
	c := &answering{memory: []float64{0}}
	j := must.Get(Record(c, t.TempDir(), 12, c.memory))(t)
	var told []float64
	refusal := errors.New("refused")
	for _, want := range []error{refusal, refusal, nil, nil} {
		j.Before = func(_ context.Context, round int, change []float64) error {
			told = append(told, change...)
			return want
		}
		if got, err := j.Update(t.Context(), asked(1)); err != want || (got == nil) != (want != nil) {
			t.Errorf("%v, error %v, not %v", got, err, want)
		}
	}
	if c.given != 1 || !slices.Equal(told, []float64{1, 1, 1, 1}) {
		t.Errorf("%d answers, told %v", c.given, told)
	}
}

// A round is answered once, by whichever process, restarted or not, and what a client remembers goes with its
// answers.
func TestJournal(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "session")
	journal := func() (*Journal, *answering) {
		t.Helper()
		c := &answering{memory: []float64{0}}
		j := must.Get(Record(c, dir, 12, c.memory))(t)
		return j, c
	}
	answer := func(j *Journal, task pvi.Task, want float64) {
		t.Helper()
		if got, err := j.Update(t.Context(), task); err != nil || !slices.Equal(got, []float64{want}) {
			t.Errorf("round %d: %v, not %v, %v", task.Round, got, want, err)
		}
	}
	refused := func(j *Journal, task pvi.Task, says string) {
		t.Helper()
		if got, err := j.Update(t.Context(), task); err == nil || !strings.Contains(err.Error(), says) || got != nil {
			t.Errorf("%+v: %v, error %v", task, got, err)
		}
	}
	j, c := journal()
	for round := 1; round <= 11; round++ {
		answer(j, asked(round), float64(round))
		answer(j, asked(round), float64(round))
	}
	if j.Kept() != 11 || longer(journalName(9999), journalName(10000)) >= 0 {
		t.Errorf("%d rounds are kept of 11", j.Kept())
	}
	again, other := journal()
	if again.Kept() != 11 || other.memory[0] != 11 {
		t.Errorf("after a restart %d rounds are kept, and it remembers %v", again.Kept(), other.memory)
	}
	if answer(again, asked(3), 3); other.memory[0] != 3 || other.given != 0 {
		t.Errorf("an answer that was kept leaves %v to remember, after %d new ones", other.memory, other.given)
	}
	law := asked(3)
	law.Global = []float64{9}
	refused(again, law, "another law")
	law = asked(3)
	law.Factor = []float64{9}
	refused(again, law, "another law")
	for _, round := range []int{-1, 0, 13} {
		refused(again, asked(round), "refused")
	}
	// Another process answers while this one computes: that answer was sent, and this one is forgotten.
	c.before = func() { answer(again, asked(12), 1) }
	answer(j, asked(12), 1)
	if c.memory[0] != 1 || other.given != 1 {
		t.Errorf("it remembers %v, not what the other process kept", c.memory)
	}
	// A copy of one round's file serves for no other, and a damaged one for none.
	text := must.Get(os.ReadFile(filepath.Join(dir, journalName(1))))(t)
	for as, says := range map[string]string{string(text): "another law", strings.Replace(string(text), "task", "tusk", 1): "whole", string(text[:9]): "whole"} {
		must.Do(t, os.WriteFile(filepath.Join(dir, journalName(2)), []byte(as), 0o600))
		two := asked(2)
		two.Global = []float64{1} // that of the round whose file it is
		refused(again, two, says)
	}
	info, err := os.Stat(filepath.Join(dir, journalName(1)))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if info, err = os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	// What failed is not kept; what cannot be kept is not sent, and a round that was skipped stays so.
	dir = filepath.Join(t.TempDir(), "new")
	j, c = journal()
	c.err = errors.New("no")
	refused(j, asked(1), "no")
	if c.err = nil; j.Kept() != 0 {
		t.Errorf("%d rounds are kept of none", j.Kept())
	}
	must.Do(t, write(j.path(1), entry{Task: asked(1), Memory: []float64{5}}))
	if got, err := j.Update(t.Context(), asked(1)); got != nil || err != nil || c.given != 1 {
		t.Errorf("a round that was skipped: %v, %v", got, err)
	}
	must.Do(t, os.RemoveAll(dir))
	if _, err := j.Update(t.Context(), asked(2)); err == nil {
		t.Errorf("an answer that could not be kept was sent: %v", err)
	}
}

// A session goes on where it was, under its name alone.
func TestOpen(t *testing.T) {
	s := newScene(t, 2, 3, nil)
	session := *s.session
	session.ID = nil
	dir := filepath.Join(t.TempDir(), "d")
	first := must.Get(Open(dir, session))(t)
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if again, err := Open(dir, session); err != nil || again.Digest() != first.Digest() {
		t.Errorf("it did not go on: %v", err)
	}
	if other, err := Open(dir+"2", session); err != nil || other.Digest() == first.Digest() {
		t.Errorf("two sessions are one: %v", err)
	}
	session.Rounds++
	must.Fail(t, must.Err(Open(dir, session)), "another session")
	for _, names := range [][]string{{"a", "A"}, {"a"}, {"a", "b/c"}, {"a", "b:c"}} {
		session.Clients = names
		if _, err := Open(dir+"3", session); err == nil {
			t.Errorf("%q: no error", names)
		}
	}
}
