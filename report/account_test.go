package report_test

import (
	"bytes"
	"errors"
	"image/png"
	"io"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/mechanisms/accounting"
	"github.com/dpreg/dpreg/report"
)

func accountOf(quantity string) report.Account {
	a := report.Account{Subject: "1000 releases with Gaussian noise of standard deviation 4 of Poisson samples of rate 0.01, delta = 1e-05", Quantity: quantity, Delta: 1e-5}
	for i, by := range accounting.Accountants() {
		a.Answers = append(a.Answers, report.Answer{Accountant: by, Value: 0.27213543 * float64(i+1)})
	}
	return a
}

func TestAccount(t *testing.T) {
	wantNarrow(t, golden(t, "account", each([]report.Account{accountOf("epsilon"), accountOf("sigma"), accountOf("steps")}, "", report.WriteAccount)))
}

// linear is an ε that grows; Rényi divergences have none.
func linear(a accounting.Accountant, count int) (float64, error) {
	if a == accounting.RDP {
		return 0, errors.New("none")
	}
	return 0.01 * float64(count) * float64(a+1), nil
}

func TestPlotAccount(t *testing.T) {
	var svg, raster bytes.Buffer
	must.Do(t, report.PlotAccount(&svg, accountOf("epsilon"), 1000, linear, "svg"))
	must.Say(t, svg.String(), "releases", "privacy-loss distributions", "1e-05")
	if strings.Contains(svg.String(), "Rényi") {
		t.Error("a line without points has a name")
	}
	must.Do(t, report.PlotAccount(&raster, accountOf("sigma"), 1, linear, "png"))
	if _, err := png.Decode(&raster); err != nil {
		t.Error(err)
	}
	none := func(accounting.Accountant, int) (float64, error) { return 0, nil }
	if err := report.PlotAccount(io.Discard, accountOf("delta"), 1, none, "svg"); err != nil {
		t.Error(err)
	}
	if err := report.PlotAccount(io.Discard, accountOf("delta"), 1, linear, "bmp"); err == nil {
		t.Error("a format that is not there is drawn")
	}
	for left := 0; left < 400; left += 99 {
		if err := report.WriteAccount(&short{left}, accountOf("epsilon")); !errors.Is(err, errFull) {
			t.Fatalf("after %d bytes: %v", left, err)
		}
	}
}
