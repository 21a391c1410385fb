package custody

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/dpreg/dpreg/internal/files"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/shares"
)

// Custodians who add up their sums without showing them, with one noise in all: docs/secure-sum.md.

// Session is what they agree upon first. It is public; all that follows is of its digest.
type Session struct {
	Format     string          `json:"format"`
	ID         []byte          `json:"id"` // random: no two sessions are the same
	Custodians []Member        `json:"custodians"`
	Colluding  int             `json:"colluding"` // who may show each other all that they have
	Absent     int             `json:"absent"`    // who may drop out at each round
	Privacy    release.Privacy `json:"privacy"`
	Noise      release.Noise   `json:"noise"` // that each custodian adds
	Schema     schema.Design   `json:"schema"`
	Persons    string          `json:"persons,omitzero"` // what becomes of their rows, as persons.ParseRule reads it; empty: Privacy is of rows

	// Of several looks, each with a session of its own: how many, about how many rows they see, what those
	// before this one released, and where this one is taken, which follows from that.
	Steps  int              `json:"steps,omitzero"`
	Rows   int64            `json:"rows,omitzero"`
	Former *release.Release `json:"former,omitzero"`
	Frame  *release.Frame   `json:"frame,omitzero"`
}

// Member is a custodian of a session.
type Member struct {
	Name string `json:"name"`
	Key  []byte `json:"key"` // of X25519, public
}

// MemberKey is a member's secret, for one session. It prints as its name.
type MemberKey struct {
	Name string
	key  shares.Key
	path string
}

func (k MemberKey) String() string { return k.Name }

// The formats of the files.
const (
	sessionFormat = "dpreg-session/1"
	memberFormat  = "dpreg-member/1"
	secretFormat  = "dpreg-member-key/1"
	sharesFormat  = "dpreg-shares/1"
	maskedFormat  = "dpreg-masked/1"
)

type memberFile struct {
	Format string `json:"format"`
	Member
}

type secretFile struct {
	Format string `json:"format"`
	Name   string `json:"name"`
	Secret []byte `json:"secret"`
}

// NewMember makes a custodian's key for one session, in path, for its owner alone, and in public what
// the others need. Neither is overwritten.
func NewMember(name, path, public string) error {
	if err := checkMember(name); err != nil {
		return Misuse(err)
	}
	key, err := shares.NewKey()
	if err != nil {
		return err
	}
	secret, err := written(secretFile{secretFormat, name, key.Bytes()})
	if err != nil {
		return err
	}
	open, err := written(memberFile{memberFormat, Member{name, key.Public()}})
	if err != nil {
		return err
	}
	return Misuse(files.WriteKey(path, secret, public, open))
}

func checkMember(name string) error {
	if name == "" || len(name) > 100 || name != strings.TrimSpace(name) || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == '/' || r == '\\' }) {
		return fmt.Errorf("%q is no name of a custodian", name)
	}
	return nil
}

// ReadMember reads what a custodian made public of its key.
func ReadMember(path string) (m Member, err error) {
	var f memberFile
	err = readAs(path, memberFormat, &f, &f.Format)
	return f.Member, err
}

// ReadMemberKey reads a key that NewMember made.
func ReadMemberKey(path string) (k MemberKey, err error) {
	var f secretFile
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return k, Misusef("%s is not there: a key is made by dpreg pool key, and gone once its custodian added up", path)
	}
	if err := readAs(path, secretFormat, &f, &f.Format); err != nil {
		return k, err
	}
	key, err := shares.ParseKey(f.Secret)
	if err != nil {
		return k, Misusef("%s: it holds no key", path)
	}
	return MemberKey{f.Name, key, path}, Misuse(files.CheckSecret(path))
}

// NewSession is one of these custodians, who release sums as one: of terms' columns, with its privacy. What
// follows a former look has all but these from that.
func NewSession(members []Member, terms Session) (*Session, error) {
	s := &terms
	s.Format, s.ID, s.Custodians = sessionFormat, make([]byte, 16), members
	if _, err := rand.Read(s.ID); err != nil {
		return nil, err
	}
	if err := s.checkMembers(); err != nil {
		return nil, Misuse(err)
	}
	if err := s.follow(); err != nil {
		return nil, Misuse(err)
	}
	if s.Privacy.Delta == 0 {
		return nil, Misusef("--delta is missing: custodians add up shares of Gaussian noise, which needs a δ far below one over all rows, as in --delta 1e-6. With --eps alone each makes a release of its own, by dpreg release, and dpreg infer takes them together")
	}
	var err error
	if s.Frame, err = s.frame(); err != nil {
		return nil, Misuse(err)
	}
	least, err := s.shared()
	if err != nil {
		return nil, Misuse(err)
	}
	s.Noise = least.Noise
	return s, Misuse(s.check())
}

// threshold is how many of the custodians tell the total.
func (s *Session) threshold() int { return len(s.Custodians) - s.Absent }

// checkMembers refuses custodians who cannot keep a secret. The proof of docs/secure-sum.md, of a threshold
// J − absent, needs 5 absent < 2(J − colluding).
func (s *Session) checkMembers() error {
	n := len(s.Custodians)
	for i, m := range s.Custodians {
		if err := checkMember(m.Name); err != nil {
			return err
		}
		if slices.ContainsFunc(s.Custodians[:i], func(other Member) bool { return other.Name == m.Name }) {
			return fmt.Errorf("two custodians are called %q", m.Name)
		}
	}
	if s.Colluding < 0 || s.Absent < 0 || n > shares.MaxMembers || 5*s.Absent >= 2*(n-s.Colluding) {
		return fmt.Errorf("of %d custodians %d may collude and %d be absent: twice those who do not collude must be above 5 times those who may be absent, or some could be told from the others", n, s.Colluding, s.Absent)
	}
	return s.group().Check()
}

// check refuses a session whose promise would not hold.
func (s *Session) check() error {
	if len(s.ID) != 16 {
		return errors.New("id: 16 bytes are needed")
	}
	if err := errors.Join(s.checkMembers(), s.Schema.Validate(), s.checkLook()); err != nil {
		return err
	}
	q, err := s.shared()
	if err != nil {
		return err
	}
	has, least := s.Noise, q.Noise
	if has.Scale < least.Scale {
		return fmt.Errorf("noise: a custodian's scale must be %v, not %v", least.Scale, has.Scale)
	}
	if least.Scale = has.Scale; has != least {
		return errors.New("noise: it is not that of this privacy and these columns")
	}
	return nil
}

// Digest is what custodians compare, by another way than the file came.
func (s *Session) Digest() string { return fmt.Sprintf("%x", s.digest()) }

func (s *Session) digest() [sha256.Size]byte {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // check saw to it that there are no NaN
	}
	return sha256.Sum256(text)
}

func (s *Session) group() *shares.Group {
	g := &shares.Group{Threshold: s.threshold(), Session: s.digest()}
	for _, m := range s.Custodians {
		g.Keys = append(g.Keys, m.Key)
	}
	return g
}

// place is where a custodian stands in the session.
func (s *Session) place(k MemberKey) (int, error) {
	i := slices.IndexFunc(s.Custodians, func(m Member) bool { return bytes.Equal(m.Key, k.key.Public()) })
	if i < 0 {
		return 0, Misusef("%s is of no custodian of the session: those who have other keys are %s", k.path, s.names())
	}
	return i, nil
}

func (s *Session) named(name string) int {
	return slices.IndexFunc(s.Custodians, func(m Member) bool { return m.Name == name })
}

func (s *Session) names() string {
	var names []string
	for _, m := range s.Custodians {
		names = append(names, m.Name)
	}
	return strings.Join(names, ", ")
}

// String says what is agreed upon.
func (s *Session) String() string {
	text := fmt.Sprintf("session %s: %s of %s; %s; %d of them may collude, and %d be absent",
		s.Digest(), s.Schema.Formula(), s.names(), Describe(s.Privacy), s.Colluding, s.Absent)
	if s.Persons != "" {
		text += "; for each person, of whose rows --person-rows " + s.Persons
	}
	if s.Steps > 1 {
		text += fmt.Sprintf("; look %d of %d, which have this privacy together", s.look()+1, s.Steps)
	}
	return text
}

// Write writes the session to a file, which must not exist.
func (s *Session) Write(path string) error { return writeNew(path, files.MoveNew, s) }

// ReadSession reads it.
func ReadSession(path string) (*Session, error) {
	s := new(Session)
	if err := readAs(path, sessionFormat, s, &s.Format); err != nil {
		return nil, err
	}
	if err := s.check(); err != nil {
		return nil, Misusef("%s: %w", path, err)
	}
	return s, nil
}

// maxSession bounds the size of the files of a session.
const maxSession = 1 << 30

// readAs reads a file of this format into to, of which format is a field.
func readAs(path, want string, to any, format *string) error {
	file, err := os.Open(path)
	if err != nil {
		return Misuse(err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxSession))
	if err != nil {
		return Misuse(err)
	}
	err = json.Unmarshal(text, to, json.RejectUnknownMembers(true))
	switch {
	case *format != "" && *format != want:
		return Misusef("%s: %q is wanted here, not %q", path, want, *format)
	case err != nil:
		return Misusef("%s: this is no file of a session that is whole: %q is wanted here", path, want)
	case *format == "":
		return Misusef("%s: it does not say that it is %q", path, want)
	}
	return nil
}

// written is the text of a file of a session.
func written(v any) ([]byte, error) { return json.Marshal(v, jsontext.WithIndent("  ")) }

// writeNew writes a file of a session, which must not exist, and has move put it there: files.MoveNew, or what does so.
func writeNew(path string, move func(from, to string) error, v any) error {
	text, err := written(v)
	if err != nil {
		return Misuse(err)
	}
	err = files.Place(path, 0o644, move, files.Text(append(text, '\n')))
	if errors.Is(err, fs.ErrExist) {
		return Misusef("%s exists: choose another name, or remove it first", filepath.Clean(path))
	}
	return Misuse(err)
}
