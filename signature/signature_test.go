package signature

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
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

// Files of minisign 0.11, made by
//
//	minisign -G -W -p hospital.pub -s hospital.key && minisign -Sm release.json -s hospital.key
func TestOfMinisign(t *testing.T) {
	path := filepath.Join("testdata", "release.json")
	text := must.Get(os.ReadFile(path))(t)
	key := must.Get(ReadPublic(filepath.Join("testdata", "hospital.pub")))(t)
	if s, _, err := Verify(path, text, key); err != nil || s != (Statement{Digest: digest(text)}) {
		t.Errorf("%+v, %v", s, err)
	}
	if _, _, err := Verify(path, bytes.Replace(text, []byte("1"), []byte("2"), 1), key); err == nil {
		t.Error("a changed digit is accepted")
	}
	if _, _, err := Verify(path, text); err == nil {
		t.Error("without a key anything is accepted")
	}
}

// minisign itself verifies what dpreg signs, by keys of either, and refuses a changed digit; dpreg what
// minisign signs by a key of dpreg.
func TestByMinisign(t *testing.T) {
	program, err := exec.LookPath("minisign")
	if err != nil {
		if os.Getenv("DPREG_REQUIRE_MINISIGN") == "1" {
			t.Fatal(err)
		}
		t.Skip("minisign is not here")
	}
	t.Chdir(t.TempDir())
	minisign := func(args ...string) error {
		out, err := exec.Command(program, args...).CombinedOutput()
		if err != nil && len(out) == 0 {
			t.Fatal(err)
		}
		return err
	}
	must.Do(t, minisign("-G", "-W", "-p", "theirs.pub", "-s", "theirs.key"))
	must.Get(NewKey("ours.key", "ours.pub"))(t)
	text := []byte("{\"n\": 1000}\n")
	write := func(text []byte) {
		must.Do(t, os.WriteFile("r.json", text, 0o600))
	}
	for _, by := range []string{"ours", "theirs"} {
		write(text)
		key := must.Get(ReadKey(by + ".key"))(t)
		must.Do(t, key.Sign("r.json", Statement{Program: "v1", Time: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)}))
		if err := minisign("-Vm", "r.json", "-p", by+".pub"); err != nil {
			t.Errorf("minisign refuses what the key %s signed: %v", by, err)
		}
		write(bytes.Replace(text, []byte("1"), []byte("2"), 1))
		if minisign("-Vm", "r.json", "-p", by+".pub") == nil {
			t.Errorf("minisign accepts a changed digit")
		}
	}
	write(text)
	must.Do(t, minisign("-Sm", "r.json", "-s", "ours.key", "-t", "by hand"))
	public := must.Get(ReadPublic("ours.pub"))(t)
	if _, _, err := Verify("r.json", text, public); err != nil {
		t.Errorf("what minisign signed: %v", err)
	}
}
