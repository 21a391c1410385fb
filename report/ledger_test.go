package report_test

import (
	"bytes"
	"context"
	"image/png"
	"io"
	"math/big"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/dpreg/dpreg/mechanisms/accounting"
	"github.com/dpreg/dpreg/mechanisms/ledger"
	"github.com/dpreg/dpreg/report"
)

func decimal(text string) *big.Rat {
	x, ok := new(big.Rat).SetString(text)
	if !ok {
		panic(text)
	}
	return x
}

// charged is the history of a ledger with so many releases of a few.
func charged(t *testing.T, filter ledger.Filter, releases int) *ledger.History {
	t.Helper()
	ctx, path := context.Background(), filepath.Join(t.TempDir(), "b.db")
	b := ledger.Budget{Data: "größe.csv", Neighbours: "replace-one", Epsilon: decimal("2"), Delta: decimal("1e-5"), Filter: filter}
	if err := ledger.Create(ctx, path, b); err != nil {
		t.Fatal(err)
	}
	l, err := ledger.Open(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for i := range releases {
		c := ledger.Charge{Epsilon: decimal("0.3"), Delta: new(big.Rat), Noise: ledger.Laplace, Neighbours: "replace-one", Release: "/home/somebody/with/a/long/name/r.json"}
		if i > 0 {
			sigma, err := accounting.Sigma(0.3, 1e-6, 1)
			if err != nil {
				t.Fatal(err)
			}
			c.Delta, c.Noise, c.Sensitivity, c.Scale = decimal("1e-6"), ledger.Gaussian, 1, sigma
		}
		if _, err := l.Charge(ctx, c); err != nil {
			t.Fatal(err)
		}
	}
	h, err := l.History(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for i := range h.Entries {
		h.Entries[i].Time = time.Date(2026, 3, 1, 9, i, 0, 0, time.UTC)
		h.Entries[i].Written = i < 4
	}
	return h
}

func TestLedger(t *testing.T) {
	wantNarrow(t, golden(t, "ledger", func(w io.Writer) error {
		for _, h := range []*ledger.History{charged(t, ledger.Auto, 12), charged(t, ledger.Sum, 1), charged(t, ledger.Auto, 0)} {
			if err := report.Ledger(w, h); err != nil {
				return err
			}
			if _, err := io.WriteString(w, "\n"); err != nil {
				return err
			}
		}
		return nil
	}))
}

// start is where the last line of a style begins on the x axis.
func start(svg, style string) (x string) {
	for _, found := range regexp.MustCompile(`d="M([^,]*),[^"]*" style="fill:none;stroke:`+style).FindAllStringSubmatch(svg, -1) {
		x = found[1]
	}
	return x
}

func TestPlotLedger(t *testing.T) {
	for _, h := range []*ledger.History{charged(t, ledger.Auto, 6), charged(t, ledger.Sum, 2), charged(t, ledger.Auto, 0)} {
		var picture, text bytes.Buffer
		if err := report.PlotLedger(&picture, h, "png"); err != nil {
			t.Fatal(err)
		}
		if _, err := png.Decode(&picture); err != nil {
			t.Error(err)
		}
		if err := report.PlotLedger(&text, h, "svg"); err != nil {
			t.Fatal(err)
		}
		gaussian := strings.Contains(text.String(), "by the count of Gaussian noise")
		if !strings.Contains(text.String(), "größe.csv") || gaussian != (len(h.Entries) > 2) {
			t.Errorf("the count of Gaussian noise is drawn: %v\n%s", gaussian, text.String())
		}
		if used, budget := start(text.String(), "#99C7E0"), start(text.String(), "#000000;stroke-dasharray"); used == "" || used != budget {
			t.Errorf("what is used begins at %s, the budget at %s", used, budget)
		}
		if most := strings.Contains(text.String(), ">150<"); len(h.Entries) <= 2 && most || !strings.Contains(text.String(), ">100<") {
			t.Errorf("%d releases: 150 %% is marked: %v\n%s", len(h.Entries), most, text.String())
		}
	}
	if err := report.PlotLedger(io.Discard, charged(t, ledger.Auto, 1), "gif"); err == nil {
		t.Error("a GIF was drawn")
	}
}
