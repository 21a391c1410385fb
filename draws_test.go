package dpreg_test

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/internal/golden"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/release"
)

// TestDrawsAreIdentical: of every method, kernel, sharing, noise and latent number of rows the
// draws are those of the golden file, bit for bit, or it is refused, as there and as Can says. Of each case the
// file has three hashes, so that what drifted is seen:
//
//   - the draws, in scaled units;
//   - the sampler's own columns, such as lp__;
//   - the draws in the data's units, as files have them, and the price of privacy.
//
// Where draws are meant to change,
//
//	go test . -run DrawsAreIdentical -update
func TestDrawsAreIdentical(t *testing.T) {
	if runtime.GOARCH != "amd64" || fused() {
		t.Skip("bits depend on the functions of package math and on multiplications fused with additions: the golden ones are those of amd64 without")
	}
	releases := make(map[string]json.RawMessage)
	must.Do(t, json.Unmarshal([]byte(read(t, "testdata/draws.releases.json")), &releases))
	methods := []dpreg.Options{
		{Method: "mcmc-exact"}, {Method: "mcmc-ind"}, {Method: "mcmc-ind", ModelClamping: true},
		{Method: "gibbs-ss-update"}, {Method: "gibbs-ss-update", Kernel: "plain"},
		{Method: "gibbs-ss-prior"}, {Method: "gibbs-ss-prior", Kernel: "plain"},
		{Method: "gibbs-ss-noisy"}, {Method: "gibbs-ss-noisy", Kernel: "plain"},
		{Method: "naive"},
	}
	want := read(t, "testdata/draws.golden")
	var got strings.Builder
	for _, o := range methods {
		o.Plan = mcmc.Plan{Chains: 2, Warmup: 100, Draws: 20, Seed: 1}
		if o.Method == "mcmc-ind" {
			o.Plan.Chains = 1 // it is slow
		}
		clamping := ""
		if o.ModelClamping {
			clamping = " clamping"
		}
		for i, noise := range []string{"laplace replace-one", "laplace add-remove", "gaussian replace-one", "gaussian add-remove"} {
			for k, s := range []struct {
				name, custodians string
				covariates       string
				pooling          string
				same             bool
			}{
				{name: "1", custodians: "north"},
				{name: "3", custodians: "north,south,east"},
				{name: "3 shared", custodians: "north,south,east", covariates: dpreg.SharedCovariates},
				{name: "3 partial", custodians: "north,south,east", pooling: dpreg.PartialPooling},
				{name: "3 partial shared", custodians: "north,south,east", covariates: dpreg.SharedCovariates, pooling: dpreg.PartialPooling},
				{name: "2 of the same rows", custodians: "north,north again", same: true},
				{name: "1 of many rows", custodians: "many"},
				{name: "1 through zero", custodians: "north through zero"},
				{name: "3 through zero", custodians: "north through zero,south through zero,east through zero"},
			} {
				o.Covariates, o.Pooling, o.SameRows = s.covariates, s.pooling, s.same
				var custodians []dpreg.Custodian
				for name := range strings.SplitSeq(s.custodians, ",") {
					if text, ok := releases[noise+" "+name]; ok {
						r := must.Get(release.Read(strings.NewReader(string(text))))(t)
						custodians = append(custodians, dpreg.Custodian{Name: name, Release: r})
					}
				}
				if custodians == nil {
					continue // through zero there is one noise
				}
				if o.Method == "gibbs-ss-prior" {
					o.Prior = model.DefaultPrior(model.Shape{P: 2, Intercept: custodians[0].Release.Schema.Intercept})
					o.Prior.X = model.UniformX{}
				}
				name := fmt.Sprintf("%s%s%s, %s, %s: ", o.Method, strings.TrimSuffix(" "+o.Kernel, " "), clamping, noise, s.name)
				if testing.Short() && !*update && (len(custodians) > 1 && o.Method == "mcmc-ind" || k%4 != i) {
					_, line, _ := strings.Cut(want, "\n"+name) // it takes long: the line stands as it is
					line, _, _ = strings.Cut(line, "\n")
					got.WriteString(name + line + "\n")
					continue
				}
				hashes := "refused"
				fit, err := dpreg.Infer(context.Background(), custodians, o)
				if err == nil {
					hashes = hashOf(fit)
				}
				if said := dpreg.Can(custodians, o); fmt.Sprint(said) != fmt.Sprint(err) {
					t.Errorf("%s, %s, %s: Can says %v, inference %v", o.Method, noise, s.name, said, err)
				}
				got.WriteString(name + hashes + "\n")
			}
		}
	}
	e := open(t, "cirrhosis", "cirrhosis ~ wine", nil)
	fit := must.Get(dpreg.NonPrivate(context.Background(), e.statistics, e.design, dpreg.Options{Plan: brief(1)}))(t)
	fmt.Fprintf(&got, "non-private: %s\n", hashOf(fit))
	golden.Compare(t, "testdata/draws.golden", got.String(), *update)
}

// fused tells whether the compiler rounds x·y + z once only.
func fused() bool { return plus(0.1, 0.1, -product(0.1, 0.1)) != 0 }

//go:noinline
func product(x, y float64) float64 { return x * y }

//go:noinline
func plus(x, y, z float64) float64 { return x*y + z }

// hashOf has the three hashes of a fit.
func hashOf(fit *dpreg.Fit) string {
	scaled, files := fit.Draws(dpreg.Scaled), fit.StanDraws(dpreg.Original)
	return strings.Join([]string{bitsOf(scaled.Names, scaled.Chains...), bitsOf(scaled.InfoNames, scaled.Info...), bitsOf(files.Names, append(files.Chains, fit.PriceOfPrivacy())...)}, " ")
}

// bitsOf hashes names and the bits of numbers.
func bitsOf(names []string, numbers ...[]float64) string {
	h := sha256.New()
	fmt.Fprintln(h, names)
	for _, x := range numbers {
		binary.Write(h, binary.LittleEndian, x) // a hash fails never
	}
	return fmt.Sprintf("%.8x", h.Sum(nil))
}
