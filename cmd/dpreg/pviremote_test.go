package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testca"
	"github.com/dpreg/dpreg/internal/testsize"
)

// federation is a server's command and those of clients, at a free port.
type federation struct {
	serve string
	join  map[string]string
}

func newFederation(t *testing.T, flags string) *federation {
	t.Helper()
	hospitals(t)
	ca := testca.New(t, ".")
	ca.Server(t, "server")
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	address := l.Addr().String()
	l.Close()
	f := &federation{
		serve: "pvi serve --schema all.schema.json --rate 1 --delta 1e-5 --rounds 4 --cert server.pem --key server.key --ca ca.pem --listen " + address + " " + flags + " north south west",
		join:  make(map[string]string),
	}
	for _, name := range []string{"north", "south", "west"} {
		ca.Client(t, name)
		f.join[name] = fmt.Sprintf("pvi join --format csv --server https://%s --cert %s.pem --key %s.key --ca ca.pem %s.csv", address, name, name, name)
	}
	return f
}

// start runs the server, and gives the digest of its session and how it ended.
func (f *federation) start(t *testing.T, ctx context.Context) (digest string, ended func() result) {
	t.Helper()
	in, out := io.Pipe()
	var stdout, stderr strings.Builder
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, &stdout, out, strings.Fields(f.serve))
		out.Close()
	}()
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadString('\n')
		stderr.WriteString(line)
		if err != nil {
			t.Fatalf("exit code %d: %s", <-code, &stderr)
		}
		if _, after, ok := strings.Cut(line, "--agree "); ok {
			digest, _, _ = strings.Cut(after, " ")
			break
		}
	}
	rest := make(chan string, 1)
	go func() {
		text, _ := io.ReadAll(lines)
		rest <- string(text)
	}()
	return digest, func() result {
		text := stderr.String() + <-rest
		return result{code: <-code, stdout: stdout.String(), stderr: text}
	}
}

// await waits for a file.
func await(t *testing.T, path string) {
	t.Helper()
	for range 30_000 {
		if _, err := os.Stat(path); err == nil {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("%s does not come", path)
}

// joinAll runs clients that agree.
func (f *federation) joinAll(digest string, names ...string) map[string]result {
	var results sync.Map
	var joined sync.WaitGroup
	for _, name := range names {
		joined.Go(func() { results.Store(name, command(strings.Fields(f.join[name]+" --agree "+digest)...)) })
	}
	joined.Wait()
	all := make(map[string]result)
	results.Range(func(name, r any) bool {
		all[name.(string)] = r.(result)
		return true
	})
	return all
}

// Three clients and a server fit a slope. Each client's ledger is charged once, for all rounds; what it
// sent is kept; all print the same result. A second start goes on where all is over, and costs nothing; from an
// older copy of what a client sent it does not go on.
func TestPVIOverANetwork(t *testing.T) {
	testsize.Full(t, "package network has the rounds, and TestWrongPVIOverANetwork the commands")
	f := newFederation(t, "--eps 50 --model linear --error-sd 1 --formula y~age --format csv")
	digest, ended := f.start(t, t.Context())
	first := f.joinAll(digest, "north", "south", "west")
	served := ended().finished(t).says(t, "north is there, with 100 rows")
	must.Say(t, served.stdout, ",age,")
	for name, r := range first {
		r.finished(t).says(t, "spends ε = 50, δ = 1e-05 (replace-one) on its rows").says(t, "age=20:80").says(t, "charged to "+name+".ledger.db as No 1").says(t, name+".ledger.db has what was sent, head ")
		if r.stdout != served.stdout {
			t.Errorf("%s prints\n%s\nand the server\n%s", name, r.stdout, served.stdout)
		}
		if kept, _ := filepath.Glob(name + ".pvi-" + digest[:12] + "/round-*.json"); len(kept) != 4 {
			t.Errorf("%s keeps %q", name, kept)
		}
	}
	again, ended := f.start(t, t.Context())
	if again != digest {
		t.Errorf("session %s goes on as %s", digest, again)
	}
	last := filepath.Join("north.pvi-"+digest[:12], "round-0004.json")
	must.Do(t, os.Rename(last, "newest"))
	command(strings.Fields(f.join["north"]+" --agree "+digest)...).says(t, "an older copy of itself: it ends with round 3, and north.ledger.db has an answer to round 4").ends(t, refused)
	if _, err := os.Lstat(last); err == nil {
		t.Error("round 4 was answered anew")
	}
	must.Do(t, os.Rename("newest", last))
	for name, r := range f.joinAll(digest, "north", "south", "west") {
		if r.finished(t).says(t, "goes on after round 4, for which nothing more is charged"); r.stdout != served.stdout {
			t.Errorf("%s prints\n%s\nand before\n%s", name, r.stdout, served.stdout)
		}
		if all := charges(t, name+".ledger.db"); len(all) != 1 || all[0].Neighbours != "replace-one" {
			t.Errorf("%s: charged %+v", name, all)
		}
	}
	if r := ended().finished(t); r.stdout != served.stdout {
		t.Errorf("the server prints\n%s\nand before\n%s", r.stdout, served.stdout)
	}
}

// A client looks, refuses, and has no room in its ledger, before anything is spent; interrupted it
// and the server leave what goes on.
func TestPVIClientRefuses(t *testing.T) {
	f := newFederation(t, "--eps 1 --formula high~age")
	ctx, interrupt := context.WithCancel(t.Context())
	digest, ended := f.start(t, ctx)
	before := tree(t)
	look := command(strings.Fields(strings.TrimSuffix(f.join["north"], " north.csv"))...)
	if look.code != refused || !strings.Contains(look.stdout, "session "+digest) || !strings.Contains(look.stdout, "ε = 1, δ = 1e-05") || !strings.Contains(look.stdout, "high=no,yes") {
		t.Errorf("exit code %d, stdout:\n%s", look.code, look.stdout)
	}
	look.says(t, "nothing was read or spent: to take part, add --agree "+digest)
	command(strings.Fields(f.join["north"]+" --agree "+strings.Repeat("0", 64))...).ends(t, refused)
	if after := tree(t); !maps.Equal(after, before) {
		t.Errorf("something was written:\n%s", after)
	}
	command("ledger", "init", "small.db", "--data", "south.csv", "--eps", "0.5", "--delta", "1e-4")
	command(strings.Fields(f.join["south"]+" --ledger small.db --agree "+digest)...).says(t, "no room").ends(t, refused)
	waiting, leave := context.WithCancel(t.Context())
	left := make(chan result, 1)
	go func() { left <- commandContext(waiting, strings.Fields(f.join["north"]+" --agree "+digest)...) }()
	await(t, "pvi.session/client-north.json")
	leave()
	(<-left).ends(t, interrupted)
	if _, err := os.Stat("north.ledger.db"); err == nil {
		t.Errorf("charged %+v before there was a task", charges(t, "north.ledger.db"))
	}
	interrupt()
	ended().ends(t, interrupted)
}

// A client that is killed or interrupted between rounds goes on, is charged once, and its journal lets no
// other rows take its place.
func TestPVIClientGoesOn(t *testing.T) {
	testsize.Full(t, "TestClientRestarts of package network has a client that goes on")
	f := newFederation(t, "--eps 1 --formula high~age --rounds 24")
	digest, ended := f.start(t, t.Context())
	rest := make(chan map[string]result, 1)
	go func() { rest <- f.joinAll(digest, "south", "west") }()
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	first := make(chan result, 1)
	dir := "north.pvi-" + digest[:12]
	go func() { first <- commandContext(ctx, strings.Fields(f.join["north"]+" --agree "+digest)...) }()
	await(t, filepath.Join(dir, "round-0001.json"))
	interrupt()
	if r := <-first; r.code == done {
		t.Fatal("all rounds were over before the interrupt came: the test tests nothing")
	}
	sent := read(t, filepath.Join(dir, "round-0001.json"))
	write(t, "other.csv", strings.ReplaceAll(read(t, "north.csv"), ",no\n", ",yes\n"))
	command(strings.Fields(strings.Replace(f.join["north"], "north.csv", "other.csv", 1)+" --ledger north.ledger.db --session "+dir+" --agree "+digest)...).says(t, "counts other rows").ends(t, misused)
	command(strings.Fields(f.join["north"]+" --agree "+digest)...).finished(t).says(t, "goes on after round")
	if all := charges(t, "north.ledger.db"); len(all) != 1 {
		t.Errorf("charged %+v", all)
	}
	if read(t, filepath.Join(dir, "round-0001.json")) != sent {
		t.Error("round 1 was answered anew")
	}
	ended().finished(t)
	for _, r := range <-rest {
		r.finished(t)
	}
}

// A client whose ledger has no room any more when the first task comes sends nothing: the charge comes
// before the noise.
func TestPVIChargesBeforeNoise(t *testing.T) {
	f := newFederation(t, "--eps 1 --formula high~age")
	ctx, interrupt := context.WithCancel(t.Context())
	digest, ended := f.start(t, ctx)
	command("ledger", "init", "north.ledger.db", "--data", "north.csv", "--eps", "1.5", "--delta", "1e-4").finished(t)
	north := make(chan result, 1)
	go func() { north <- command(strings.Fields(f.join["north"] + " --agree " + digest)...) }()
	await(t, "pvi.session/client-north.json")
	command("ledger", "import", "north.ledger.db", "--name", "another release", "--eps", "1").finished(t)
	var rest sync.WaitGroup
	for _, name := range []string{"south", "west"} {
		rest.Go(func() { commandContext(ctx, strings.Fields(f.join[name]+" --agree "+digest)...) })
	}
	(<-north).says(t, "no room").ends(t, refused)
	if sent, _ := filepath.Glob("*.pvi-*/round-*.json"); sent != nil {
		t.Errorf("sent %q", sent)
	}
	interrupt()
	rest.Wait()
	ended().ends(t, interrupted)
}

func TestWrongPVIOverANetwork(t *testing.T) {
	f := newFederation(t, "--eps 1 --formula high~age")
	ctx, interrupt := context.WithCancel(t.Context())
	_, ended := f.start(t, ctx)
	defer func() {
		interrupt()
		ended()
	}()
	address, _, _ := strings.Cut(strings.TrimPrefix(f.join["north"], "pvi join --format csv --server "), " ")
	refusals(t, map[string]string{
		"pvi join":                              "2 --server is missing",
		"pvi join --server https://localhost:1": "2 --cert is missing",
		"pvi join --server https://localhost:1 --cert north.pem --key north.key":                                                                                        "2 --ca is missing",
		"pvi join --server http://localhost:1 --cert north.pem --key north.key --ca ca.pem":                                                                             "2 https://HOST:PORT",
		"pvi join --server https://localhost:1 --cert none.pem --key north.key --ca ca.pem":                                                                             "2 none.pem",
		"pvi join --server https://127.0.0.1:1 --cert north.pem --key north.key --ca ca.pem":                                                                            "1 refused",
		"pvi join --server " + address + " --cert server.pem --key server.key --ca ca.pem":                                                                              "1 server",
		"pvi serve --eps 1 --delta 1e-5 --cert server.pem --key server.key --ca ca.pem":                                                                                 "2 needs the names",
		"pvi serve --eps 1 --delta 1e-5 north south":                                                                                                                    "2 --cert is missing",
		"pvi serve --schema all.schema.json --delta 1e-5 --cert server.pem --key server.key --ca ca.pem north south":                                                    "2 --eps is missing",
		"pvi serve --schema all.schema.json --eps 1 --delta 1e-5 --formula high~age --session x --cert server.pem --key server.key --ca ca.pem north":                   "2 two clients",
		"pvi serve --schema all.schema.json --eps 1 --delta 1e-5 --formula high~age --session x --cert server.pem --key server.key --ca ca.pem north ../south":          "2 no name of a client",
		"pvi serve --schema all.schema.json --eps 2 --delta 1e-5 --rate 1 --formula high~age --cert server.pem --key server.key --ca ca.pem north south west":           "2 another session",
		"pvi serve --schema all.schema.json --eps 1 --delta 1e-5 --formula y~age --model linear --session x --cert server.pem --key server.key --ca ca.pem north south": "2 needs --error-sd",
		"pvi serve --eps 1 --delta 1e-5 --formula y~age --session x --cert server.pem --key server.key --ca ca.pem north south":                                         "2 --schema",
		"pvi serve --schema none.json --eps 1 --delta 1e-5 --formula y~age --session x --cert server.pem --key server.key --ca ca.pem north south":                      "2 none.json",
		"pvi serve --schema all.schema.json --eps 1 --delta 1e-5 --formula high~size --session x --cert server.pem --key server.key --ca ca.pem north south":            "2 size",
		strings.Replace(f.serve, "--cert", "--session x --cert", 1) + " --listen " + strings.TrimPrefix(address, "https://"):                                            "2 address already in use",
	}, func(args string) result { return command(strings.Fields(args)...) })
}
