package posterior

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"github.com/dpreg/dpreg/internal/number"
)

// SummaryFormat is the first member of a summary's JSON.
const SummaryFormat = "dpreg-summary/3"

// NormalIQR is the interquartile range of a standard normal law.
const NormalIQR = 1.3489795003921634

// DefaultLevel is the level whose equal-tailed interval is that of the 2.5 %
// and 97.5 % quantiles.
const DefaultLevel = 0.95

// Summary says what draws tell of each parameter, and what they are draws of, as
// dpreg-summary/3 has it (docs/summary-format.md). What is nil there does not exist, or is not
// known; see Known.
type Summary struct {
	Format        string      `json:"format"`  // SummaryFormat where it is written
	Version       *string     `json:"version"` // of the program
	Method        string      `json:"method"`  // the method's name, as on the command line
	Kernel        *string     `json:"kernel"`  // of a method that has a choice of them
	Formula       *string     `json:"formula"`
	Family        *string     `json:"family,omitempty"` // of a generalized linear model
	ModelClamping bool        `json:"model_clamping"`
	Pooling       *string     `json:"pooling"`    // of several releases, like Covariates
	Covariates    *string     `json:"covariates"` // separate or shared
	SameRows      bool        `json:"same_rows"`  // several releases are of the same rows
	N             *int64      `json:"n"`          // rows behind the releases; nil where it is not public
	Units         string      `json:"units"`      // "original" or "scaled"
	Level         float64     `json:"level"`      // of the intervals Lower, Upper
	Releases      []Release   `json:"releases"`
	Prior         any         `json:"prior"` // what marshals to its JSON
	Seed          uint64      `json:"seed"`
	Chains        int         `json:"chains"`    // number of chains
	Warmup        int         `json:"warmup"`    // steps of each chain before its draws
	Draws         int         `json:"draws"`     // kept draws of each chain
	Seconds       float64     `json:"seconds"`   // sampling time: Draws.Seconds
	Converged     *bool       `json:"converged"` // nil: draws of no Markov chain
	Warnings      []string    `json:"warnings"`
	Parameters    []Parameter `json:"parameters"`
	WhatIf        any         `json:"what_if"` // what marshals to JSON

	// Checked are those by which Converged was found, where they are not Parameters: a
	// summary in other units has another intercept.
	Checked []Parameter `json:"-"`
}

// Release is what was released: a release that was inferred from, or a law that was
// fitted to rows with noise.
type Release struct {
	Name      *string `json:"name"`      // such as the file's
	N         *int64  `json:"n"`         // rows; nil where it is not public
	Simulated bool    `json:"simulated"` // the noise came from a seed
	Privacy   any     `json:"privacy"`   // what marshals to epsilon, delta and neighbours; nil: not stated
	Noise     *string `json:"noise"`     // its kind
	NoiseSD   float64 `json:"noise_sd"`
	// Contradicts: of several with complete pooling, it contradicts the regression of all.
	Contradicts bool `json:"contradicts"`
}

// Parameter summarises one parameter. What does not exist is NaN.
type Parameter struct {
	Name     string  `json:"name"`
	Column   string  `json:"column"` // in files of draws, see StanNames
	Label    string  `json:"label"`
	Mean     float64 `json:"mean"`
	SD       float64 `json:"sd"`
	MCSEMean float64 `json:"mcse_mean"`
	Lower    float64 `json:"lower"` // of the equal-tailed interval at Summary.Level
	Upper    float64 `json:"upper"`
	Q2_5     float64 `json:"q2.5"`
	Q25      float64 `json:"q25"`
	Q50      float64 `json:"q50"`
	Q75      float64 `json:"q75"`
	Q97_5    float64 `json:"q97.5"`
	RHat     float64 `json:"rhat"`
	ESSBulk  float64 `json:"ess_bulk"`
	ESSTail  float64 `json:"ess_tail"`
	// Contraction is set by Contract, Price is the price of privacy, and Shrinkage how far partial pooling drew custodians together; nil if unknown.
	Contraction *float64 `json:"contraction"`
	Price       *float64 `json:"price_of_privacy"`
	Shrinkage   *float64 `json:"shrinkage"`
	Undefined   string   `json:"-"` // why RHat, ESSBulk or ESSTail is NaN; else empty
}

// Known is nil for a value that is zero.
func Known[T comparable](v T) *T {
	var none T
	if v == none {
		return nil
	}
	return &v
}

// Summarise fills what draws know. Method, N, Units, Contraction and labels
// other than the names are the caller's. It panics unless 0 < level < 1.
func Summarise(d *Draws, level float64) *Summary {
	if !(level > 0 && level < 1) {
		panic(fmt.Sprintf("posterior: level %v is not between 0 and 1", level))
	}
	s := &Summary{
		Chains:     d.NumChains(),
		Draws:      d.NumDraws(),
		Warmup:     d.Warmup,
		Seconds:    d.Seconds,
		Level:      level,
		Warnings:   slices.Clone(d.Warnings),
		Parameters: make([]Parameter, len(d.Names)),
	}
	var c column
	for j, name := range d.Names {
		c.loadFrom(d, j)
		s.Parameters[j] = c.summarise(name, level)
	}
	return s
}

// Worst returns the parameters with the largest R-hat and with the smallest ESS, of those
// that have both; nil where none has.
func Worst(parameters []Parameter) (rhat, ess *Parameter) {
	for i := range parameters {
		p := &parameters[i]
		if p.Undefined != "" {
			continue
		}
		if rhat == nil || p.RHat > rhat.RHat {
			rhat = p
		}
		if ess == nil || p.ESS() < ess.ESS() {
			ess = p
		}
	}
	return rhat, ess
}

// Contract sets the posterior contraction,
//
//	1 − (w/w₀)²,
//
// w and w₀ the interquartile ranges of the posterior and of the prior: 1 − posterior variance
// / prior variance of normal laws, and there where a heavy tail leaves no variance. It is below
// 0 where the posterior is the wider one. Without a positive, finite w₀ it stays nil.
func (p *Parameter) Contract(prior float64) {
	if prior > 0 && !math.IsInf(prior, 1) {
		ratio := (p.Q75 - p.Q25) / prior
		contraction := 1 - ratio*ratio
		p.Contraction = &contraction
	}
}

// ESS is the smaller of the two effective sample sizes.
func (p *Parameter) ESS() float64 { return min(p.ESSBulk, p.ESSTail) }

func (c *column) summarise(name string, level float64) Parameter {
	p := Parameter{
		Name:     name,
		Label:    name,
		Mean:     c.mean,
		SD:       math.Sqrt(variance(c.x, c.mean)),
		MCSEMean: c.mcseMean(),
		Q2_5:     c.quantile(0.025),
		Q25:      c.quantile(0.25),
		Q50:      c.quantile(0.5),
		Q75:      c.quantile(0.75),
		Q97_5:    c.quantile(0.975),
		RHat:     c.rhat(),
		ESSBulk:  c.essBulk(),
		ESSTail:  c.essTail(),
		Lower:    c.quantile(tail(level)),
		Upper:    c.quantile(1 - tail(level)),
	}
	switch {
	case c.n < shortestESS:
		p.Undefined = fmt.Sprintf("the chains are too short, R-hat needs %d draws of each and ESS %d", shortestRHat, shortestESS)
	case c.constant:
		p.Undefined = "the draws do not vary"
	case math.IsNaN(p.RHat + p.ESS()):
		p.Undefined = "not all draws are finite, or too few of them differ"
	}
	return p
}

// Draws of a chain from which each half has the two draws of a variance, and the three of
// an effective sample size.
const (
	shortestRHat = 4
	shortestESS  = 6
)

// tail is (1 − level)/2, with 0.95 giving 0.025 and not its neighbour.
func tail(level float64) float64 {
	return math.Round((1-level)/2*1e15) / 1e15
}

// WriteJSON writes the summary indented, numbers in full precision, null for what does not
// exist. Every member is always there.
func (s *Summary) WriteJSON(w io.Writer) error {
	out := *s
	out.Format, out.Parameters = SummaryFormat, s.named()
	out.Releases, out.Warnings = append([]Release{}, s.Releases...), append([]string{}, s.Warnings...)
	if err := json.MarshalWrite(w, &out, jsonv1.DefaultOptionsV1(), jsontext.WithIndent("  "), jsontext.EscapeForHTML(false), number.Null); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// WriteCSV writes a line for each parameter under the names of the JSON's
// members, numbers in full precision, NA for what does not exist.
func (s *Summary) WriteCSV(w io.Writer) error {
	records := [][]string{{"name", "label", "mean", "sd", "mcse_mean", "q2.5", "q25", "q50", "q75",
		"q97.5", "rhat", "ess_bulk", "ess_tail", "contraction", "lower", "upper", "price_of_privacy", "shrinkage", "column"}}
	known := func(v *float64) float64 {
		if v == nil {
			return math.NaN()
		}
		return *v
	}
	for _, p := range s.named() {
		record := []string{p.Name, p.Label}
		for _, v := range []float64{p.Mean, p.SD, p.MCSEMean, p.Q2_5, p.Q25, p.Q50, p.Q75,
			p.Q97_5, p.RHat, p.ESSBulk, p.ESSTail, known(p.Contraction), p.Lower, p.Upper, known(p.Price), known(p.Shrinkage)} {
			record = append(record, number.CSV(v))
		}
		records = append(records, append(record, p.Column))
	}
	return csv.NewWriter(w).WriteAll(records)
}

// named are the parameters with the names of their columns in the files of draws.
func (s *Summary) named() []Parameter {
	all := append([]Parameter{}, s.Parameters...)
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].Name
	}
	for i, column := range StanNames(names) {
		all[i].Column = column
	}
	return all
}
