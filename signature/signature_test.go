package signature

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/blake2b"

	"github.com/dpreg/dpreg/internal/must"
)

// The signature is Ed25519's of what minisign's format says that it is of
// (https://jedisct1.github.io/minisign/#signature-format), by the key in the public file.
func TestFormat(t *testing.T) {
	path := filepath.Join(t.TempDir(), "k")
	must.Get(NewKey(path, path+".pub"))(t)
	key := must.Get(ReadKey(path))(t)
	file := filepath.Join(t.TempDir(), "r.json")
	text := []byte("{\"n\": 1000}\n")
	must.Do(t, os.WriteFile(file, text, 0o600))
	said := Statement{Program: "v1 with blanks", Ledger: strings.Repeat("ab", 32), Time: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)}
	must.Do(t, key.Sign(file, said))
	decoded := func(path string, line int) []byte {
		t.Helper()
		text := must.Get(os.ReadFile(path))(t)
		return must.Get(base64.StdEncoding.DecodeString(strings.Split(string(text), "\n")[line]))(t)
	}
	public, signature, global := decoded(path+".pub", 1), decoded(file+Suffix, 1), decoded(file+Suffix, 3)
	all := must.Get(os.ReadFile(file + Suffix))(t)
	comment, _ := strings.CutPrefix(strings.Split(string(all), "\n")[2], "trusted comment: ")
	hash := blake2b.Sum512(text)
	by := ed25519.PublicKey(public[10:])
	if string(signature[:2]) != "ED" || !bytes.Equal(signature[2:10], public[2:10]) || !ed25519.Verify(by, hash[:], signature[10:]) ||
		!ed25519.Verify(by, append(signature[10:], comment...), global) {
		t.Errorf("another format:\n%s", all)
	}
	trusted := must.Get(ReadPublic(path + ".pub"))(t)
	got, _, err := Verify(file, text, trusted)
	if said.Digest, said.Program = digest(text), "v1_with_blanks"; err != nil || got != said {
		t.Errorf("%+v, %v", got, err)
	}
	if shown := fmt.Sprintf("%v %+v %x", key, key, key); strings.Contains(shown, "1") {
		t.Errorf("a secret key prints as %s", shown)
	}
}
