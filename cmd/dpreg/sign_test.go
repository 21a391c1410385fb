package main

import (
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
)

// A release is signed, and is as it was signed or refused: by every command that reads it, where the
// key is known. Attacks: a changed digit, a signature of another release, of another key, with another
// comment, none at all.
func TestSignedReleases(t *testing.T) {
	workspace(t)
	for _, name := range []string{"hospital", "other"} {
		command("keys", name).finished(t)
		if info, err := os.Stat(name + ".key"); err != nil || runtime.GOOS != "windows" && info.Mode() != fs.FileMode(0o600) {
			t.Errorf("%v, %v", info, err)
		}
	}
	command("keys", "hospital").says(t, "never overwritten").ends(t, misused)
	if runtime.GOOS != "windows" {
		for _, mode := range []fs.FileMode{0o640, 0o604, 0o620, 0o400, 0o600} {
			code := map[bool]int{true: misused, false: done}[mode&0o077 != 0]
			must.Do(t, os.Chmod("other.key", mode))
			r := command("release", "pums.csv", "--eps", "1", "--formula", educ, "--sign", "other.key", "-o", fmt.Sprintf("%o.json", mode))
			if _, err := os.Stat(fmt.Sprintf("%o.json", mode)); r.code != code || (err == nil) != (code == done) || code == misused && !strings.Contains(r.stderr, "chmod 600 other.key") {
				t.Errorf("mode %o: exit code %d, %v, stderr %s", mode, r.code, err, r.stderr)
			}
		}
	}
	made := command("release", "pums.csv", "--eps", "1", "--formula", educ, "--sign", "hospital.key").finished(t).says(t, "signed: pums.release.json.minisig")
	command("release", "pums.csv", "--eps", "1", "--formula", educ, "--sign", "other.key", "-o", "b.json").finished(t)
	head := made.head(t)
	short := []string{"--method", "gibbs-ss-update", "--warmup", "100", "--draws", "10"}
	commands := [][]string{{"show"}, append([]string{"infer"}, short...), {"check", "--calibrate", "0", "--warmup", "100", "--draws", "10"}}
	for _, c := range commands {
		command(append(c, "pums.release.json", "--verify", "hospital.pub")...).finished(t).says(t, "is as the key").says(t, head)
	}
	command("show", "pums.release.json").finished(t).says(t, "says to be signed by the key").says(t, "not verified")
	command(append(append([]string{"infer"}, short...), "pums.release.json", "b.json", "--verify", "hospital.pub", "--verify", "other.pub", "--covariates", "separate", "--method", "mcmc-exact", "--warmup", "50")...).says(t, "b.json is as the key")

	text, signed, other := read(t, "pums.release.json"), read(t, "pums.release.json.minisig"), read(t, "b.json.minisig")
	digit := strings.Replace(text, `"n": 1000`, `"n": 1001`, 1)
	if digit == text {
		t.Fatal("no digit was changed")
	}
	lines := strings.Split(signed, "\n")
	comment := strings.Join([]string{lines[0], lines[1], strings.Replace(lines[2], "ledger:", "ledger:0", 1), lines[3]}, "\n")
	for name, c := range map[string]struct {
		text, signed, key, says string
		unknown                 bool // is it refused without a key, too
	}{
		"a digit":           {digit, signed, "hospital.pub", "does not hold", true},
		"a blank":           {text + "\n", signed, "hospital.pub", "does not hold", true},
		"of another":        {text, other, "other.pub", "does not hold", true},
		"another key":       {text, signed, "other.pub", "which is not", false},
		"another comment":   {text, comment, "hospital.pub", "does not hold", false},
		"no signature":      {text, "", "hospital.pub", "no signature beside it", false},
		"garbage":           {text, "garbage", "hospital.pub", "no signature of minisign's format", true},
		"not a public key":  {text, signed, "pums.csv", "no public key", false},
		"no key":            {text, signed, "none.pub", "no such file", false},
		"a secret key":      {text, signed, "hospital.key", "no public key", false},
		"of an old program": {text, strings.Replace(signed, "trusted comment: dpreg", "trusted comment: other", 1), "hospital.pub", "does not hold", true},
	} {
		write(t, "x.json", c.text)
		os.Remove("x.json.minisig")
		if c.signed != "" {
			write(t, "x.json.minisig", c.signed)
		}
		for _, args := range commands {
			command(append(args, "x.json", "--verify", c.key)...).says(t, c.says).ends(t, misused)
		}
		if r := command("show", "x.json"); (r.code == misused) != c.unknown {
			t.Errorf("%s, without a key: exit code %d: %s", name, r.code, r.stderr)
		}
	}
}

// What a key cannot do is found before anything is spent; a release that is overwritten without a key
// does not keep the signature of the one before.
func TestSigningFails(t *testing.T) {
	workspace(t)
	command("keys", "k").finished(t)
	before := tree(t)
	for says, key := range map[string]string{"no such file": "none.key", "no secret key": "k.pub", "is no secret key of": "pums.csv"} {
		command("release", "pums.csv", "--eps", "1", "--sign", key).says(t, says).ends(t, misused)
	}
	unchanged(t, before)
	command("release", "pums.csv", "--eps", "1", "--sign", "k.key", "--no-ledger").finished(t)
	command("show", "pums.release.json", "--verify", "k.pub").finished(t).says(t, "charged to no ledger")
	command("release", "pums.csv", "--eps", "1", "--spend-again", "--no-ledger").finished(t)
	if _, err := os.Stat("pums.release.json.minisig"); err == nil {
		t.Error("the signature of another release stands beside it")
	}
	if strings.Contains(read(t, "k.pub"), strings.Split(read(t, "k.key"), "\n")[1]) {
		t.Error("the public key has the secret one")
	}
}
