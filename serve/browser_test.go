package serve

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dpreg/dpreg/internal/chromium"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
)

// browser is Chromium, told what to do through a pipe: messages of JSON, each with a 0 behind it
// (the DevTools protocol).
type browser struct {
	t       *testing.T
	to      *os.File
	from    *bufio.Reader
	id      int
	console []string // what pages say, and their errors
}

func browse(t *testing.T) *browser {
	t.Helper()
	program := chromium.Find(t)
	in, to, err := os.Pipe()
	must.Do(t, err)
	from, out, err := os.Pipe()
	must.Do(t, err)
	user, err := os.MkdirTemp("", "chromium") // t.TempDir fails where a child of the browser still writes
	must.Do(t, err)
	command := exec.Command(program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-extensions",
		"--no-first-run", "--user-data-dir="+user, "--remote-debugging-pipe", "about:blank")
	command.ExtraFiles = []*os.File{in, out} // 3 and 4
	must.Do(t, command.Start())
	in.Close()
	out.Close()
	b := &browser{t: t, to: to, from: bufio.NewReader(from)}
	t.Cleanup(func() {
		command.Process.Kill()
		command.Wait()
		to.Close()
		from.Close()
		os.RemoveAll(user)
	})
	return b
}

// call sends a command to a tab, or to the browser, and reads its result.
func (b *browser) call(tab, method string, params map[string]any, result any) {
	b.t.Helper()
	b.id++
	message := map[string]any{"id": b.id, "method": method, "params": params}
	if params == nil {
		message["params"] = map[string]any{}
	}
	if tab != "" {
		message["sessionId"] = tab
	}
	text, err := json.Marshal(message)
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.to.Write(append(text, 0)); err != nil {
		b.t.Fatal(err)
	}
	for {
		text, err := b.from.ReadBytes(0)
		if err != nil {
			b.t.Fatalf("%s: %v", method, err)
		}
		var answer struct {
			ID     int
			Method string
			Params json.RawMessage
			Result json.RawMessage
			Error  json.RawMessage
		}
		if err := json.Unmarshal(text[:len(text)-1], &answer); err != nil {
			b.t.Fatal(err)
		}
		switch {
		case answer.Method == "Log.entryAdded" || answer.Method == "Runtime.consoleAPICalled" || answer.Method == "Runtime.exceptionThrown":
			b.console = append(b.console, string(answer.Params))
		case answer.ID == b.id && strings.Contains(string(answer.Error), "navigated or closed"):
			return // the page was left meanwhile
		case answer.ID == b.id && answer.Error != nil:
			b.t.Fatalf("%s: %s", method, answer.Error)
		case answer.ID == b.id:
			if result != nil {
				if err := json.Unmarshal(answer.Result, result); err != nil {
					b.t.Fatal(err)
				}
			}
			return
		}
	}
}

// tab is a page in the browser.
type tab struct {
	*browser
	session string
}

// open opens a tab.
func (b *browser) open(address string) *tab {
	b.t.Helper()
	var target struct{ TargetID, SessionID string }
	b.call("", "Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	b.call("", "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &target)
	p := &tab{b, target.SessionID}
	for _, domain := range []string{"Page", "Log", "Runtime"} {
		p.do(domain+".enable", nil)
	}
	p.do("Page.navigate", map[string]any{"url": address})
	p.wait("document.readyState == 'complete' && location.href != 'about:blank'")
	return p
}

func (p *tab) do(method string, params map[string]any) {
	p.t.Helper()
	p.call(p.session, method, params, nil)
}

// ask evaluates an expression on the page.
func (p *tab) ask(expression string) string {
	p.t.Helper()
	var answer struct {
		Result struct{ Value any }
	}
	p.call(p.session, "Runtime.evaluate", map[string]any{"expression": "String(" + expression + ")", "returnByValue": true}, &answer)
	return fmt.Sprint(answer.Result.Value)
}

// wait waits until an expression holds, over pages that come and go.
func (p *tab) wait(expression string) {
	p.t.Helper()
	for end := time.Now().Add(time.Minute); p.ask(expression) != "true"; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			p.t.Fatalf("%s does not come true at %s:\n%s", expression, p.ask("location.href"), p.ask("document.body.innerText"))
		}
	}
}

// press presses keys, by their names or as a text.
func (p *tab) press(keys ...string) {
	p.t.Helper()
	codes := map[string]int{"Tab": 9, "Enter": 13, "Space": 32, "Down": 40}
	for _, key := range keys {
		code, special := codes[key]
		if !special {
			p.do("Input.insertText", map[string]any{"text": key})
			continue
		}
		press := map[string]any{"type": "keyDown", "key": key, "windowsVirtualKeyCode": code}
		switch key {
		case "Enter":
			press["text"] = "\r"
		case "Space":
			press["key"], press["text"] = " ", " "
		case "Down":
			press["key"] = "ArrowDown"
		}
		p.do("Input.dispatchKeyEvent", press)
		p.do("Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": press["key"], "windowsVirtualKeyCode": code})
	}
}

// to presses Tab until a control has the focus.
func (p *tab) toControl(selector string) {
	p.t.Helper()
	for range 60 {
		if p.ask("document.activeElement.matches("+fmt.Sprintf("%q", selector)+")") == "true" {
			return
		}
		p.press("Tab")
	}
	p.t.Fatalf("Tab does not lead to %s", selector)
}

// fits checks that nothing sticks out of the page at a width, in light or in dark, and that
// texts can be told from their ground.
func (p *tab) fits(name string, width int, scheme string) {
	p.t.Helper()
	p.do("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500})
	p.do("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}})
	if out := p.ask("document.documentElement.scrollWidth - window.innerWidth"); strings.TrimPrefix(out, "-") == out && out != "0" {
		p.t.Errorf("%s at %d, %s: %s pixels stick out", name, width, scheme, out)
	}
	const light = `(c => { const m = c.match(/[\d.]+/g).map(Number); return 0.21*m[0] + 0.72*m[1] + 0.07*m[2] })`
	for _, selector := range []string{"body", "button", "textarea", "select", "a", "legend"} {
		if p.ask("document.querySelector('"+selector+"') == null") == "true" {
			continue
		}
		contrast := p.ask(fmt.Sprintf(`(() => { let e = document.querySelector(%q), s = getComputedStyle(e), ground = s.backgroundColor;
			while (ground == 'rgba(0, 0, 0, 0)') { e = e.parentElement; ground = getComputedStyle(e).backgroundColor }
			return Math.abs(%s(s.color) - %[2]s(ground)) > 80 })()`, selector, light))
		if contrast != "true" {
			p.t.Errorf("%s at %d, %s: %s can hardly be read", name, width, scheme, selector)
		}
	}
	if ground := p.ask(light + "(getComputedStyle(document.body).backgroundColor) < 100"); ground != fmt.Sprint(scheme == "dark") {
		p.t.Errorf("%s: the ground is dark: %s, in %s", name, ground, scheme)
	}
	if dir := os.Getenv("DPREG_SCREENSHOTS"); dir != "" {
		var shot struct{ Data string }
		p.call(p.session, "Page.captureScreenshot", map[string]any{"captureBeyondViewport": true}, &shot)
		png, _ := base64.StdEncoding.DecodeString(shot.Data)
		os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s-%d-%s.png", name, width, scheme)), png, 0o644)
	}
}

// An analyst without a shell, and without a mouse, comes to a table: every control takes what is
// typed, wrong input is said, a run is stopped, two tabs do not disturb each other.
func TestInBrowser(t *testing.T) {
	testsize.Full(t, "a browser")
	b := browse(t)
	s := served(t, source(t, "a.json"), source(t, "b.json", `"sum_y": -8`, `"sum_y": -7`))
	p := b.open(s.URL())
	for _, control := range []string{"[name=release]", "[name=response]", "[name=covariate]", "[name=intercept]", "[name=family]", "[name=sharing]", "[name=prior]", "[name=shrink]", "summary", "[name=method]", "[name=seed]", "[name=questions]", "button"} {
		p.toControl(control)
	}
	for _, width := range []int{360, 1200} {
		p.fits("form", width, "light")
		p.fits("form", width, "dark")
	}

	// Wrong input, by the keyboard.
	p.ask("document.activeElement.blur()")
	p.toControl("[name=prior]")
	p.press("educ ~ nonsense")
	p.toControl("button")
	p.press("Enter")
	p.wait("document.querySelector('[role=alert]') != null")
	if p.ask("document.querySelector('[name=prior]').value") != "educ ~ nonsense" || p.ask("document.title.startsWith('Error')") != "true" {
		t.Error("what was typed is gone, or the title does not say that it was wrong")
	}
	p.fits("error", 360, "dark")

	// Every control, by the keyboard.
	p.toControl("[name=response]")
	p.press("Down") // from educ … to the other column and back
	p.ask("document.querySelector('[name=response]').value = 'income'")
	p.ask("document.querySelector('[name=prior]').value = ''")
	p.toControl("[name=prior]")
	p.press("educ ~ normal(4000, 5000)")
	p.toControl("summary")
	p.press("Enter")
	if p.ask("document.querySelector('details').open") != "true" {
		t.Error("the default prior does not open")
	}
	p.toControl("[name=method]")
	p.press("Down")
	p.toControl("[name=seed]")
	p.ask("document.activeElement.select()")
	p.press("7")
	p.toControl("[name=questions]")
	p.press("educ > 0\nR2")
	p.toControl("button")
	p.press("Enter")
	p.wait("document.body.innerText.includes('Estimates')")
	text := p.ask("document.body.innerText")
	must.Say(t, text, "--method mcmc-exact", "--seed 7", "educ ~ normal(4000, 5000)", "educ > 0", "Answers", "How to repeat it")
	p.wait("document.activeElement.innerText == 'Ask again'") // a browser focuses once it has drawn
	p.wait("[...document.querySelectorAll('svg')].every(e => e.getBoundingClientRect().width > 0)")
	for _, scheme := range []string{"light", "dark"} {
		p.fits("run", 360, scheme)
		p.fits("run", 1200, scheme)
	}
	p.press("Enter")
	p.wait("document.querySelector('form') != null")

	// Two tabs: one samples and is stopped, by Enter alone; the other waits, and is done.
	long, _ := startLong(t, s)
	first := b.open("http://" + s.hosts[0] + s.path(long))
	first.wait("document.querySelector('progress') != null")
	first.fits("sampling", 360, "dark")
	p.toControl("button")
	p.press("Enter")
	p.wait("document.body.innerText.includes('waiting for another run')")
	first.wait("document.activeElement.innerText == 'Stop'")
	first.press("Enter")
	first.wait("document.body.innerText.includes('was stopped')")
	p.wait("document.body.innerText.includes('Estimates')")
	for _, line := range b.console {
		if !strings.Contains(line, "422") && !strings.Contains(line, "favicon") { // the wrong input
			t.Errorf("the console says %s", line)
		}
	}
}
