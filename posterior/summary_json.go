package posterior

import (
	"encoding/json"
	"io"
	"math"
)

// number is a float64 whose NaN and infinities are null in JSON, which has
// neither.
type number float64

func (n number) MarshalJSON() ([]byte, error) {
	if v := float64(n); math.IsNaN(v) || math.IsInf(v, 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
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
	Level         number          `json:"level"`
	Releases      []releaseJSON   `json:"releases"`
	Prior         any             `json:"prior"`
	Seed          uint64          `json:"seed"`
	Chains        int             `json:"chains"`
	Warmup        int             `json:"warmup"`
	Draws         int             `json:"draws"`
	Seconds       number          `json:"seconds"`
	Converged     *bool           `json:"converged"`
	Warnings      []string        `json:"warnings"`
	Parameters    []parameterJSON `json:"parameters"`
	WhatIf        any             `json:"what_if"`
}

type releaseJSON struct {
	Name        *string `json:"name"`
	N           *int64  `json:"n"`
	Simulated   bool    `json:"simulated"`
	Privacy     any     `json:"privacy"`
	Noise       *string `json:"noise"`
	NoiseSD     number  `json:"noise_sd"`
	Contradicts bool    `json:"contradicts"`
}

type parameterJSON struct {
	Name        string  `json:"name"`
	Column      string  `json:"column"`
	Label       string  `json:"label"`
	Mean        number  `json:"mean"`
	SD          number  `json:"sd"`
	MCSEMean    number  `json:"mcse_mean"`
	Lower       number  `json:"lower"`
	Upper       number  `json:"upper"`
	Q2_5        number  `json:"q2.5"`
	Q25         number  `json:"q25"`
	Q50         number  `json:"q50"`
	Q75         number  `json:"q75"`
	Q97_5       number  `json:"q97.5"`
	RHat        number  `json:"rhat"`
	ESSBulk     number  `json:"ess_bulk"`
	ESSTail     number  `json:"ess_tail"`
	Contraction *number `json:"contraction"`
	Price       *number `json:"price_of_privacy"`
	Shrinkage   *number `json:"shrinkage"`
}

// WriteJSON writes the summary as dpreg-summary/3 (docs/summary-format.md), indented,
// numbers in full precision, null for what does not exist. Every member is always there.
func (s *Summary) WriteJSON(w io.Writer) error {
	out := summaryJSON{
		Format: SummaryFormat, Version: known(s.Version), Method: s.Method, Kernel: known(s.Kernel),
		Formula: known(s.Formula), ModelClamping: s.ModelClamping, Pooling: known(s.Pooling), Covariates: known(s.Covariates), SameRows: s.SameRows,
		N: known(s.N), Units: s.Units, Level: number(s.Level), Releases: []releaseJSON{}, Prior: s.Prior,
		Seed: s.Seed, Chains: s.Chains, Warmup: s.Warmup, Draws: s.Draws, Seconds: number(s.Seconds),
		Converged: s.Converged, Warnings: append([]string{}, s.Warnings...), Parameters: make([]parameterJSON, len(s.Parameters)), WhatIf: s.WhatIf,
	}
	for _, r := range s.Releases {
		out.Releases = append(out.Releases, releaseJSON{known(r.Name), known(r.N), r.Simulated, r.Privacy, known(r.Noise), number(r.NoiseSD), r.Contradicts})
	}
	for i, column := range s.columns() {
		out.Parameters[i] = s.Parameters[i].json(column)
	}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(out)
}

func (p *Parameter) json(column string) parameterJSON {
	return parameterJSON{
		Name: p.Name, Column: column, Label: p.Label,
		Mean: number(p.Mean), SD: number(p.SD), MCSEMean: number(p.MCSEMean),
		Lower: number(p.Lower), Upper: number(p.Upper),
		Q2_5: number(p.Q2_5), Q25: number(p.Q25), Q50: number(p.Q50),
		Q75: number(p.Q75), Q97_5: number(p.Q97_5),
		RHat: number(p.RHat), ESSBulk: number(p.ESSBulk), ESSTail: number(p.ESSTail),
		Contraction: (*number)(p.Contraction), Price: (*number)(p.Price), Shrinkage: (*number)(p.Shrinkage),
	}
}
