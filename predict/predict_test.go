package predict_test

import (
	"context"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/predict"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

// The income that the release predicts for three codes of education, the last of
// which lies outside the public bounds.
func ExamplePredictor_Predict() {
	r, err := release.ReadFile("../testdata/pums-eps1.release.json")
	if err != nil {
		log.Fatal(err)
	}
	fit, err := dpreg.Infer(context.Background(), dpreg.One(r), dpreg.Options{})
	if err != nil {
		log.Fatal(err)
	}
	predictor, err := predict.Of(fit, predict.Options{Level: 0.9})
	if err != nil {
		log.Fatal(err)
	}
	for _, education := range []float64{8, 13, 20} {
		p, err := predictor.Predict([]float64{education})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%.0f thousand dollars, sd %.0f, interval %.0f to %.0f, outside %t\n",
			p.Fitted/1000, p.SD/1000, p.Lower/1000, p.Upper/1000, p.Outside)
	}
	// Output:
	// 26 thousand dollars, sd 51, interval -57 to 111, outside false
	// 49 thousand dollars, sd 51, interval -35 to 133, outside false
	// 80 thousand dollars, sd 53, interval -9 to 167, outside true
}

// twoSlopes is a design with an intercept far from the data, and draws of it in
// the data's units.
func twoSlopes(n int) (*schema.Design, *posterior.Draws) {
	design := &schema.Design{
		Response:   schema.Column{Name: "y", Lower: 0, Upper: 50},
		Covariates: []schema.Column{{Name: "year", Lower: 2000, Upper: 2010}, {Name: "x", Lower: -1, Upper: 1}},
		Intercept:  true,
	}
	rng := rand.New(rand.NewPCG(3, 5))
	d := &posterior.Draws{Names: []string{"theta[0]", "theta[1]", "theta[2]", "sigma2", "sigma"}, Chains: make([][]float64, 2)}
	for i := range 2 * n {
		slope, s := 2+0.1*rng.NormFloat64(), 1+rng.Float64()
		row := []float64{20 - 2005*slope + rng.NormFloat64(), slope, 3 + rng.ExpFloat64(), s * s, s}
		d.Chains[i%2] = append(d.Chains[i%2], row...)
	}
	return design, d
}

// The moments are those of the draws of the mixture, computed here in the data's
// units, and each end of the interval leaves out its tail.
func TestPredictMixture(t *testing.T) {
	design, d := twoSlopes(700)
	for _, level := range []float64{0.5, 0.95, 0.999999} {
		p := must.Get(predict.New(d, design, dpreg.Original, predict.Options{Level: level}))(t)
		got := must.Get(p.Predict([]float64{2013, 0.5}))(t)
		var line, sigma2, sigma []float64
		for _, chain := range d.Chains {
			for r := range slices.Chunk(chain, 5) {
				line = append(line, r[0]+2013*r[1]+0.5*r[2])
				sigma2, sigma = append(sigma2, r[3]), append(sigma, r[4])
			}
		}
		mean, sd := meanSD(line)
		noise, _ := meanSD(sigma2)
		must.Near(t, "mean", got.Fitted, mean, 1e-9)
		must.Near(t, "sd", got.SD, math.Sqrt(sd*sd+noise), 1e-9)
		below, above := 0.0, 0.0
		for i := range line {
			below += math.Erfc((line[i]-got.Lower)/sigma[i]/math.Sqrt2) / 2 / float64(len(line))
			above += math.Erfc((got.Upper-line[i])/sigma[i]/math.Sqrt2) / 2 / float64(len(line))
		}
		tail := (1 - level) / 2
		must.Near(t, "lower tail", below/tail, 1, 1e-8)
		must.Near(t, "upper tail", above/tail, 1, 1e-8)
		if !got.Outside {
			t.Error("2013 lies outside 2000:2010")
		}
	}
}

func TestPredictMean(t *testing.T) {
	design, d := twoSlopes(700)
	p := must.Get(predict.New(d, design, dpreg.Original, predict.Options{Mean: true}))(t)
	got := must.Get(p.Predict([]float64{2010, -1}))(t)
	var line []float64
	for _, chain := range d.Chains {
		for r := range slices.Chunk(chain, 5) {
			line = append(line, r[0]+2010*r[1]-r[2])
		}
	}
	mean, sd := meanSD(line)
	slices.Sort(line)
	must.Near(t, "mean", got.Fitted, mean, 1e-9)
	must.Near(t, "sd", got.SD, sd, 1e-9)
	must.Near(t, "lower", got.Lower, posterior.Quantile(line, 0.025), 1e-9)
	must.Near(t, "upper", got.Upper, posterior.Quantile(line, 0.975), 1e-9)
	if got.Outside {
		t.Error("2010 lies inside 2000:2010")
	}
}

// With one draw the predictive law is that normal; without an intercept the line
// goes through the origin.
func TestPredictOneDraw(t *testing.T) {
	design := &schema.Design{
		Response:   schema.Column{Name: "y", Lower: 0, Upper: 8},
		Covariates: []schema.Column{{Name: "x", Lower: 1, Upper: 4}},
	}
	d := &posterior.Draws{Names: []string{"theta[1]", "sigma2"}, Chains: [][]float64{{1.5, 4}}}
	p := must.Get(predict.New(d, design, dpreg.Original, predict.Options{}))(t)
	got := must.Get(p.Predict([]float64{2}))(t)
	for i, v := range []float64{got.Fitted - 3, got.SD - 2, got.Lower + 0.9199279690801085, got.Upper - 6.919927969080108} {
		must.Near(t, fmt.Sprint("number ", i), v, 0, 1e-12)
	}
}

func TestPredictRefuses(t *testing.T) {
	design, d := twoSlopes(5)
	for _, level := range []float64{-1, 1, 95, math.NaN()} {
		if _, err := predict.New(d, design, dpreg.Original, predict.Options{Level: level}); err == nil {
			t.Errorf("level %v was taken", level)
		}
	}
	p := must.Get(predict.New(d, design, dpreg.Original, predict.Options{}))(t)
	for _, x := range [][]float64{{math.NaN(), 0}, {0, math.Inf(1)}, {1e308, -1e308}} {
		if got, err := p.Predict(x); err == nil {
			t.Errorf("%v was taken: %v", x, got)
		}
	}
	counts := must.Get(predict.New(d, design, dpreg.Original, predict.Options{Family: model.Poisson}))(t)
	if got, err := counts.Predict([]float64{3000, 0}); err == nil {
		t.Errorf("a rate beyond all numbers was taken: %v", got)
	}
	for name, change := range map[string]func(*posterior.Draws){
		"missing":  func(d *posterior.Draws) { d.Names[2] = "theta[3]" },
		"NaN":      func(d *posterior.Draws) { d.Chains[0][1] = math.NaN() },
		"negative": func(d *posterior.Draws) { d.Chains[0][3] = -1 },
		"none":     func(d *posterior.Draws) { d.Chains = nil },
	} {
		_, bad := twoSlopes(5)
		change(bad)
		if _, err := predict.New(bad, design, dpreg.Original, predict.Options{}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	r := must.Get(release.ReadFile("../testdata/pums-eps1.release.json"))(t)
	r = must.Get(r.Select("income ~ educ"))(t)
	fit := must.Get(dpreg.Infer(context.Background(), dpreg.One(r), dpreg.Options{Plan: mcmc.Plan{Chains: 2, Warmup: 200, Draws: 100}}))(t)
	of := must.Get(predict.Of(fit, predict.Options{}))(t)
	if _, err := of.Predict([]float64{3, 4}); err == nil {
		t.Error("a row of two was taken")
	}
}

// Rows may be predicted at the same time.
func TestPredictConcurrently(t *testing.T) {
	design, d := twoSlopes(100)
	p := must.Get(predict.New(d, design, dpreg.Original, predict.Options{}))(t)
	want := must.Get(p.Predict([]float64{2005, 0}))(t)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if got, err := p.Predict([]float64{2005, 0}); err != nil || got != want {
				t.Errorf("got %v, %v, want %v", got, err, want)
			}
		})
	}
	group.Wait()
}

func meanSD(x []float64) (mean, sd float64) {
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		sd += (v - mean) * (v - mean) / float64(len(x)-1)
	}
	return mean, math.Sqrt(sd)
}
