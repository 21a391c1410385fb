package posterior

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/dpreg/dpreg/internal/number"
)

// SummaryFormat is the first member of a summary's JSON.
const SummaryFormat = "dpreg-summary/3"

// NormalIQR is the interquartile range of a standard normal law.
const NormalIQR = 1.3489795003921634

// DefaultLevel is the level whose equal-tailed interval is that of the 2.5 %
// and 97.5 % quantiles.
const DefaultLevel = 0.95

// Summary says what draws tell of each parameter, and what they are draws of. What is
// empty there does not exist, or is not known.
type Summary struct {
	Version       string // of the program
	Method        string // the method's name, as on the command line
	Kernel        string // of a method that has a choice of them
	Formula       string
	ModelClamping bool
	Pooling       string  // of several releases, like Covariates
	SameRows      bool    // several releases are of the same rows
	Covariates    string  // separate or shared
	N             int64   // rows behind the releases; 0 where it is not public
	Units         string  // "original" or "scaled"
	Level         float64 // of the intervals Lower, Upper
	Releases      []Release
	Prior         any // what marshals to its JSON
	Seed          uint64
	Chains        int     // number of chains
	Warmup        int     // steps of each chain before its draws
	Draws         int     // kept draws of each chain
	Seconds       float64 // sampling time: Draws.Seconds
	Converged     *bool   // nil: draws of no Markov chain
	Warnings      []string

	Parameters []Parameter
	// Checked are those by which Converged was found, where they are not Parameters: a
	// summary in other units has another intercept.
	Checked []Parameter

	WhatIf any // what marshals to the JSON's last member, "what_if"
}

// Release is what was released: a release that was inferred from, or a law that was
// fitted to rows with noise.
type Release struct {
	Name      string // such as the file's
	N         int64  // rows; 0 where it is not public
	Simulated bool   // the noise came from a seed
	Privacy   any    // what marshals to epsilon, delta and neighbours; nil: not stated
	Noise     string // its kind
	NoiseSD   float64
	// Contradicts: of several with complete pooling, it contradicts the regression of all.
	Contradicts bool
}

// Parameter summarises one parameter. What does not exist is NaN.
type Parameter struct {
	Name, Label                string
	Mean, SD, MCSEMean         float64
	Q2_5, Q25, Q50, Q75, Q97_5 float64
	RHat, ESSBulk, ESSTail     float64
	Undefined                  string // why one of these three is NaN; else empty
	// Contraction is set by Contract, Price is the price of privacy, and Shrinkage how far partial pooling drew custodians together; nil if unknown.
	Contraction, Price, Shrinkage *float64
	// Lower and Upper bound the equal-tailed interval at Summary.Level.
	Lower, Upper float64
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

// known is nil, null in JSON, for a value that is zero.
func known[T comparable](v T) *T {
	var none T
	if v == none {
		return nil
	}
	return &v
}

type summaryJSON struct {
	Format        string          `json:"format"`
	Version       *string         `json:"version"`
	Method        string          `json:"method"`
	Kernel        *string         `json:"kernel"`
	Formula       *string         `json:"formula"`
	ModelClamping bool            `json:"model_clamping"`
	Pooling       *string         `json:"pooling"`
	Covariates    *string         `json:"covariates"`
	SameRows      bool            `json:"same_rows"`
	N             *int64          `json:"n"`
	Units         string          `json:"units"`
	Level         number.JSON     `json:"level"`
	Releases      []releaseJSON   `json:"releases"`
	Prior         any             `json:"prior"`
	Seed          uint64          `json:"seed"`
	Chains        int             `json:"chains"`
	Warmup        int             `json:"warmup"`
	Draws         int             `json:"draws"`
	Seconds       number.JSON     `json:"seconds"`
	Converged     *bool           `json:"converged"`
	Warnings      []string        `json:"warnings"`
	Parameters    []parameterJSON `json:"parameters"`
	WhatIf        any             `json:"what_if"`
}

type releaseJSON struct {
	Name        *string     `json:"name"`
	N           *int64      `json:"n"`
	Simulated   bool        `json:"simulated"`
	Privacy     any         `json:"privacy"`
	Noise       *string     `json:"noise"`
	NoiseSD     number.JSON `json:"noise_sd"`
	Contradicts bool        `json:"contradicts"`
}

type parameterJSON struct {
	Name        string       `json:"name"`
	Column      string       `json:"column"`
	Label       string       `json:"label"`
	Mean        number.JSON  `json:"mean"`
	SD          number.JSON  `json:"sd"`
	MCSEMean    number.JSON  `json:"mcse_mean"`
	Lower       number.JSON  `json:"lower"`
	Upper       number.JSON  `json:"upper"`
	Q2_5        number.JSON  `json:"q2.5"`
	Q25         number.JSON  `json:"q25"`
	Q50         number.JSON  `json:"q50"`
	Q75         number.JSON  `json:"q75"`
	Q97_5       number.JSON  `json:"q97.5"`
	RHat        number.JSON  `json:"rhat"`
	ESSBulk     number.JSON  `json:"ess_bulk"`
	ESSTail     number.JSON  `json:"ess_tail"`
	Contraction *number.JSON `json:"contraction"`
	Price       *number.JSON `json:"price_of_privacy"`
	Shrinkage   *number.JSON `json:"shrinkage"`
}

// WriteJSON writes the summary as dpreg-summary/3 (docs/summary-format.md), indented,
// numbers in full precision, null for what does not exist. Every member is always there.
func (s *Summary) WriteJSON(w io.Writer) error {
	out := summaryJSON{
		Format: SummaryFormat, Version: known(s.Version), Method: s.Method, Kernel: known(s.Kernel),
		Formula: known(s.Formula), ModelClamping: s.ModelClamping, Pooling: known(s.Pooling), Covariates: known(s.Covariates), SameRows: s.SameRows,
		N: known(s.N), Units: s.Units, Level: number.JSON(s.Level), Releases: []releaseJSON{}, Prior: s.Prior,
		Seed: s.Seed, Chains: s.Chains, Warmup: s.Warmup, Draws: s.Draws, Seconds: number.JSON(s.Seconds),
		Converged: s.Converged, Warnings: append([]string{}, s.Warnings...), Parameters: make([]parameterJSON, len(s.Parameters)), WhatIf: s.WhatIf,
	}
	for _, r := range s.Releases {
		out.Releases = append(out.Releases, releaseJSON{known(r.Name), known(r.N), r.Simulated, r.Privacy, known(r.Noise), number.JSON(r.NoiseSD), r.Contradicts})
	}
	for i, column := range s.columns() {
		out.Parameters[i] = s.Parameters[i].json(column)
	}
	return number.Indented(w, out)
}

func (p *Parameter) json(column string) parameterJSON {
	return parameterJSON{
		Name: p.Name, Column: column, Label: p.Label,
		Mean: number.JSON(p.Mean), SD: number.JSON(p.SD), MCSEMean: number.JSON(p.MCSEMean),
		Lower: number.JSON(p.Lower), Upper: number.JSON(p.Upper),
		Q2_5: number.JSON(p.Q2_5), Q25: number.JSON(p.Q25), Q50: number.JSON(p.Q50),
		Q75: number.JSON(p.Q75), Q97_5: number.JSON(p.Q97_5),
		RHat: number.JSON(p.RHat), ESSBulk: number.JSON(p.ESSBulk), ESSTail: number.JSON(p.ESSTail),
		Contraction: (*number.JSON)(p.Contraction), Price: (*number.JSON)(p.Price), Shrinkage: (*number.JSON)(p.Shrinkage),
	}
}

// WriteCSV writes a line for each parameter under the names of the JSON's
// members, numbers in full precision, NA for what does not exist.
func (s *Summary) WriteCSV(w io.Writer) error {
	header := []string{"name", "label", "mean", "sd", "mcse_mean", "q2.5", "q25", "q50", "q75",
		"q97.5", "rhat", "ess_bulk", "ess_tail", "contraction", "lower", "upper", "price_of_privacy", "shrinkage", "column"}
	out := csv.NewWriter(w)
	if err := out.Write(header); err != nil {
		return err
	}
	columns := s.columns()
	for i := range s.Parameters {
		p := &s.Parameters[i]
		record := []string{p.Name, p.Label}
		for _, v := range p.numbers() {
			record = append(record, number.CSV(v))
		}
		record = append(record, columns[i])
		if err := out.Write(record); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// columns are the parameters' in the files of draws.
func (s *Summary) columns() []string {
	names := make([]string, len(s.Parameters))
	for i := range s.Parameters {
		names[i] = s.Parameters[i].Name
	}
	return StanNames(names)
}

// numbers lists the columns after the label, but for the last.
func (p *Parameter) numbers() []float64 {
	known := func(v *float64) float64 {
		if v == nil {
			return math.NaN()
		}
		return *v
	}
	return []float64{p.Mean, p.SD, p.MCSEMean, p.Q2_5, p.Q25, p.Q50, p.Q75,
		p.Q97_5, p.RHat, p.ESSBulk, p.ESSTail, known(p.Contraction), p.Lower, p.Upper, known(p.Price), known(p.Shrinkage)}
}
