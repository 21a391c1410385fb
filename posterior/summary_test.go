package posterior

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
)

func summary(level float64) *Summary {
	learned := 0.25
	p := Parameter{
		Name: "theta[0]", Label: "(Intercept)", Mean: 0.1, SD: 1, MCSEMean: 0.01,
		Q2_5: -2, Q25: -0.5, Q50: 0.1, Q75: 0.7, Q97_5: 2.2,
		RHat: 1.001, ESSBulk: 1000.5, ESSTail: 900, Learned: &learned, Lower: -1, Upper: 1.25,
	}
	none := Parameter{Name: "tau[1,2]", Label: "a,b <c>", Mean: math.Inf(1), RHat: math.NaN(), ESSBulk: math.NaN()}
	return &Summary{
		Format: SummaryFormat, Method: "naive", N: 100, Chains: 4, Draws: 1000, Seconds: 0.25,
		Units: "original", Level: level, Parameters: []Parameter{p, none},
	}
}

func TestSummaryJSON(t *testing.T) {
	var out bytes.Buffer
	if err := summary(DefaultLevel).WriteJSON(&out); err != nil {
		t.Fatal(err)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, out.Bytes()); err != nil {
		t.Fatal(err)
	}
	const want = `{"format":"dpreg-summary/1","method":"naive","n":100,"chains":4,"draws":1000,"seconds":0.25,"units":"original","parameters":[` +
		`{"name":"theta[0]","label":"(Intercept)","mean":0.1,"sd":1,"mcse_mean":0.01,"q2.5":-2,"q25":-0.5,"q50":0.1,"q75":0.7,"q97.5":2.2,"rhat":1.001,"ess_bulk":1000.5,"ess_tail":900,"learned":0.25},` +
		`{"name":"tau[1,2]","label":"a,b <c>","mean":null,"sd":0,"mcse_mean":0,"q2.5":0,"q25":0,"q50":0,"q75":0,"q97.5":0,"rhat":null,"ess_bulk":null,"ess_tail":0,"learned":null}],"warnings":[]}`
	if got := compact.String(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}

	out.Reset()
	if err := summary(0.9).WriteJSON(&out); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`"level": 0.9`, `"lower": -1`, `"upper": 1.25`} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("no %s at level 0.9", part)
		}
	}
}

func TestSummaryCSV(t *testing.T) {
	const columns = "name,label,mean,sd,mcse_mean,q2.5,q25,q50,q75,q97.5,rhat,ess_bulk,ess_tail,learned"
	const first = "theta[0],(Intercept),0.1,1,0.01,-2,-0.5,0.1,0.7,2.2,1.001,1000.5,900,0.25"
	const second = `"tau[1,2]","a,b <c>",NA,0,0,0,0,0,0,0,NA,NA,0,NA`
	for level, want := range map[float64]string{
		DefaultLevel: columns + "\n" + first + "\n" + second + "\n",
		0.5:          columns + ",lower,upper\n" + first + ",-1,1.25\n" + second + ",0,0\n",
	} {
		var out bytes.Buffer
		if err := summary(level).WriteCSV(&out); err != nil {
			t.Fatal(err)
		}
		if out.String() != want {
			t.Errorf("got\n%swant\n%s", out.String(), want)
		}
	}
}

func TestSummariseInterval(t *testing.T) {
	d := autoregression(2, 400, 1, 0, 5)
	d.Seconds, d.Warnings = 1.5, []string{"beware"}
	s := Summarise(d, 0.8)
	sorted := slices.Sorted(slices.Values(slices.Concat(d.Chains...)))
	p := s.Parameters[0]
	if p.Lower != Quantile(sorted, 0.1) || p.Upper != Quantile(sorted, 0.9) {
		t.Errorf("80 %% interval is [%v, %v]", p.Lower, p.Upper)
	}
	if s.Format != SummaryFormat || s.Chains != 2 || s.Draws != 400 || s.Seconds != 1.5 || len(s.Warnings) != 1 || p.Label != "x[1]" {
		t.Errorf("summary %+v", s)
	}
	defer func() {
		if recover() == nil {
			t.Error("level 1 is no panic")
		}
	}()
	Summarise(d, 1)
}
