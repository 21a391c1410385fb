package report_test

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dpreg/dpreg/internal/chromium"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/report"
)

// widths are of a phone, a tablet and a desk, in CSS pixels.
var widths = []int{360, 800, 1400}

// browserScript looks at pages in frames of those widths.
//
//go:embed testdata/browser.js
var browserScript string

// seen is what the script found in a frame.
type seen struct {
	Page     string
	Width    int
	Dark     bool     // the ground is
	Pictures int      // that take room
	Faults   []string // in words
}

// browse shows pages, by name, in some widths, and returns what was seen and what the
// console says.
func browse(t *testing.T, texts map[string]string, widths []int, dark bool) (found []seen, console []string) {
	t.Helper()
	dir := t.TempDir()
	var host strings.Builder
	for name, text := range texts {
		for _, w := range widths {
			fmt.Fprintf(&host, `<iframe data-page="%s" width="%d" height="900" style="border:0" srcdoc="%s"></iframe>`+"\n", name, w, html.EscapeString(text))
		}
	}
	fmt.Fprintf(&host, "<script>%s</script>", browserScript)
	path := filepath.Join(dir, "host.html")
	must.Do(t, os.WriteFile(path, []byte("<!DOCTYPE html><meta charset=utf-8><body>"+host.String()), 0o600))
	scheme := "1"
	if dark {
		scheme = "0"
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, chromium.Find(t), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-extensions",
		"--no-first-run", "--user-data-dir="+filepath.Join(dir, "user"), "--blink-settings=preferredColorScheme="+scheme,
		"--enable-logging=stderr", "--virtual-time-budget=20000", "--dump-dom", "file://"+path)
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	if err := command.Run(); err != nil {
		t.Fatalf("chromium: %v\n%s", err, stderr.String())
	}
	result := regexp.MustCompile(`(?s)<pre id="result">(.*?)</pre>`).FindStringSubmatch(stdout.String())
	if result == nil {
		t.Fatalf("the script left no result; stderr:\n%s", stderr.String())
	}
	must.Do(t, json.Unmarshal([]byte(html.UnescapeString(result[1])), &found))
	if len(found) != len(texts)*len(widths) {
		t.Fatalf("%d frames of %d were seen", len(found), len(texts)*len(widths))
	}
	for _, line := range strings.Split(stderr.String(), "\n") {
		if strings.Contains(line, "CONSOLE") {
			console = append(console, line)
		}
	}
	return found, console
}

// In light and dark, on a phone and on a desk, nothing sticks out of a page, all
// pictures are there, their texts are whole and can be read, and the console is silent.
func TestPagesInBrowser(t *testing.T) {
	testsize.Full(t, "a browser")
	texts := pages(t)
	for _, dark := range []bool{false, true} {
		found, console := browse(t, texts, widths, dark)
		for _, s := range found {
			if s.Dark != dark {
				t.Errorf("%s at %d: dark is %v, want %v", s.Page, s.Width, s.Dark, dark)
			}
			if want := strings.Count(texts[s.Page], "<svg "); s.Pictures != want || want == 0 {
				t.Errorf("%s at %d: %d of %d pictures", s.Page, s.Width, s.Pictures, want)
			}
			for _, fault := range s.Faults {
				t.Errorf("%s at %d, dark %v: %s", s.Page, s.Width, dark, fault)
			}
		}
		for _, line := range console {
			t.Error(line)
		}
	}
}

// In files, too, texts are whole, can be read, and keep a distance from the edge.
func TestFilesInBrowser(t *testing.T) {
	testsize.Full(t, "pages are looked at by the same rules")
	design := fig3()
	design.Ns, design.Epsilons = design.Ns[:1], design.Epsilons[:1]
	study, times := studied(t, design)
	fits := report.FitPlots(fitted(t, wide(14, 0), "naive"), fitted(t, wide(14, 150), "naive"), report.Options{})
	comparisons, seconds := comparison()
	compared := must.Get(report.ComparisonPlot(comparisons, seconds))(t)
	d := made().Schema
	draws := map[string]func(io.Writer) error{
		"account": func(w io.Writer) error {
			return report.PlotAccount(w, accountOf("epsilon"), 10_000, linear, "svg")
		},
		"check": func(w io.Writer) error { return report.CheckPlot(checkOf(true), &d).Write(w, "svg") },
		"plan": func(w io.Writer) error {
			return report.ForecastPlot(foreseen(0.3, []float64{0.125, 0.5, 2}, 125, 500), report.ForecastOptions{}).Write(w, "svg")
		},
	}
	for _, f := range slices.Concat(fits, report.CalibrationPlots(study, times), []*report.Figure{compared, report.ReleasePlot(documented(t))}) {
		draws[f.Name] = func(w io.Writer) error { return f.Write(w, "svg") }
	}
	texts := make(map[string]string)
	for name, write := range draws {
		var svg bytes.Buffer
		must.Do(t, write(&svg))
		texts[name] = `<!DOCTYPE html><div class="scroll" style="overflow-x: auto">` + strings.Replace(anySVG.FindString(svg.String()), "<svg ", `<svg data-margin="4" `, 1) + "</div>"
	}
	found, _ := browse(t, texts, widths[1:2], false)
	for _, s := range found {
		if s.Pictures != 1 {
			t.Errorf("%s: %d pictures", s.Page, s.Pictures)
		}
		for _, fault := range s.Faults {
			t.Errorf("%s: %s", s.Page, fault)
		}
	}
}

// On paper a table stays on one page where it fits, and else repeats its header.
func TestPrintedTables(t *testing.T) {
	testsize.Full(t, "the browser prints four pages")
	reader, err := exec.LookPath("pdftotext")
	if err != nil {
		t.Skip("without pdftotext paper cannot be read")
	}
	dir := t.TempDir()
	for _, p := range []int{8, 16, 24, 60} {
		page, pdf := filepath.Join(dir, "page.html"), filepath.Join(dir, "page.pdf")
		var b bytes.Buffer
		must.Do(t, fitPage(&b, fitted(t, wide(p, 0), "naive"), nil, nil))
		must.Do(t, os.WriteFile(page, b.Bytes(), 0o600))
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if out, err := exec.CommandContext(ctx, chromium.Find(t), "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir="+filepath.Join(dir, "user"),
			"--no-pdf-header-footer", "--print-to-pdf="+pdf, "file://"+page).CombinedOutput(); err != nil {
			t.Fatalf("chromium: %v\n%s", err, out)
		}
		text := must.Get(exec.Command(reader, "-layout", pdf, "-").Output())(t)
		row, headed, rows := regexp.MustCompile(`(?m)^ *x\d+ .* \d\.\d+$`), 0, 0 // of the estimates
		for _, paper := range strings.Split(string(text), "\f") {
			n, header := len(row.FindAllString(paper, -1)), strings.Contains(paper, "Bulk_ESS")
			if rows += n; header {
				headed++
			}
			if n > 0 && !header {
				t.Errorf("%d covariates: %d rows below no header", p, n)
			}
		}
		if rows != p || (headed == 1) != (p < 60) {
			t.Errorf("%d covariates: %d rows on %d sheets", p, rows, headed)
		}
	}
}

// The tests above can fail: each fault that is planted is seen.
func TestBrowserSeesFaults(t *testing.T) {
	testsize.Full(t, "whether the two tests above can fail is seen in full form")
	whole := pages(t)["plan"]
	faults := map[string]struct{ old, new, says string }{
		"wide":      {"<main>", `<main><p style="width:1500px">wide</p>`, "sticks out"},
		"unbroken":  {"overflow-wrap: anywhere", "", "sticks out"},
		"table":     {".scroll { overflow-x: auto;", ".scroll {", "sticks out"},
		"image":     {"<main>", `<main><img src="data:image/png;base64,AAAA">`, "image"},
		"small":     {".wide svg { display: block;", ".wide svg { display: block; width: 90px;", "letters of"},
		"text":      {"<text ", `<text dx="-900" `, "cut"},
		"unread":    {"--ink: #17202a", "--ink: #f0f0f0", "contrast"},
		"no colour": {"var(--ink)", "var(--paper)", "contrast"},
	}
	texts := make(map[string]string)
	for name, f := range faults {
		if texts[name] = strings.ReplaceAll(whole, f.old, f.new); texts[name] == whole {
			t.Fatalf("%s: nothing was planted", name)
		}
	}
	found, console := browse(t, texts, widths[:1], false)
	told := make(map[string]string)
	for _, s := range found {
		told[s.Page] += strings.Join(s.Faults, "\n")
	}
	for name, f := range faults {
		must.Say(t, told[name], f.says)
	}
	if len(console) == 0 { // of the image, which the page's policy forbids
		t.Error("the console's errors are not seen")
	}
}
