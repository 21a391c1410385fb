package pushdowntest

import (
	"bytes"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
)

// requirePostgres is set where a test must not be skipped for want of a server.
const requirePostgres = "DPREG_REQUIRE_POSTGRES"

// password is that of the server's owner, with characters that a URL must escape.
const password = "s3cret@word"

// Postgres starts a PostgreSQL server of its own in a temporary folder, on a socket
// there and no network, and stops it after the test. It returns the URL of a database of
// the server's owner, whose password is asked for. Where there is no PostgreSQL, the
// test is skipped, unless DPREG_REQUIRE_POSTGRES=1.
func Postgres(t testing.TB) *url.URL {
	t.Helper()
	bin := programs()
	if bin == "" {
		if os.Getenv(requirePostgres) == "1" {
			t.Fatal("PostgreSQL is required, and initdb is not here")
		}
		t.Skip("initdb is not here: install PostgreSQL's server (Debian: postgresql)")
	}
	// Short: the path of a socket has at most 107 bytes.
	folder := must.Get(os.MkdirTemp("/tmp", "pg"))(t)
	t.Cleanup(func() { os.RemoveAll(folder) })
	secret, data := filepath.Join(folder, "password"), filepath.Join(folder, "data")
	must.Do(t, os.WriteFile(secret, []byte(password+"\n"), 0o600))
	var as []string
	if os.Geteuid() == 0 { // PostgreSQL refuses to run as root
		as = []string{"runuser", "-u", "nobody", "--"}
		for _, path := range []string{folder, secret} {
			run(t, "chown", "nobody", path)
		}
	}
	program := func(name string, args ...string) {
		t.Helper()
		run(t, slices.Concat(as, []string{filepath.Join(bin, name)}, args)...)
	}
	program("initdb", "-D", data, "-U", "owner", "-A", "scram-sha-256", "--pwfile", secret, "-E", "UTF8", "--locale=C", "--no-sync")
	program("pg_ctl", "start", "-w", "-D", data, "-l", filepath.Join(folder, "log"),
		"-o", "-k "+folder+" -c listen_addresses='' -c fsync=off -c max_connections=10 -c shared_buffers=16MB")
	t.Cleanup(func() { program("pg_ctl", "stop", "-w", "-m", "immediate", "-D", data) })
	return &url.URL{Scheme: "postgres", User: url.UserPassword("owner", password), Path: "/postgres", RawQuery: url.Values{"host": {folder}}.Encode()}
}

// programs is the folder of the server's programs.
func programs() string {
	if path, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(path)
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb") // Debian's; the pattern is sound
	if found == nil {
		return ""
	}
	return filepath.Dir(found[len(found)-1])
}

// run runs a command in the root directory, which any user may enter. A server that it
// starts keeps its output, so that goes to no pipe.
func run(t testing.TB, words ...string) {
	t.Helper()
	out := must.Get(os.CreateTemp("", "pg"))(t)
	defer os.Remove(out.Name())
	defer out.Close()
	command := exec.Command(words[0], words[1:]...)
	command.Dir, command.Stdout, command.Stderr = "/", out, out
	if err := command.Run(); err != nil {
		text, _ := os.ReadFile(out.Name())
		t.Fatalf("%s: %v\n%s", words, err, bytes.TrimSpace(text))
	}
}
