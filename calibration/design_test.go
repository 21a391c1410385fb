package calibration

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"math"
	"os"
	"strconv"
	"testing"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/model"
)

// small is a design that takes no time.
func small() *Design {
	return &Design{
		Format: DesignFormat, Data: Unclamped, X: NormalX, Ns: []int64{50}, Epsilons: []float64{1}, Ps: []int{1},
		Prior: PriorSpec{Name: BoxPrior}, Trials: 3,
		Arms: []Arm{{Method: NonPrivate, Chains: 1, Draws: 200}, {Method: "naive", Sensitivity: ExactSensitivity, Chains: 1, Draws: 200}},
	}
}

func TestDesignText(t *testing.T) {
	file := small()
	file.Prior = PriorSpec{File: json.RawMessage("{\"sigma2\": {\"shape\":  4, \"scale\": 1}}")}
	file.Columns, file.Ps = dpreg.UnitDesign(2), nil
	for _, d := range []*Design{small(), file, Fig3(), Fig4(), comparing(DefaultCompared(model.Normal)...)} {
		again, err := ReadDesign(d.Text())
		if err != nil || !bytes.Equal(again.Text(), d.Text()) {
			t.Errorf("%v\n%s\n%s", err, d.Text(), again.Text())
		}
		s := must.Get(d.Study(nil))(t)
		if err := s.Validate(); err != nil {
			t.Error(err)
		}
	}
	must.Fail(t, must.Err(ReadDesign([]byte(`{"fromat":"dpreg-study/1"}`))), "fromat")
}

// Designs of each kind of truth and of comparisons, by the digest that their journals began
// with: journals that are there stay those of their studies.
func TestFingerprints(t *testing.T) {
	for want, text := range map[string]string{
		"fd979cd4c56c7d285174d3e2c5f111a53e186cf5de55d17b7657cd4f6c0d9059": `{"format":"dpreg-study/1","data":"unclamped","x":"normal","n":[40],"epsilon":[1],"p":[1],"prior":"box","arms":[{"method":"naive","sensitivity":"exact","chains":1,"warmup":1000,"draws":150},{"method":"non-private","chains":1,"warmup":1000,"draws":150}],"trials":6,"seed":0}`,
		"9194820dc1c8086df42a6ee1a016e3598be3d7d3f6a53c7ad28d3b2dc3057755": `{"format":"dpreg-study/1","data":"resampled","n":[100],"epsilon":[1,10],"population":{"name":"pums.csv","columns":{"response":{"name":"income","lower":0,"upper":500000},"covariates":[{"name":"educ","lower":1,"upper":16},{"name":"sex","lower":0,"upper":1}],"intercept":true},"missing":"error","rows":1000,"digest":"2286b4f9494bb0212ce94ecc2f7007d596d06103d7a5d83ab6bfc6557a932038"},"prior":"default","arms":[{"method":"mcmc-exact","sensitivity":"exact","chains":1,"warmup":1000,"draws":150}],"trials":4,"seed":0}`,
		"2af5b155c617885485802cb0611abb563413c47382fef606f6adf41818a6e88c": `{"format":"dpreg-compare/2","data":"unclamped","x":"normal","n":[60,90],"epsilon":[1],"delta":0.000001,"p":[1,2],"prior":"box","arms":[{"method":"non-private","chains":2,"warmup":1000,"ess":400},{"method":"mcmc-exact","chains":2,"warmup":1000,"ess":400},{"method":"dp-vi","chains":2,"warmup":1000,"ess":400},{"method":"dp-pvi","chains":2,"warmup":1000,"ess":400},{"method":"adassp","chains":2,"warmup":1000,"ess":400}],"trials":2,"seed":0,"clients":3}`,
		"bdcfe8fd02e338333f0710c782d1989618f2f364f6616ed5f8d479a05fd0d9f3": `{"format":"dpreg-compare/2","data":"split","epsilon":[1,3],"delta":0.000001,"population":{"name":"pums.csv","columns":{"response":{"name":"income","lower":0,"upper":500000},"covariates":[{"name":"age","lower":0,"upper":100},{"name":"educ","lower":1,"upper":16}],"intercept":true},"missing":"error","rows":1000,"digest":"ad5ffe3eccb62884a2ae757e694efee948c9ed99efe84467efaa3551538b8024","test":0.2},"prior":"box","arms":[{"method":"naive","chains":2,"warmup":1000,"ess":400},{"method":"dp-pvi","chains":2,"warmup":1000,"ess":400},{"method":"gibbs-ss-noisy","chains":2,"warmup":1000,"ess":400}],"trials":3,"seed":0,"clients":10}`,
	} {
		d := must.Get(ReadDesign([]byte(text)))(t)
		var compact bytes.Buffer
		if err := json.Compact(&compact, d.Text()); err != nil || compact.String() != text {
			t.Errorf("%v: %s, read from %s", err, &compact, text)
		}
		if s, err := d.Study(nil); err != nil || s.Fingerprint() != want {
			t.Errorf("%v: a study of its own: %s", err, text)
		}
	}
}

func TestDesignRefuses(t *testing.T) {
	for says, change := range map[string]func(*Design){
		"format":                   func(d *Design) { d.Format = "dpreg-study/2" },
		"trials":                   func(d *Design) { d.Trials = 0 },
		"data":                     func(d *Design) { d.Data = "x" },
		"x ":                       func(d *Design) { d.X = "uniform" },
		"n: 0":                     func(d *Design) { d.Ns = []int64{0} },
		"p: 31":                    func(d *Design) { d.Ps = []int{31} },
		"epsilon":                  func(d *Design) { d.Epsilons = []float64{-1} },
		"delta":                    func(d *Design) { d.Delta = 1 },
		"needs an n":               func(d *Design) { d.Ns = nil },
		"no method":                func(d *Design) { d.Arms = nil },
		"none of this name":        func(d *Design) { d.Arms[0].Method = "gibs" },
		"stands twice":             func(d *Design) { d.Arms = append(d.Arms, d.Arms[1]) },
		"kernel":                   func(d *Design) { d.Arms[1].Kernel = "plain" },
		`one of [""]`:              func(d *Design) { d.Arms[0].Sensitivity = "exact" },
		`sensitivity ""`:           func(d *Design) { d.Arms[1].Sensitivity = "" },
		"for Laplace noise":        func(d *Design) { d.Arms[1].Sensitivity, d.Delta = "paper", 1e-6 },
		"ranked among":             func(d *Design) { d.Arms[1].Draws = 100 },
		"Chains":                   func(d *Design) { d.Arms[1].Chains = 0 },
		"prior":                    func(d *Design) { d.Prior.Name = "flat" },
		"prior default":            func(d *Design) { d.Prior.Name = DefaultPrior },
		"prior: prior: theta.mean": func(d *Design) { d.Prior = PriorSpec{File: []byte(`{"theta":{"mean":[1]}}`)} },
		"how many covariates":      func(d *Design) { d.Columns = dpreg.UnitDesign(1) },
		"its own covariate":        func(d *Design) { d.Data = Cirrhosis },
		"cannot model clamping":    func(d *Design) { d.Arms[1].ModelClamping = true },
		"of comparisons alone":     func(d *Design) { d.Clients = 3 },
		"family":                   func(d *Design) { d.Family = model.Binomial },
		"no preset":                func(d *Design) { d.Format, d.Prior.Name = ComparisonFormat, PaperPrior },
		"normal covariates":        func(d *Design) { d.Format, d.X = ComparisonFormat, BinaryX },
		`one of ["exact"]`: func(d *Design) {
			d.Arms[1] = Arms([]string{noisyMoments}, nil, nil)[0]
			d.Arms[1].Sensitivity = "paper"
		},
	} {
		d := small()
		change(d)
		must.Fail(t, d.Validate(), says)
	}
}

// What inference would refuse in every trial is refused before the first.
func TestRehearsal(t *testing.T) {
	for says, change := range map[string]func(*Design){
		"too short": func(d *Design) { d.Arms[1].Warmup = 10 },
		"more than": func(d *Design) { d.Ns = []int64{50, 2} },
		"1 to 3": func(d *Design) {
			d.Ps = []int{4}
			d.Arms = append(d.Arms, arm(noisyMoments, "exact", ExactSensitivity))
		},
	} {
		d := small()
		d.Arms = Arms([]string{"naive", "gibbs-ss-update"}, []string{"exact"}, []string{ExactSensitivity})
		change(d)
		must.Fail(t, must.Err(d.Study(nil)), says)
	}
}

// Of every method there is an arm, and each of them runs.
func TestEveryMethodRuns(t *testing.T) {
	for _, data := range []Data{Unclamped, Clamped} {
		d := small()
		d.Data, d.Trials, d.Ns, d.Epsilons = data, 1, []int64{40}, []float64{100}
		d.Arms = Arms(MethodNames(), nil, nil)
		for i := range d.Arms {
			a := &d.Arms[i]
			a.Chains, a.Warmup, a.Draws, a.ESS = 1, 100, Ranked, 0
		}
		s := must.Get(d.Study(nil))(t)
		for _, x := range run(t, s, Options{}) {
			if (x.Clamped > 0) != (data == Clamped) {
				t.Errorf("%s rows: a share of %v is clamped", data, x.Clamped)
			}
			if c := s.Cells[x.Cell]; x.Error != "" || len(x.Scores) < 4 || x.Draws != Ranked || x.MMD2 == nil {
				t.Errorf("%v: %+v", c.Setting, x)
			} else if last := x.Scores[len(x.Scores)-1]; last.Name != LogLikelihood {
				t.Errorf("%v: the last quantity is %s", c.Setting, last.Name)
			}
		}
	}
}

// What models clamping is right of clamped rows.
func TestModelClamping(t *testing.T) {
	d := small()
	d.Data, d.Ns, d.Trials = Clamped, []int64{20}, 2
	d.Arms = []Arm{{Method: individuals, Sensitivity: ExactSensitivity, Chains: 1, Warmup: 100, Draws: Ranked, ModelClamping: true}}
	s := must.Get(d.Study(nil))(t)
	if trials := run(t, s, Options{}); !s.Uniform || trials[0].Error != "" || s.Cells[0].Method != "mcmc-ind (clamping)" {
		t.Errorf("%+v, %+v", s.Cells[0].Setting, trials[0])
	}
	d.Arms = append(d.Arms, small().Arms...)
	if s, err := d.Study(nil); err != nil || s.Uniform {
		t.Error("a method that takes clamped rows for others is to be right")
	}
}

// The noise of the paper's sensitivity is 4.5 times the proven one's, at p = 1.
func TestSensitivities(t *testing.T) {
	d := small()
	scale := make(map[string]float64)
	for _, sensitivity := range []string{ExactSensitivity, PaperSensitivity} {
		f := fitter{arm: Arm{Method: "naive", Sensitivity: sensitivity, Chains: 1, Draws: 200}, columns: dpreg.UnitDesign(1), privacy: d.privacy(1)}
		params, shape := model.NewParams(model.Shape{P: 1, Intercept: true}), model.Shape{P: 1, Intercept: true}
		params.Sigma2, params.Tau[0] = 1, 1
		s := toyStudy(1)
		rng := s.stream(Setting{}, 0)
		rows, _ := newRows(params, shape, NormalX, rng)
		sums := must.Get(f.sum(rows.next, 20, false, false))(t)
		f.prior = model.Normal.BoxPrior(shape)
		fit := must.Get(f.fit(context.Background(), sums, mechanisms.Simulated(rng), rng))(t)
		r := fit.Custodians[0].Release
		if !r.Simulated {
			t.Error("the release is not marked simulated")
		}
		scale[sensitivity] = r.Noise.Scale
	}
	if math.Abs(scale["paper"]-24) > 1e-9 || math.Abs(scale["exact"]-16./3) > 1e-9 {
		t.Errorf("scales %v", scale)
	}
}

// The data of Figure 4 are those of the file.
func TestCirrhosis(t *testing.T) {
	f := must.Get(os.Open("../testdata/cirrhosis.csv"))(t)
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil || len(rows) != len(cirrhosis)+1 {
		t.Fatal(err, len(rows))
	}
	for i, row := range rows[1:] {
		wine, _ := strconv.ParseFloat(row[2], 64)
		deaths, _ := strconv.ParseFloat(row[4], 64)
		if cirrhosis[i] != [2]float64{wine, deaths} {
			t.Errorf("row %d: %v, the file has %v and %v", i+1, cirrhosis[i], wine, deaths)
		}
	}
}

// A summary's files have a row for what they should.
func TestWrite(t *testing.T) {
	d := small()
	s := must.Get(d.Study(nil))(t)
	trials := run(t, s, Options{})
	trials[0] = &Trial{Error: "refused"}
	var results, timing, summary bytes.Buffer
	sum := s.Summarise(trials)
	for _, err := range []error{s.WriteTrials(&results, trials), s.WriteTiming(&timing, trials), sum.WriteCSV(&summary)} {
		must.Do(t, err)
	}
	for name, c := range map[string]struct {
		file *bytes.Buffer
		rows int
	}{"results": {&results, 1 + 1 + 2*6 + 3*4}, "timing": {&timing, 1 + 6}, "summary": {&summary, 1 + 6 + 4}} {
		rows, err := csv.NewReader(c.file).ReadAll()
		if err != nil || len(rows) != c.rows {
			t.Errorf("%s: %d rows, want %d: %v", name, len(rows), c.rows, err)
		}
	}
}

// A design of any bytes is refused, or is one that is written and read back the same.
func FuzzReadDesign(f *testing.F) {
	for _, d := range []*Design{Fig3(), Fig4(), small(), comparing(DefaultCompared(model.Normal)...)} {
		f.Add(d.Text())
	}
	f.Add([]byte(`{"format":"dpreg-study/1","trials":-1}`))
	f.Add([]byte(`{"format":"dpreg-compare/2","data":"split","population":{"name":"a","rows":3,"test":0.5}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := ReadDesign(text)
		if err != nil {
			return
		}
		again, err := ReadDesign(d.Text())
		if err != nil || !bytes.Equal(again.Text(), d.Text()) {
			t.Fatalf("read back as\n%s\nerror %v, for\n%s", again.Text(), err, d.Text())
		}
	})
}
