package posterior

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
)

func summary() *Summary {
	contraction, price, settled := 0.25, 1.5, false
	p := Parameter{
		Name: "theta[0]", Label: "(Intercept)", Mean: 0.1, SD: 1, MCSEMean: 0.01,
		Q2_5: -2, Q25: -0.5, Q50: 0.1, Q75: 0.7, Q97_5: 2.2,
		RHat: 1.001, ESSBulk: 1000.5, ESSTail: 900, Contraction: &contraction, Price: &price, Lower: -1, Upper: 1.25, Positive: 0.75,
	}
	none := Parameter{Name: "tau[1,2]", Label: "a,b <c>", Mean: math.Inf(1), RHat: math.NaN(), ESSBulk: math.NaN(), Shrinkage: &p.Mean}
	return &Summary{
		Version: Known("v1"), Method: "naive", Kernel: Known("exact"), Formula: Known("y ~ `a b`"), N: Known(int64(100)), Seed: math.MaxUint64, Chains: 4, Warmup: 10, Draws: 1000, Seconds: 0.25,
		Units: "original", Level: 0.9, Parameters: []Parameter{p, none}, Converged: &settled, Warnings: []string{"not converged: <it>"},
		Releases: []Release{{Name: Known("a.json"), N: Known(int64(100)), Simulated: true, Privacy: map[string]int{"epsilon": 1}, Noise: Known("laplace"), NoiseSD: 7.5}, {}},
	}
}

// TestSummaryJSON: every member of dpreg-summary/3 is there, known or not.
func TestSummaryJSON(t *testing.T) {
	const numbers = `"sd":0,"mcse_mean":0,"lower":0,"upper":0,"q2.5":0,"q25":0,"q50":0,"q75":0,"q97.5":0,"rhat":null,"ess_bulk":null,"ess_tail":0,"contraction":null,"price_of_privacy":null,"shrinkage":0.1,"p_positive":0}]`
	for want, s := range map[string]*Summary{
		`{"format":"dpreg-summary/3","version":"v1","method":"naive","kernel":"exact","formula":"y ~ ` + "`a b`" + `","model_clamping":false,"pooling":null,"covariates":null,"same_rows":false,"n":100,"units":"original","level":0.9,` +
			`"releases":[{"name":"a.json","n":100,"simulated":true,"privacy":{"epsilon":1},"noise":"laplace","noise_sd":7.5,"contradicts":false},{"name":null,"n":null,"simulated":false,"privacy":null,"noise":null,"noise_sd":0,"contradicts":false}],` +
			`"prior":null,"seed":18446744073709551615,"chains":4,"warmup":10,"draws":1000,"seconds":0.25,"converged":false,"warnings":["not converged: <it>"],"parameters":[` +
			`{"name":"theta[0]","column":"theta.1","label":"(Intercept)","mean":0.1,"sd":1,"mcse_mean":0.01,"lower":-1,"upper":1.25,"q2.5":-2,"q25":-0.5,"q50":0.1,"q75":0.7,"q97.5":2.2,"rhat":1.001,"ess_bulk":1000.5,"ess_tail":900,"contraction":0.25,"price_of_privacy":1.5,"shrinkage":null,"p_positive":0.75},` +
			`{"name":"tau[1,2]","column":"tau.1.1","label":"a,b <c>","mean":null,` + numbers + `,"what_if":null}`: summary(),
		`{"format":"dpreg-summary/3","version":null,"method":"","kernel":null,"formula":null,"model_clamping":false,"pooling":null,"covariates":null,"same_rows":false,"n":null,"units":"","level":0,"releases":[],` +
			`"prior":null,"seed":0,"chains":0,"warmup":0,"draws":0,"seconds":0,"converged":null,"warnings":[],"parameters":[],"what_if":null}`: {},
	} {
		var out, compact bytes.Buffer
		must.Do(t, errors.Join(s.WriteJSON(&out), json.Compact(&compact, out.Bytes())))
		if got := compact.String(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestSummaryCSV(t *testing.T) {
	const want = "name,label,mean,sd,mcse_mean,q2.5,q25,q50,q75,q97.5,rhat,ess_bulk,ess_tail,contraction,lower,upper,price_of_privacy,shrinkage,column,p_positive\n" +
		"theta[0],(Intercept),0.1,1,0.01,-2,-0.5,0.1,0.7,2.2,1.001,1000.5,900,0.25,-1,1.25,1.5,NA,theta.1,0.75\n" +
		`"tau[1,2]","a,b <c>",NA,0,0,0,0,0,0,0,NA,NA,0,NA,0,0,NA,0.1,tau.1.1,0` + "\n"
	var out bytes.Buffer
	must.Do(t, summary().WriteCSV(&out))
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}

// TestUndefined: where a diagnostic does not exist, the summary says why, and the worst
// are sought among the others.
func TestUndefined(t *testing.T) {
	for want, change := range map[string]func(d *Draws){
		"":                         func(*Draws) {},
		"too short, R-hat needs":   func(d *Draws) { d.Chains[0], d.Chains[1] = d.Chains[0][:10], d.Chains[1][:10] },
		"the draws do not vary":    func(d *Draws) { d.Chains[0], d.Chains[1] = make([]float64, 200), make([]float64, 200) },
		"not all draws are finite": func(d *Draws) { d.Chains[1][0] = math.NaN() },
	} {
		d := autoregression(2, 100, 2, 0, 5)
		change(d)
		p := Summarise(d, 0.5).Parameters
		if got := p[0].Undefined; !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("%q, want %q", got, want)
		}
		if rhat, ess := Worst(p[:1]); (rhat == nil) != (want != "") || (ess == nil) != (want != "") {
			t.Errorf("%s: worst %v, %v", want, rhat, ess)
		}
	}
	p := []Parameter{{RHat: 1.5, ESSBulk: 9, ESSTail: 8}, {RHat: 1.6, ESSBulk: 7, ESSTail: 20}, {RHat: math.NaN(), Undefined: "why"}}
	if rhat, ess := Worst(p); rhat != &p[1] || ess != &p[1] {
		t.Errorf("worst %+v, %+v", rhat, ess)
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
	if s.Warmup != 0 || s.Chains != 2 || s.Draws != 400 || s.Seconds != 1.5 || len(s.Warnings) != 1 || p.Label != "x[1]" {
		t.Errorf("summary %+v", s)
	}
	defer func() {
		if recover() == nil {
			t.Error("level 1 is no panic")
		}
	}()
	Summarise(d, 1)
}
