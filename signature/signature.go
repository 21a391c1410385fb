// Package signature signs releases, so that who reads one can know that it is as its custodian
// wrote it: by Ed25519 (RFC 8032), in the format of minisign, which others verify as well
// (minisign -Vm FILE -p KEY.pub). The signature of FILE is FILE.minisig; its trusted comment, which is signed
// too, is a Statement.
package signature

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"aead.dev/minisign"

	"github.com/dpreg/dpreg/internal/files"
)

// Suffix is what the name of a signature ends in, after that of what is signed.
const Suffix = ".minisig"

// Statement is what is signed beside a file's bytes.
type Statement struct {
	Program string // that signed
	Digest  string // SHA-256 of the file, hexadecimal
	Ledger  string // head of the ledger, once it was charged; empty: none was
	Time    time.Time
}

// String is one line.
func (s Statement) String() string {
	return fmt.Sprintf("dpreg %s sha256:%s ledger:%s time:%s", strings.ReplaceAll(s.Program, " ", "_"), s.Digest, cmp.Or(s.Ledger, "none"), s.Time.UTC().Format(time.RFC3339))
}

var errComment = errors.New("its comment is not one of dpreg")

func parse(text string) (s Statement, err error) {
	var when string
	n, _ := fmt.Sscanf(text, "dpreg %s sha256:%s ledger:%s time:%s", &s.Program, &s.Digest, &s.Ledger, &when)
	if n != 4 || len(strings.Fields(text)) != 5 {
		return Statement{}, errComment
	}
	s.Ledger = strings.TrimPrefix(s.Ledger, "none")
	s.Time, err = time.Parse(time.RFC3339, when)
	return s, err
}

// Version is that of the program: of its module, which names the revision that it was built from.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "development"
	}
	return info.Main.Version
}

// Key signs.
type Key struct{ minisign.PrivateKey }

// Format prints nothing of it, whatever the verb.
func (k Key) Format(f fmt.State, _ rune) { io.WriteString(f, "signature.Key(withheld)") }

// NewKey makes a key in path, for its owner alone, and its public part in public. Neither is
// overwritten.
func NewKey(path, public string) (id string, err error) {
	pub, private, err := minisign.GenerateKey(nil)
	if err != nil {
		return "", err
	}
	secret, err := private.MarshalText()
	if err != nil {
		return "", err
	}
	open, err := pub.MarshalText()
	if err != nil {
		return "", err
	}
	return name(pub.ID()), files.WriteKey(path, secret, public, open)
}

// name is what minisign calls a key.
func name(id uint64) string { return fmt.Sprintf("%016X", id) }

// ReadKey reads a key that NewKey, or minisign -G -W, made.
func ReadKey(path string) (k Key, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return k, err
	}
	if minisign.IsEncrypted(text) {
		return k, fmt.Errorf("%s: the key has a password, which dpreg does not ask for: minisign -Sm signs with it", path)
	}
	if k.UnmarshalText(text) != nil {
		return k, fmt.Errorf("%s: this is no secret key of minisign's format (dpreg keys makes one)", path)
	}
	return k, files.CheckSecret(path)
}

// Public verifies.
type Public struct {
	minisign.PublicKey
	path string
}

// ReadPublic reads a public key.
func ReadPublic(path string) (Public, error) {
	k, err := minisign.PublicKeyFromFile(path)
	if err != nil {
		if _, missing := os.Stat(path); missing != nil {
			return Public{}, missing
		}
		return Public{}, fmt.Errorf("%s: this is no public key of minisign's format", path)
	}
	return Public{k, path}, nil
}

// Sign signs the file at path, which says of itself what s does but for the digest.
func (k Key) Sign(path string, s Statement) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	s.Digest = digest(text)
	hashed := minisign.NewReader(bytes.NewReader(text)) // as minisign does by default
	if _, err := io.Copy(io.Discard, hashed); err != nil {
		return err
	}
	signed := hashed.SignWithComments(k.PrivateKey, s.String(), "signature of a release by the key "+name(k.ID()))
	return files.Write(path+Suffix, 0o644, files.Text(signed))
}

func digest(text []byte) string { return fmt.Sprintf("%x", sha256.Sum256(text)) }

// ErrUnsigned says that there is no signature.
var ErrUnsigned = errors.New("it has no signature beside it")

// Verify returns what was signed of a file with this text, by one of the keys: of a signature that minisign
// made the digest alone. It is an error if there is
// no signature (ErrUnsigned), if it is of none of the keys, or of other bytes. Without keys it looks
// whether the signature says to be of these bytes, which proves nothing.
func Verify(path string, text []byte, keys ...Public) (s Statement, by string, err error) {
	signed, err := os.ReadFile(path + Suffix)
	if errors.Is(err, fs.ErrNotExist) {
		return s, "", fmt.Errorf("%s: %w, %s", path, ErrUnsigned, path+Suffix)
	}
	var parsed minisign.Signature
	if err == nil && parsed.UnmarshalText(signed) != nil {
		err = fmt.Errorf("%s is no signature of minisign's format", path+Suffix)
	}
	if err != nil {
		return s, "", err
	}
	by = name(parsed.KeyID)
	if len(keys) > 0 {
		if err := verify(path, text, signed, by, keys); err != nil {
			return s, by, err
		}
	}
	s, err = parse(parsed.TrustedComment)
	if errors.Is(err, errComment) && len(keys) > 0 {
		return Statement{Digest: digest(text)}, by, nil
	}
	if err == nil && s.Digest != digest(text) {
		err = fmt.Errorf("it is of other bytes: %s was changed since it was signed, or the signature is of another file", path)
	}
	if err != nil {
		return s, by, fmt.Errorf("%s: %w", path+Suffix, err)
	}
	return s, by, nil
}

func verify(path string, text, signed []byte, by string, keys []Public) error {
	var known []string
	for _, k := range keys {
		if minisign.Verify(k.PublicKey, text, signed) {
			return nil
		}
		if name(k.ID()) == by {
			return fmt.Errorf("%s: the signature does not hold, though it says to be by the key %s: the file or the signature was changed", path, by)
		}
		known = append(known, name(k.ID())+" of "+k.path)
	}
	return fmt.Errorf("%s: signed by the key %s, which is not %s", path, by, strings.Join(known, ", nor "))
}
