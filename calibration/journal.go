package calibration

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"slices"
	"time"
)

// JournalFormat is the first member of a journal's first line.
const JournalFormat = "dpreg-journal/1"

// Journal keeps finished trials in a file, a line each, so that a study that was
// killed goes on. A line is a checksum (CRC-32C of the rest, eight hexadecimal
// digits), a blank and a JSON; the first says which study, and which shard of it.
type Journal struct {
	file   journalFile
	name   string
	synced time.Time
	broken error
}

// journalFile is an *os.File.
type journalFile interface {
	io.Writer
	Sync() error
	Close() error
}

type journalHead struct {
	Format string `json:"format"`
	Study  string `json:"study"`
	Shard  string `json:"shard"`
}

// Recorded is what a journal holds.
type Recorded struct {
	Name   string // of the file
	Study  string // Study.Fingerprint
	Shard  Shard
	Trials []*Trial
	// Cut: the last line was not whole, as a process that is killed leaves it, and is
	// not among the trials.
	Cut bool

	end int64 // of the last whole line
}

// OpenJournal begins the journal of a study, or goes on with it after its last whole
// line. Errors: those of ReadJournal, the journal of another shard.
func OpenJournal(name string, s *Study, shard Shard) (*Journal, *Recorded, error) {
	// Lines are appended: should two processes run one study, a trial is written twice.
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("journal: %w", err)
	}
	j := &Journal{file: f, name: name}
	r, err := ReadJournal(name, s)
	if err == nil && r.end > 0 && r.Shard.String() != shard.String() {
		err = fmt.Errorf("%s: it is of shard %v of the study, not %v: choose another directory for this one", name, r.Shard, shard)
	}
	if err == nil && r.Cut {
		err = f.Truncate(r.end)
	}
	if err == nil && r.end == 0 {
		err = j.line(journalHead{JournalFormat, s.Fingerprint(), shard.String()})
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return j, r, nil
}

// ReadJournal reads the journal of a study. A last line that is not whole is left
// out, be it the only one; any other that is damaged is an error that names it.
func ReadJournal(name string, s *Study) (*Recorded, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	return parseJournal(name, text, s)
}

func parseJournal(name string, text []byte, s *Study) (*Recorded, error) {
	r := &Recorded{Name: name}
	seen := make(map[task]bool)
	for number := 1; len(text) > 0; number++ {
		body, rest, err := readLine(text)
		switch {
		case err == nil:
			err = r.take(number, body, s, seen)
		case number == 1 && (len(rest) > 0 || !isHeadOf(text, s)):
			err = errNoJournal
		case len(rest) == 0:
			r.Cut = true
			return r, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, number, err)
		}
		r.end += int64(len(text) - len(rest))
		text = rest
	}
	return r, nil
}

// errNoJournal keeps a file that has the name of a journal from being cut off as one.
var errNoJournal = fmt.Errorf("not a journal of this version, or its first line is damaged: it has to say %q; choose another directory, or move the file away to begin anew", JournalFormat)

// isHeadOf tells whether a text is the beginning of a study's journal, of whatever shard.
func isHeadOf(text []byte, s *Study) bool {
	const sum = 8
	head := fmt.Sprintf(`%*s {"format":%q,"study":%q`, sum, "", JournalFormat, s.Fingerprint())
	n := min(len(text), len(head))
	k := min(sum, n)
	return len(bytes.Trim(text[:k], "0123456789abcdef")) == 0 && string(text[k:n]) == head[k:n]
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// readLine takes one line off text and returns its JSON.
func readLine(text []byte) (body, rest []byte, err error) {
	line, rest, whole := bytes.Cut(text, []byte("\n"))
	sum, body, found := bytes.Cut(line, []byte(" "))
	if !whole || !found || string(sum) != fmt.Sprintf("%08x", crc32.Checksum(body, castagnoli)) {
		return nil, rest, errors.New("the line is damaged: its checksum is not that of what stands there; delete the line to lose no more than this trial")
	}
	return body, rest, nil
}

// take reads a line's JSON: the head, or a trial.
func (r *Recorded) take(number int, body []byte, s *Study, seen map[task]bool) error {
	if number == 1 {
		return r.takeHead(body, s)
	}
	t, decoder := new(Trial), json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(t); err != nil {
		return fmt.Errorf("not a trial: %w", err)
	}
	if t.Cell < 0 || t.Cell >= len(s.Cells) || t.Trial < 0 || t.Trial >= s.Trials {
		return fmt.Errorf("cell %d, trial %d: the study has %d cells of %d trials", t.Cell, t.Trial, len(s.Cells), s.Trials)
	}
	if k := (task{t.Cell, t.Trial}); !seen[k] {
		seen[k] = true
		r.Trials = append(r.Trials, t)
	}
	return nil
}

func (r *Recorded) takeHead(body []byte, s *Study) error {
	var h journalHead
	if err := json.Unmarshal(body, &h); err != nil || h.Format != JournalFormat {
		return errNoJournal
	}
	if h.Study != s.Fingerprint() {
		return errors.New("it is the journal of another study: choose another directory for this one")
	}
	r.Study = h.Study
	_, err := fmt.Sscanf(h.Shard, "%d/%d", &r.Shard.Index, &r.Shard.Count)
	return err
}

// syncEvery is how much time may be lost where the machine stops, and not only the
// process.
const syncEvery = time.Second

// Keep writes a trial down. After an error, such as a full disk, the journal takes no
// more: its last line may be cut off.
func (j *Journal) Keep(t *Trial) error {
	if err := j.line(t); err != nil {
		return err
	}
	if time.Since(j.synced) < syncEvery {
		return nil
	}
	j.synced = time.Now()
	return j.failed(j.file.Sync())
}

func (j *Journal) line(v any) error {
	if j.broken != nil {
		return j.broken
	}
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	line := fmt.Appendf(nil, "%08x %s\n", crc32.Checksum(body, castagnoli), body)
	_, err = j.file.Write(line)
	return j.failed(err)
}

func (j *Journal) failed(err error) error {
	if err != nil && j.broken == nil {
		j.broken = fmt.Errorf("the journal cannot be written (%w): what is finished is in %s; make room, and run the same command again to go on", err, j.name)
	}
	return j.broken
}

// Close ends the journal.
func (j *Journal) Close() error {
	return j.failed(errors.Join(j.file.Sync(), j.file.Close()))
}

// Merge puts the shards of a study together: all trials in order of cell and trial, as
// one run without shards has them. Errors: journals of different studies, of different
// numbers of shards, a shard that is missing, given twice or not finished.
func Merge(s *Study, parts []*Recorded) ([]*Trial, error) {
	if len(parts) == 0 {
		return nil, errors.New("there is nothing to merge")
	}
	count, from := parts[0].Shard.Count, make(map[int]string)
	var all []*Trial
	for _, r := range parts {
		other, twice := from[r.Shard.Index]
		missing := s.missing(r)
		switch {
		case r.Study != s.Fingerprint():
			return nil, fmt.Errorf("%s holds no trials of this study", r.Name)
		case r.Shard.Count != count:
			return nil, fmt.Errorf("%s is shard %v and %s is shard %v: they do not fit together", r.Name, r.Shard, parts[0].Name, parts[0].Shard)
		case twice:
			return nil, fmt.Errorf("%s and %s are both shard %v", other, r.Name, r.Shard)
		case missing > 0:
			return nil, fmt.Errorf("%s: %d of its trials are not finished: run its command again first", r.Name, missing)
		}
		from[r.Shard.Index] = r.Name
		all = append(all, r.Trials...)
	}
	for i := 1; i <= count; i++ {
		if from[i] == "" {
			return nil, fmt.Errorf("shard %d/%d is missing", i, count)
		}
	}
	slices.SortFunc(all, func(a, b *Trial) int { return cmp.Or(cmp.Compare(a.Cell, b.Cell), cmp.Compare(a.Trial, b.Trial)) })
	return all, nil
}

// missing counts the trials of a shard that its journal does not hold.
func (s *Study) missing(r *Recorded) int {
	n := 0
	for k := range len(s.Cells) * s.Trials {
		if r.Shard.has(k) {
			n++
		}
	}
	return n - len(r.Trials)
}
