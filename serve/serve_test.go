package serve

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/release"
)

// source reads a release of the repository, its text changed.
func source(t *testing.T, name string, replace ...string) Source {
	t.Helper()
	text := must.Get(os.ReadFile("../testdata/pums-eps1.release.json"))(t)
	text = []byte(strings.NewReplacer(replace...).Replace(string(text)))
	path := filepath.Join(t.TempDir(), "r.json")
	must.Do(t, os.WriteFile(path, text, 0o644))
	r := must.Get(release.ReadFile(path))(t)
	return Source{name, fmt.Sprintf("%x", sha256.Sum256(text)), r}
}

// served opens a page that ends with the test.
func served(t *testing.T, sources ...Source) *Server {
	t.Helper()
	s := must.Get(Open(0, "test", sources...))(t)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	return s
}

// send makes a request as it is written, and follows nothing.
func send(t *testing.T, method, address string, form url.Values, header map[string]string) (status int, text string, response *http.Response) {
	t.Helper()
	r := must.Get(http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(form.Encode())))(t)
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for name, value := range header {
		if name == "Host" {
			r.Host = value
		}
		r.Header.Set(name, value)
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response = must.Get(client.Do(r))(t)
	defer response.Body.Close()
	all := must.Get(io.ReadAll(response.Body))(t)
	return response.StatusCode, string(all), response
}

func typed(pairs ...string) url.Values {
	v := url.Values{"release": {"0"}, "response": {"income"}, "covariate": {"educ"}, "intercept": {"on"}, "method": {"auto"}, "sharing": {"complete"}, "seed": {"0"}}
	for i := 0; i < len(pairs); i += 2 {
		if v.Del(pairs[i]); pairs[i+1] != "" {
			v.Set(pairs[i], pairs[i+1])
		}
	}
	return v
}

// waitFor waits until a run is in a state, and shows its page.
func waitFor(t *testing.T, s *Server, r *run, want state) string {
	t.Helper()
	for end := time.Now().Add(time.Minute); r.now() != want; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) || !r.now().active() {
			t.Fatalf("the run is %s, not %s: %v", r.now(), want, r.err)
		}
	}
	_, text, _ := send(t, "GET", "http://"+s.hosts[0]+s.path(r), nil, nil)
	return text
}

// Who does not know the address, calls the page by another name, or comes from another site, sees
// and starts nothing; nor is there a path that leads to a file.
func TestOnlyWhoKnowsTheAddress(t *testing.T) {
	s := served(t, source(t, "a.json"))
	root := "http://" + s.hosts[0]
	for _, path := range []string{"/", "/runs", "/x" + s.base(), "/" + s.token[1:] + "/", "/" + strings.Repeat("0", 32) + "/"} {
		if status, text, _ := send(t, "GET", root+path, nil, nil); status != http.StatusForbidden || strings.Contains(text, "educ") {
			t.Errorf("%s: %d, %s", path, status, text)
		}
	}
	for name, header := range map[string]map[string]string{
		"a name of DNS": {"Host": "evil.example"}, "its port": {"Host": "evil.example:" + strings.Split(s.hosts[0], ":")[1]}, "no port": {"Host": "127.0.0.1"},
	} {
		if status, text, _ := send(t, "GET", s.URL(), nil, header); status != http.StatusForbidden || strings.Contains(text, "educ") {
			t.Errorf("%s: %d", name, status)
		}
	}
	for name, header := range map[string]map[string]string{
		"origin": {"Origin": "http://evil.example"}, "site": {"Sec-Fetch-Site": "cross-site"}, "a port beside it": {"Origin": "http://127.0.0.1:1"}, "none": {"Origin": "null"},
	} {
		if status, _, _ := send(t, "POST", s.URL()+"runs", typed(), header); status != http.StatusForbidden {
			t.Errorf("a form from elsewhere, %s: %d", name, status)
		}
	}
	for _, path := range []string{"serve.go", "../serve.go", "..%2fserve.go", "%2e%2e/%2e%2e/etc/passwd", "runs/../../etc/passwd", "runs/1", "runs/-1", "runs/x/report.html", "runs/1/report.html", "runs/1/..%2f..%2fserve.go"} {
		if status, text, _ := send(t, "GET", s.URL()+path, nil, nil); status == http.StatusOK || strings.Contains(text, "package serve") || strings.Contains(text, "root:") {
			t.Errorf("%s: %d, %s", path, status, text)
		}
	}
	if status, _, _ := send(t, "GET", s.URL()+"runs", nil, nil); status != http.StatusMethodNotAllowed {
		t.Errorf("a run by GET: %d", status)
	}
	if status, _, _ := send(t, "POST", s.URL()+"runs", typed("prior", strings.Repeat("x", maxForm)), nil); status != http.StatusBadRequest {
		t.Errorf("a large form: %d", status)
	}
	if s.runs.list() != nil {
		t.Error("a run was started")
	}
	if status, text, response := send(t, "GET", s.URL(), nil, nil); status != http.StatusOK || !strings.Contains(text, "educ") || response.Header.Get("Content-Security-Policy") != policy {
		t.Errorf("%d, %v", status, response.Header)
	}
	if address := s.listener.Addr().String(); !strings.HasPrefix(address, "127.0.0.1:") {
		t.Errorf("it listens on %s", address)
	}
}

// What is typed wrong is said, and stays in the form.
func TestWrongInput(t *testing.T) {
	s := served(t, source(t, "a.json"), source(t, "b.json", `"educ"`, `"school"`))
	for says, form := range map[string]url.Values{
		"no response is picked":              typed("response", ""),
		"no release is picked":               typed("release", ""),
		"there is no such release":           typed("release", "2"),
		"pick a covariate, or the intercept": typed("covariate", "", "intercept", ""),
		"is no whole number":                 typed("seed", "-1"),
		"prior &#34;educ&#34;":               typed("prior", "educ"),
		"there is no eduk":                   typed("prior", "eduk ~ normal(0, 1)"),
		"b.json":                             typed("release", "1"),
		"no method &#34;&lt;b&gt;&#34;":      typed("method", "<b>"),
		"family &#34;&lt;b&gt;&#34;":         typed("family", "<b>"),
		"no column &#34;&lt;i&gt;&#34;":      typed("covariate", "<i>"),
	} {
		form.Set("questions", "kept > 0")
		status, text, _ := send(t, "POST", s.URL()+"runs", form, nil)
		if status != http.StatusUnprocessableEntity || !strings.Contains(text, `role="alert"`) || !strings.Contains(text, says) || !strings.Contains(text, "kept &gt; 0") || strings.Contains(text, "<b>") {
			t.Errorf("%q: %d\n%s", says, status, text[strings.Index(text, "<header>"):min(len(text), strings.Index(text, "<header>")+500)])
		}
	}
	if s.runs.list() != nil {
		t.Error("a run was started")
	}
}

// A run has what the command line has, and its commands say so.
func TestRun(t *testing.T) {
	s := served(t, source(t, "a b.json"))
	status, _, response := send(t, "POST", s.URL()+"runs", typed("prior", "educ ~ normal(4000, 5000)\n", "seed", "3", "questions", "educ > 0\n\neduc = 3000"), nil)
	if status != http.StatusSeeOther {
		t.Fatal(status)
	}
	r := s.runs.find(1)
	if response.Header.Get("Location") != s.path(r) {
		t.Errorf("it leads to %s", response.Header.Get("Location"))
	}
	text := waitFor(t, s, r, done)
	must.Say(t, text, "<svg", "Estimates", "educ &gt; 0", "BF01", "educ ~ normal(4000, 5000)")
	_, commands, response := send(t, "GET", "http://"+s.hosts[0]+s.path(r)+"/commands.txt", nil, nil)
	want := "dpreg infer 'a b.json' --formula 'income ~ educ' --seed 3 --prior 'educ ~ normal(4000, 5000)'\n" +
		"dpreg ask 'a b.json' --formula 'income ~ educ' --seed 3 --prior 'educ ~ normal(4000, 5000)' 'educ > 0' 'educ = 3000'\n"
	if commands != want || !strings.Contains(response.Header.Get("Content-Disposition"), "attachment") {
		t.Errorf("the commands are\n%s", commands)
	}
	_, report, _ := send(t, "GET", "http://"+s.hosts[0]+s.path(r)+"/report.html", nil, nil)
	if !strings.HasPrefix(report, "<!DOCTYPE html>") || !strings.Contains(report, s.sources[0].Digest) || strings.Contains(report, s.token) {
		t.Error("the report is no page of its own")
	}
	if _, text, _ := send(t, "POST", s.URL()+"runs", typed("questions", "nothing > 0"), nil); text != "" {
		t.Error(text)
	}
	if text := waitFor(t, s, s.runs.find(2), done); !strings.Contains(text, "there is no &#34;nothing&#34; here") || !strings.Contains(text, "Estimates") {
		t.Error("a wrong question took the fit with it")
	}
}

// startLong begins a run that goes on until it is stopped.
func startLong(t *testing.T, s *Server) (*run, *order) {
	t.Helper()
	o := must.Get(s.order(s.first()))(t)
	o.options.Plan.ESS = 1e12
	long := must.Get(s.runs.start(o, "test"))(t)
	return long, o
}

// Runs take turns, can be stopped while they wait and while they sample, and old ones are forgotten.
func TestRunsTakeTurns(t *testing.T) {
	s := served(t, source(t, "a.json"))
	long, o := startLong(t, s)
	if text := waitFor(t, s, long, sampling); !strings.Contains(text, `http-equiv="refresh"`) || !strings.Contains(text, "Stop") {
		t.Error("the page of a run that samples does not go on")
	}
	send(t, "POST", s.URL()+"runs", typed(), nil)
	next := s.runs.find(2)
	if text := waitFor(t, s, next, waiting); !strings.Contains(text, string(waiting)) {
		t.Error("the page does not say that the run waits")
	}
	for i := range mostWaiting + 1 {
		if _, err := s.runs.start(o, "test"); (err != nil) != (i+3 > mostWaiting+1) {
			t.Errorf("run %d: %v", i+3, err)
		}
	}
	for _, r := range s.runs.list()[:mostWaiting-1] {
		send(t, "POST", "http://"+s.hosts[0]+s.path(r)+"/stop", url.Values{}, nil)
		if text := waitFor(t, s, r, stopped); !strings.Contains(text, "was stopped") {
			t.Error("a run that waited was not stopped")
		}
	}
	send(t, "POST", "http://"+s.hosts[0]+s.path(long)+"/stop", url.Values{}, nil)
	waitFor(t, s, long, stopped)
	waitFor(t, s, next, done)
	for range most {
		r := must.Get(s.runs.start(o, "test"))(t)
		r.cancel()
		waitFor(t, s, r, stopped)
	}
	if all := s.runs.list(); len(all) != most || s.runs.find(1) != nil {
		t.Errorf("%d runs are kept", len(all))
	}
}

// Names of a hostile release are text: on the form, on the page of a run, in its commands and
// messages.
func TestHostileRelease(t *testing.T) {
	const evil = `<script>alert(1)</script>'"`
	quoted := must.Get(json.Marshal(evil))(t)
	s := served(t, source(t, "<img src=x>.json", `"educ"`, string(quoted)))
	_, form, _ := send(t, "GET", s.URL(), nil, nil)
	send(t, "POST", s.URL()+"runs", typed("covariate", evil, "questions", "R2\n`"+evil+"` > 0"), nil)
	r := s.runs.find(1)
	page := waitFor(t, s, r, done)
	_, wrong, _ := send(t, "POST", s.URL()+"runs", typed("covariate", evil, "prior", evil), nil)
	for name, text := range map[string]string{"form": form, "run": page, "error": wrong, "report": string(r.result.page)} {
		if strings.Contains(text, "<script") || strings.Contains(text, "<img") || !strings.Contains(text, "alert(1)") {
			t.Errorf("the %s of a hostile release is not text", name)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	a := source(t, "a.json")
	if _, err := Open(0, "test"); err == nil {
		t.Error("no release was taken")
	}
	must.Fail(t, must.Err(Open(0, "test", a, Source{"b.json", a.Digest, a.Release})), "same release")
	s := served(t, a)
	var port int
	fmt.Sscanf(strings.Split(s.hosts[0], ":")[1], "%d", &port)
	if _, err := Open(port, "test", a); err == nil {
		t.Error("a port was taken twice")
	}
}

// Parts of one dealing are picked together, with a regression of each; another choice stands in the command.
func TestParts(t *testing.T) {
	part := func(number int) Source {
		return source(t, fmt.Sprintf("%d.json", number), `"privacy"`, fmt.Sprintf(`"part": {"number": %d, "of": 2, "dealing": "0123456789abcdef0123456789abcdef"}, "privacy"`, number))
	}
	s := served(t, part(1), part(2))
	first := s.first()
	if first.Sharing != "partial" || len(first.Releases) != 2 {
		t.Errorf("the form has %+v", first)
	}
	for sharing, want := range map[string]bool{"partial": false, "complete": true} {
		first.Sharing = sharing
		o := must.Get(s.order(first))(t)
		if strings.Contains(o.infer, "--pooling complete") != want || strings.Contains(o.infer, "partial") || o.options.Pooling != sharing {
			t.Errorf("%s: %s, %+v", sharing, o.infer, o.options)
		}
	}
}
