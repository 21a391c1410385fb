package network

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testca"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/vi/pvi"
)

// hostile is a server with the right certificate, which gives these replies, one after the other.
func (s *scene) hostile(replies ...reply) (address string, heard func() []answer) {
	s.t.Helper()
	var said []answer
	mux := http.NewServeMux()
	mux.Handle(updatePath, connect.NewUnaryHandler(updatePath, func(_ context.Context, r *connect.Request[answer]) (*connect.Response[reply], error) {
		if said = append(said, *r.Msg); len(said) > len(replies) {
			return nil, connect.NewError(connect.CodeInvalidArgument, errors.New("the client goes on"))
		}
		return connect.NewResponse(&replies[len(said)-1]), nil
	}, connect.WithCodec(codec{})))
	cert, key := s.ca.Server(s.t, "server")
	server := httptest.NewUnstartedServer(mux)
	server.TLS = must.Get(Identity{cert, key, s.ca.CA()}.config())(s.t)
	server.StartTLS()
	s.t.Cleanup(server.Close)
	return server.Listener.Addr().String(), func() []answer { return said }
}

func task(round int, global ...float64) reply {
	return reply{Task: &pvi.Task{Round: round, Global: global, Factor: make([]float64, len(global))}}
}

// Whatever a server asks, a client computes no round twice, none beyond those agreed upon, and none
// for a law that is none.
func TestHostileServer(t *testing.T) {
	t.Parallel()
	law := []float64{0, 0, 0, 1, 1, 1}
	other := []float64{0, 0, 0, 1, 1, 1.5}
	for name, c := range map[string]struct {
		replies []reply
		says    string
		updates int
	}{
		"the same again":           {[]reply{task(1, law...), task(1, law...), task(1, law...), task(3, law...)}, "round 3 is asked for, and 2 were agreed upon", 1},
		"more rounds":              {[]reply{task(1, law...), task(2, law...), task(3, law...)}, "round 3 is asked for, and 2 were agreed upon", 2},
		"round 0":                  {[]reply{task(0, law...)}, "round 0", 0},
		"a round of another law":   {[]reply{task(1, law...), task(1, other...)}, "round 1 is asked for again, with another law", 1},
		"an old round":             {[]reply{task(2, law...), task(1, law...), task(2, other...)}, "round 2 is asked for again, with another law", 2},
		"another factor":           {[]reply{task(1, law...), {Task: &pvi.Task{Round: 1, Global: law, Factor: law}}}, "round 1 is asked for again", 1},
		"no precision":             {[]reply{task(1, 0, 0, 0, 1, 1, 0)}, "positive definite", 1},
		"too short a law":          {[]reply{task(1, 0, 1)}, "a law of 2 numbers", 1},
		"a result of nothing":      {[]reply{{End: &End{}}}, "no law of this session", 0},
		"a result of other length": {[]reply{{End: &End{Global: []float64{0, 1}, Rows: 1}}}, "no law of this session", 0},
		"a huge task":              {[]reply{task(1, make([]float64, maxFile)...)}, "larger than", 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, 2, 2, nil)
			address, heard := s.hostile(c.replies...)
			updates := 0
			_, err := s.join(t.Context(), 0, address, func(c pvi.Client) pvi.Client { return counted{c, &updates, -1, nil} })
			if err == nil || !strings.Contains(err.Error(), c.says) || updates != c.updates {
				t.Errorf("error %v, which should say %q; %d updates, where %d are right", err, c.says, updates, c.updates)
			}
			for _, a := range heard() {
				for _, b := range heard() {
					if a.Round == b.Round && !same(a.Change, b.Change) {
						t.Errorf("round %d was answered %v and %v", a.Round, a.Change, b.Change)
					}
				}
			}
		})
	}
}

// What a server says of the session is checked, and a session is one of its digest.
func TestHostileSession(t *testing.T) {
	s := newScene(t, 2, 2, nil)
	for name, spoil := range map[string]func(*pvi.Session){
		"format":    func(s *pvi.Session) { s.Format = "other/1" },
		"rate":      func(s *pvi.Session) { s.Rate = 2 },
		"rounds":    func(s *pvi.Session) { s.Rounds, s.Steps = 1e6, 1e6 },
		"clip":      func(s *pvi.Session) { s.Clip = 0 },
		"damping":   func(s *pvi.Session) { s.Damping = 0 },
		"model":     func(s *pvi.Session) { s.Model = "cubic" },
		"sd":        func(s *pvi.Session) { s.ErrorSD = -1 },
		"neighbour": func(s *pvi.Session) { s.Privacy.Neighbours = "add-remove" },
		"schema":    func(s *pvi.Session) { s.Schema.Response.Lower = 7 },
		"client":    func(s *pvi.Session) { s.Clients = []string{"a", "b\x1b[2J"} },
		"column":    func(s *pvi.Session) { s.Schema.Response.Name = "y\nspends nothing" },
		"level": func(s *pvi.Session) {
			s.Schema.Covariates = []schema.Column{{Name: "ab", Upper: 1, Factor: "a", Level: "b\n"}}
			s.Schema.Factors = []schema.Factor{{Name: "a", Levels: []string{"c", "b\n"}}}
		},
		"source": func(s *pvi.Session) { s.Schema.Sources = []schema.Column{{Name: "y\n", Lower: -1, Upper: 1}} },
	} {
		spoiled := *s.session
		spoil(&spoiled)
		if spoiled.Check() == nil {
			t.Errorf("%s: no error", name)
		}
		if spoiled.Digest() == s.session.Digest() {
			t.Errorf("%s: the digest is the same", name)
		}
	}
	other := *s.session
	other.Rounds++
	must.Fail(t, must.Err(Open(filepath.Join(s.dir, "server"), other)), "another session")
	if again, err := Open(filepath.Join(s.dir, "server"), pvi.Session{}); err == nil {
		t.Errorf("an empty session is %+v", again)
	}
	for _, names := range [][]string{{"a"}, {"a", "A"}, {"a", "../b"}, {"a", " b"}, {"a", ""}, {"a", `c\d`}, {"a", "e\n"}} {
		other := *s.session
		other.Clients = names
		if _, err := Open(filepath.Join(s.dir, "names"), other); err == nil {
			t.Errorf("clients %q: no error", names)
		}
	}
}

// post sends a text to a server, by a certificate.
func post(t *testing.T, address, path, kind, text string, config *tls.Config) (status int, body string) {
	t.Helper()
	client := http.Client{Transport: &http.Transport{TLSClientConfig: config}, Timeout: 5 * time.Second}
	defer client.CloseIdleConnections()
	r, err := client.Post("https://"+address+path, kind, strings.NewReader(text))
	if err != nil {
		return 0, err.Error()
	}
	defer r.Body.Close()
	all, err := io.ReadAll(r.Body)
	if err != nil {
		return 0, err.Error()
	}
	return r.StatusCode, string(all)
}

// What is no answer is refused, and moves nothing.
func TestHostileClient(t *testing.T) {
	t.Parallel()
	s := newScene(t, 2, 2, nil)
	server := s.listen("127.0.0.1:0", time.Minute)
	cert, key := s.ca.Client(t, "client 1")
	config := must.Get(Identity{cert, key, s.ca.CA()}.config())(t)
	var driver = make(chan []float64, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		change, _ := server.members[0].Update(ctx, pvi.Task{Round: 1, Global: make([]float64, 6), Factor: make([]float64, 6)})
		driver <- change
	}()
	says := func(rows, round int, change string) string {
		return fmt.Sprintf(`{"session":%q,"rows":%d,"round":%d,"change":%s}`, s.session.Digest(), rows, round, change)
	}
	good := "[1,1,1,1,1,1]"
	for name, c := range map[string]struct{ kind, text, says string }{
		"NaN":             {"application/json", says(20, 1, "[NaN,1,1,1,1,1]"), "unmarshal"},
		"NaN in words":    {"application/json", says(20, 1, `["NaN",1,1,1,1,1]`), "unmarshal"},
		"too large":       {"application/json", says(20, 1, "[1e999,1,1,1,1,1]"), "unmarshal"},
		"too short":       {"application/json", says(20, 1, "[1,1]"), "a change of 2 numbers"},
		"too long":        {"application/json", says(20, 1, "[1,1,1,1,1,1,1]"), "a change of 7 numbers"},
		"none":            {"application/json", says(20, 1, "[]"), "a change of 0 numbers"},
		"before a round":  {"application/json", says(20, 0, good), "for round 0"},
		"no such round":   {"application/json", says(20, 3, good), "no round 3"},
		"below 0":         {"application/json", says(20, -1, good), "no round -1"},
		"no rows":         {"application/json", says(0, 1, good), "0 rows"},
		"another session": {"application/json", strings.Replace(says(20, 1, good), s.session.Digest(), "0", 1), "has session"},
		"more than that":  {"application/json", strings.Replace(says(20, 1, good), "{", `{"x":1,`, 1), "unmarshal"},
		"protobuf":        {"application/proto", "\x08\x01", ""},
		"huge":            {"application/json", says(20, 1, "["+strings.Repeat("1,", maxFile)+"1]"), "larger than"},
		"nothing":         {"application/json", "", "unmarshal"},
	} {
		if status, body := post(t, server.Address(), updatePath, c.kind, c.text, config); status < 400 || !strings.Contains(body, c.says) {
			t.Errorf("%s: status %d, %.200s, which should say %q", name, status, body, c.says)
		}
	}
	// A right answer counts, again is no harm, and another one is refused.
	brief := func(text string) {
		client := http.Client{Transport: &http.Transport{TLSClientConfig: config}, Timeout: 300 * time.Millisecond}
		if r, err := client.Post("https://"+server.Address()+updatePath, "application/json", strings.NewReader(text)); err == nil {
			r.Body.Close()
			t.Errorf("it was not held: %s", r.Status)
		}
	}
	brief(says(20, 1, good))
	if change := <-driver; !slices.Equal(change, []float64{1, 1, 1, 1, 1, 1}) {
		t.Errorf("the answer is %v", change)
	}
	brief(says(20, 1, good))
	if status, body := post(t, server.Address(), updatePath, "application/json", says(20, 1, "[2,1,1,1,1,1]"), config); status < 400 || !strings.Contains(body, "the first answer stands") {
		t.Errorf("status %d, %s", status, body)
	}
	if status, body := post(t, server.Address(), updatePath, "application/json", says(21, 1, good), config); status < 400 || !strings.Contains(body, "20 rows before") {
		t.Errorf("status %d, %s", status, body)
	}
	cancel()
}

// Changes that would leave no law, or one of numbers too large, move nothing.
func TestHugeChange(t *testing.T) {
	s := newScene(t, 2, 2, nil)
	want := must.Get(s.session.Family())(t).Isotropic(s.session.PriorSD)
	for _, change := range [][]float64{{0, 0, 0, -1, 0, 0}, {1.7e308, 0, 0, 0, 0, 1.7e308}} {
		driver := must.Get(s.session.Server([]pvi.Client{always(change), always(change)}))(t)
		must.Get(driver.Ask(t.Context()))(t)
		if driver.Rejections() != 1 || !same(driver.Global(), want) {
			t.Errorf("%v leads to %v, %d rejections", change, driver.Global(), driver.Rejections())
		}
	}
}

// always has one change.
type always []float64

func (a always) Update(context.Context, pvi.Task) ([]float64, error) { return a, nil }

// Who has no certificate of the authority, or one of another name or kind, learns and does nothing.
func TestStrangers(t *testing.T) {
	s := newScene(t, 2, 2, nil)
	server := s.listen("127.0.0.1:0", time.Minute)
	strange := testca.New(t, t.TempDir())
	identity := func(a *testca.Authority, name, ca string) Identity {
		cert, key := a.Client(t, name)
		return Identity{cert, key, ca}
	}
	dial := func(id Identity) *Conn { return must.Get(Dial("https://"+server.Address(), id, s.says.say))(t) }
	if got, err := dial(identity(s.ca, "client 1", s.ca.CA())).Session(t.Context()); err != nil || got.Digest() != s.session.Digest() {
		t.Fatal(err)
	}
	asServer, itsKey := s.ca.Server(t, "client 2")
	for name, id := range map[string]Identity{
		"another name":             identity(s.ca, "client 3", s.ca.CA()),
		"another authority":        identity(strange, "client 1", s.ca.CA()),
		"a server's certificate":   {asServer, itsKey, s.ca.CA()},
		"no trust in the server's": identity(s.ca, "client 1", strange.CA()),
	} {
		if _, err := dial(id).Session(t.Context()); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(must.Get(os.ReadFile(s.ca.CA()))(t))
	id := identity(s.ca, "client 1", s.ca.CA())
	old := must.Get(id.config())(t)
	old.MinVersion, old.MaxVersion = tls.VersionTLS12, tls.VersionTLS12
	for name, config := range map[string]*tls.Config{"no certificate": {RootCAs: pool}, "TLS 1.2": old} {
		if status, body := post(t, server.Address(), sessionPath, "application/json", "{}", config); status != 0 {
			t.Errorf("%s: status %d, %s", name, status, body)
		}
	}
	// A client's certificate is none of a server.
	fake := httptest.NewUnstartedServer(http.NotFoundHandler())
	fake.TLS = must.Get(identity(s.ca, "client 2", s.ca.CA()).config())(t)
	fake.Config.ErrorLog = server.http.ErrorLog
	fake.StartTLS()
	defer fake.Close()
	must.Fail(t, must.Err(must.Get(Dial(fake.URL, id, s.says.say))(t).Session(t.Context())), "certificate")
}

// Files and addresses that cannot serve are told by their names.
func TestWrongFiles(t *testing.T) {
	dir := t.TempDir()
	ca := testca.New(t, dir)
	cert, key := ca.Client(t, "a")
	_, other := ca.Client(t, "b")
	none, junk := filepath.Join(dir, "none.pem"), filepath.Join(dir, "junk.pem")
	must.Do(t, os.WriteFile(junk, bytes.Repeat([]byte("x"), 100), 0o600))
	for _, c := range []struct {
		address string
		id      Identity
		says    string
	}{
		{"https://localhost:1", Identity{none, key, ca.CA()}, "none.pem"},
		{"https://localhost:1", Identity{cert, none, ca.CA()}, "none.pem"},
		{"https://localhost:1", Identity{cert, key, none}, "none.pem"},
		{"https://localhost:1", Identity{cert, key, junk}, "junk.pem"},
		{"https://localhost:1", Identity{cert, other, ca.CA()}, "b.key"},
		{"http://localhost:1", Identity{cert, key, ca.CA()}, "https://HOST:PORT"},
		{"localhost:1", Identity{cert, key, ca.CA()}, "https://HOST:PORT"},
		{"https://localhost:1/x", Identity{cert, key, ca.CA()}, "https://HOST:PORT"},
	} {
		must.Fail(t, must.Err(Dial(c.address, c.id, nil)), c.says)
	}
}
