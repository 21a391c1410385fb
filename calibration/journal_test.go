package calibration

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
)

// interrupted runs a study with a journal and stops it after some trials.
func interrupted(t *testing.T, name string, s *Study, shard Shard, after int) {
	t.Helper()
	j, r, err := OpenJournal(name, s, shard)
	must.Do(t, err)
	enough := errors.New("enough")
	_, err = s.Run(context.Background(), Options{Shard: shard, Done: r.Trials, Keep: func(x *Trial) error {
		if after--; after < 0 {
			return enough
		}
		return j.Keep(x)
	}})
	must.Do(t, j.Close())
	if err != nil && err != enough {
		t.Fatal(err)
	}
}

// completed goes on to the end.
func completed(t *testing.T, name string, s *Study, shard Shard) []*Trial {
	t.Helper()
	j, r, err := OpenJournal(name, s, shard)
	must.Do(t, err)
	defer j.Close()
	return run(t, s, Options{Shard: shard, Done: r.Trials, Keep: j.Keep})
}

// A study that is stopped and started again any number of times, its journal cut
// anywhere in its last line or begun and left empty, ends with the same results.
func TestResume(t *testing.T) {
	s := toyStudy(15)
	want := written(t, s, run(t, s, Options{}))
	name := filepath.Join(t.TempDir(), "journal")
	interrupted(t, name, s, Shard{}, 9)
	whole := must.Get(os.ReadFile(name))(t)
	last := bytes.LastIndexByte(whole[:len(whole)-1], '\n') + 1
	for _, cut := range []int{0, 5, 8, 9, 30, bytes.IndexByte(whole, '\n'), last, last + 1, last + 40, len(whole) - 1, len(whole)} {
		must.Do(t, os.WriteFile(name, whole[:cut], 0o644))
		interrupted(t, name, s, Shard{}, 2)
		if got := written(t, s, completed(t, name, s, Shard{})); got != want {
			t.Errorf("cut at %d of %d: other results", cut, len(whole))
		}
		r, err := ReadJournal(name, s)
		if err != nil || len(r.Trials) != 30 || r.Cut {
			t.Errorf("cut at %d: %v, %d trials in the journal", cut, err, len(r.Trials))
		}
	}
}

func TestJournalRefuses(t *testing.T) {
	s, dir := toyStudy(5), t.TempDir()
	name := filepath.Join(dir, "journal")
	interrupted(t, name, s, Shard{1, 2}, 4)
	good := must.Get(os.ReadFile(name))(t)
	other := toyStudy(5)
	other.Seed++
	lines := bytes.SplitAfter(good, []byte("\n"))
	for says, c := range map[string]struct {
		text  []byte
		study *Study
		shard Shard
	}{
		"another study":                    {good, other, Shard{1, 2}},
		"is of shard 1/2":                  {good, s, Shard{}},
		"journal:2: the line is damaged":   {bytes.Replace(good, []byte(`"u":0`), []byte(`"u":1`), 1), s, Shard{1, 2}},
		"journal:1: not a journal":         {append([]byte("hello\n"), good...), s, Shard{1, 2}},
		"first line is damaged":            {append([]byte("0"), good[1:]...), s, Shard{1, 2}},
		"not a journal":                    {lines[1], s, Shard{1, 2}},
		"move the file away":               {[]byte("Dear diary"), s, Shard{1, 2}},
		"begin anew":                       {[]byte("0123abcd Dear"), s, Shard{1, 2}},
		"journal:3: the line is damaged: ": {bytes.Join([][]byte{lines[0], lines[1], lines[2][:20], lines[3], lines[4]}, nil), s, Shard{1, 2}},
	} {
		must.Do(t, os.WriteFile(name, c.text, 0o644))
		_, _, err := OpenJournal(name, c.study, c.shard)
		must.Fail(t, err, says)
		if after, _ := os.ReadFile(name); !bytes.Equal(after, c.text) {
			t.Errorf("%s: the journal was changed", says)
		}
	}
	if _, _, err := OpenJournal(filepath.Join(dir, "no", "journal"), s, Shard{}); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// full is a disk with room for so many bytes.
type full struct {
	bytes.Buffer
	room int
}

func (f *full) Write(p []byte) (int, error) {
	n := min(len(p), f.room-f.Len())
	f.Buffer.Write(p[:n])
	if n < len(p) {
		return n, errors.New("no space left on device")
	}
	return n, nil
}

func (f *full) Sync() error  { return nil }
func (f *full) Close() error { return nil }

// A full disk ends the run with an error that says what to do, and the study goes on
// when there is room.
func TestFullDisk(t *testing.T) {
	s := toyStudy(20)
	disk := &full{room: 1000}
	j := &Journal{file: disk, name: "study/journal"}
	must.Do(t, j.line(journalHead{JournalFormat, s.Fingerprint(), "1/1"}))
	_, err := s.Run(context.Background(), Options{Keep: j.Keep})
	if err == nil || !strings.Contains(err.Error(), "no space left") || !strings.Contains(err.Error(), "study/journal; make room") {
		t.Errorf("%v", err)
	}
	name := filepath.Join(t.TempDir(), "journal")
	must.Do(t, os.WriteFile(name, disk.Bytes(), 0o644))
	if r, err := ReadJournal(name, s); err != nil || !r.Cut || len(r.Trials) < 2 {
		t.Errorf("%v, %+v", err, r)
	}
	if got := written(t, s, completed(t, name, s, Shard{})); got != written(t, s, run(t, s, Options{})) {
		t.Error("other results after the disk was full")
	}
}

// Two processes on one journal lose nothing.
func TestTwoProcesses(t *testing.T) {
	s, name := toyStudy(10), filepath.Join(t.TempDir(), "journal")
	a, _, err := OpenJournal(name, s, Shard{})
	must.Do(t, err)
	b, _, err := OpenJournal(name, s, Shard{})
	must.Do(t, err)
	all := run(t, s, Options{})
	for i, x := range all {
		must.Do(t, errors.Join(a.Keep(x), b.Keep(all[len(all)-1-i])))
	}
	r, err := ReadJournal(name, s)
	if err != nil || len(r.Trials) != len(all) {
		t.Errorf("%v, %d trials of %d", err, len(r.Trials), len(all))
	}
}

// Shards put together have the results of one run.
func TestMerge(t *testing.T) {
	s, dir := toyStudy(7), t.TempDir()
	want := written(t, s, run(t, s, Options{}))
	var parts []*Recorded
	for i := range 3 {
		name := filepath.Join(dir, fmt.Sprint(i))
		completed(t, name, s, Shard{i + 1, 3})
		r := must.Get(ReadJournal(name, s))(t)
		parts = append(parts, r)
	}
	all, err := Merge(s, []*Recorded{parts[2], parts[0], parts[1]})
	if err != nil || written(t, s, all) != want {
		t.Errorf("other results from shards: %v", err)
	}
	short := *parts[1]
	short.Trials = short.Trials[1:]
	half := *parts[1]
	half.Shard = Shard{2, 2}
	empty := *parts[1]
	empty.Study = ""
	for says, these := range map[string][]*Recorded{
		"nothing to merge":     nil,
		"shard 2/3 is missing": {parts[0], parts[2]},
		"are both shard 1/3":   {parts[0], parts[1], parts[0], parts[2]},
		"do not fit together":  {parts[0], &half, parts[2]},
		"1 of its trials":      {parts[0], &short, parts[2]},
		"no trials of this":    {parts[0], &empty, parts[2]},
	} {
		must.Fail(t, must.Err(Merge(s, these)), says)
	}
}

// Journals of any bytes are read or refused, and never crash.
func FuzzJournal(f *testing.F) {
	s, name := toyStudy(3), filepath.Join(f.TempDir(), "journal")
	j, _, err := OpenJournal(name, s, Shard{})
	must.Do(f, err)
	if _, err := s.Run(context.Background(), Options{Keep: j.Keep}); err != nil {
		f.Fatal(err)
	}
	good := must.Get(os.ReadFile(name))(f)
	f.Add(good)
	f.Add(good[:100])
	f.Add([]byte("\n\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if r, err := parseJournal("journal", text, s); err == nil && len(r.Trials) > 6 {
			t.Errorf("%d trials of 6", len(r.Trials))
		}
	})
}
