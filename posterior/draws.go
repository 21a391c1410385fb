// Package posterior holds the draws of a Markov chain Monte Carlo run and
// says what they are worth: quantiles, rank-normalised R-hat, effective
// sample sizes, Monte Carlo standard errors, summaries, and files that
// other software reads.
//
// The diagnostics are those of Vehtari, Gelman, Simpson, Carpenter and
// Bürkner (2021), Bayesian Analysis 16(2), 667–718, and agree with version
// 1.4 of the R package posterior.
package posterior

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"github.com/dpreg/dpreg/internal/number"
)

// Draws holds the kept draws of a run, chain by chain. All chains have the
// same length.
type Draws struct {
	// Names are the parameters', for example theta[0], sigma2, tau[1,2].
	Names []string
	// Labels head the columns of files in place of Names; nil: Names do, as Stan has them.
	Labels []string
	// Chains[c] is row-major, NumDraws() × len(Names).
	Chains [][]float64
	// InfoNames are the sampler's own columns. By Stan's convention they
	// end in two underscores (lp__, accept_stat__); readers of Stan CSV
	// would take another name for a parameter.
	InfoNames []string
	// Info[c] is row-major, NumDraws() × len(InfoNames).
	Info [][]float64
	// Warmup is the number of discarded steps of each chain.
	Warmup int
	// Seconds is the wall-clock time of the run.
	Seconds float64
	// Warnings are printed with every summary.
	Warnings []string
}

// NumChains returns the number of chains.
func (d *Draws) NumChains() int { return len(d.Chains) }

// NumDraws returns the number of kept draws of each chain.
func (d *Draws) NumDraws() int {
	if len(d.Chains) == 0 || len(d.Names) == 0 {
		return 0
	}
	return len(d.Chains[0]) / len(d.Names)
}

// Index returns the position of the named parameter, or -1.
func (d *Draws) Index(name string) int { return slices.Index(d.Names, name) }

// Column returns parameter j's draws, one new slice of length NumDraws() for
// each chain. It panics where j is no parameter.
func (d *Draws) Column(j int) [][]float64 {
	columns := make([][]float64, len(d.Chains))
	for c := range columns {
		columns[c] = make([]float64, d.NumDraws())
		d.copyColumn(columns[c], c, j)
	}
	return columns
}

// copyColumn writes parameter j of chain c to dst, length NumDraws().
func (d *Draws) copyColumn(dst []float64, c, j int) {
	width := len(d.Names)
	if j < 0 || j >= width {
		panic(fmt.Sprintf("posterior: parameter %d of %d", j, width))
	}
	chain := d.Chains[c]
	for i := range dst {
		dst[i] = chain[i*width+j]
	}
}

// Map returns new draws whose row i is what f writes to dst (length
// len(names)) from row i of d (src, length len(d.Names), not to be changed).
// Names are copied; the sampler's columns are shared with d.
func (d *Draws) Map(names []string, f func(dst, src []float64)) *Draws {
	mapped := *d
	mapped.Names, mapped.Labels = slices.Clone(names), nil
	mapped.Warnings = slices.Clone(d.Warnings)
	mapped.Chains = make([][]float64, len(d.Chains))
	in, out, n := len(d.Names), len(names), d.NumDraws()
	for c, chain := range d.Chains {
		rows := make([]float64, n*out)
		for i := range n {
			f(rows[i*out:(i+1)*out:(i+1)*out], chain[i*in:(i+1)*in:(i+1)*in])
		}
		mapped.Chains[c] = rows
	}
	return &mapped
}

// InOrder returns the draws with the columns of these names, in their order; all are there.
func (d *Draws) InOrder(names []string) *Draws {
	at := make([]int, len(names))
	for i, name := range names {
		at[i] = d.Index(name)
	}
	return d.Map(names, func(dst, src []float64) {
		for i, from := range at {
			dst[i] = src[from]
		}
	})
}

// Thin returns about count draws, evenly spaced in all chains, chain after chain.
func (d *Draws) Thin(count int) [][]float64 {
	width, n := len(d.Names), d.NumDraws()
	step := max(1, n*d.NumChains()/count)
	var rows [][]float64
	for _, chain := range d.Chains {
		for i := step - 1; i < n; i += step {
			rows = append(rows, chain[i*width:(i+1)*width])
		}
	}
	return rows
}

// Bind puts chains of one run together, with the first one's Warmup. Errors: no
// chains, names that differ, lengths that differ.
func Bind(parts ...*Draws) (*Draws, error) {
	if len(parts) == 0 {
		return nil, errors.New("there are no chains")
	}
	all := &Draws{Names: parts[0].Names, InfoNames: parts[0].InfoNames, Warmup: parts[0].Warmup}
	for i, d := range parts {
		if !slices.Equal(d.Names, all.Names) || !slices.Equal(d.InfoNames, all.InfoNames) {
			return nil, fmt.Errorf("chain %d has other parameters than the first", i+1)
		}
		if d.NumDraws() != parts[0].NumDraws() {
			return nil, fmt.Errorf("chain %d has %d draws, the first %d", i+1, d.NumDraws(), parts[0].NumDraws())
		}
		all.Chains, all.Info = append(all.Chains, d.Chains...), append(all.Info, d.Info...)
	}
	return all, nil
}

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
	Positive    float64  `json:"p_positive"` // share of the draws above 0
	Undefined   string   `json:"-"`          // why RHat, ESSBulk or ESSTail is NaN; else empty
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
	var c Column
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

func (c *Column) summarise(name string, level float64) Parameter {
	p := Parameter{
		Name:     name,
		Label:    name,
		Mean:     c.mean,
		SD:       math.Sqrt(variance(c.x, c.mean)),
		MCSEMean: c.MCSEMean(),
		Q2_5:     c.quantile(0.025),
		Q25:      c.quantile(0.25),
		Q50:      c.quantile(0.5),
		Q75:      c.quantile(0.75),
		Q97_5:    c.quantile(0.975),
		RHat:     c.RHat(),
		ESSBulk:  c.ESSBulk(),
		ESSTail:  c.ESSTail(),
		Lower:    c.quantile(tail(level)),
		Upper:    c.quantile(1 - tail(level)),
	}
	above := 0
	for _, x := range c.x {
		if x > 0 {
			above++
		}
	}
	p.Positive = float64(above) / float64(len(c.x))
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
		"q97.5", "rhat", "ess_bulk", "ess_tail", "contraction", "lower", "upper", "price_of_privacy", "shrinkage", "column", "p_positive"}}
	for _, p := range s.named() {
		values := number.CSVs(p.Mean, p.SD, p.MCSEMean, p.Q2_5, p.Q25, p.Q50, p.Q75,
			p.Q97_5, p.RHat, p.ESSBulk, p.ESSTail, number.Known(p.Contraction), p.Lower, p.Upper, number.Known(p.Price), number.Known(p.Shrinkage))
		records = append(records, slices.Concat([]string{p.Name, p.Label}, values, []string{p.Column, number.CSV(p.Positive)}))
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
