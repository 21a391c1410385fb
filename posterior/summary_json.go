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

type summaryJSON struct {
	Format     string          `json:"format"`
	Method     string          `json:"method"`
	N          int64           `json:"n"`
	Chains     int             `json:"chains"`
	Draws      int             `json:"draws"`
	Seconds    number          `json:"seconds"`
	Units      string          `json:"units"`
	Level      *number         `json:"level,omitempty"`
	Parameters []parameterJSON `json:"parameters"`
	Warnings   []string        `json:"warnings"`
	WhatIf     json.Marshaler  `json:"what_if,omitempty"`
	Custodians json.Marshaler  `json:"custodians,omitempty"`
}

type parameterJSON struct {
	Name     string  `json:"name"`
	Label    string  `json:"label"`
	Mean     number  `json:"mean"`
	SD       number  `json:"sd"`
	MCSEMean number  `json:"mcse_mean"`
	Q2_5     number  `json:"q2.5"`
	Q25      number  `json:"q25"`
	Q50      number  `json:"q50"`
	Q75      number  `json:"q75"`
	Q97_5    number  `json:"q97.5"`
	RHat     number  `json:"rhat"`
	ESSBulk  number  `json:"ess_bulk"`
	ESSTail  number  `json:"ess_tail"`
	Learned  *number `json:"learned"`
	Lower    *number `json:"lower,omitempty"`
	Upper    *number `json:"upper,omitempty"`
}

// WriteJSON writes the summary as dpreg-summary/1, indented, numbers in full
// precision, null for what does not exist. At levels other than DefaultLevel
// "level" and each parameter's "lower" and "upper" are added.
func (s *Summary) WriteJSON(w io.Writer) error {
	out := summaryJSON{
		Format: s.Format, Method: s.Method, N: s.N, Chains: s.Chains, Draws: s.Draws,
		Seconds: number(s.Seconds), Units: s.Units, Warnings: s.Warnings, WhatIf: s.WhatIf, Custodians: s.Custodians,
		Parameters: make([]parameterJSON, len(s.Parameters)),
	}
	if out.Warnings == nil {
		out.Warnings = []string{}
	}
	if s.Level != DefaultLevel {
		out.Level = (*number)(&s.Level)
	}
	for i := range s.Parameters {
		out.Parameters[i] = s.Parameters[i].json(s.Level)
	}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(out)
}

func (p *Parameter) json(level float64) parameterJSON {
	out := parameterJSON{
		Name: p.Name, Label: p.Label,
		Mean: number(p.Mean), SD: number(p.SD), MCSEMean: number(p.MCSEMean),
		Q2_5: number(p.Q2_5), Q25: number(p.Q25), Q50: number(p.Q50),
		Q75: number(p.Q75), Q97_5: number(p.Q97_5),
		RHat: number(p.RHat), ESSBulk: number(p.ESSBulk), ESSTail: number(p.ESSTail),
		Learned: (*number)(p.Learned),
	}
	if level != DefaultLevel {
		out.Lower, out.Upper = (*number)(&p.Lower), (*number)(&p.Upper)
	}
	return out
}
