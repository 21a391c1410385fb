package dpreg

import "encoding/json"

type effectJSON struct {
	Name       string     `json:"name"`
	Label      string     `json:"label"`
	Shift      jsonNumber `json:"shift"`
	ShiftError jsonNumber `json:"shift_mcse"`
	Width      jsonNumber `json:"width_ratio"`
	Sign       int        `json:"sign"`
	Changed    bool       `json:"sign_changed"`
	Moved      bool       `json:"moved"`
}

type variantJSON struct {
	Name      string       `json:"name"`
	Method    string       `json:"method"`
	Converged bool         `json:"converged"`
	Reason    string       `json:"reason,omitempty"`
	Effects   []effectJSON `json:"effects"`
}

// MarshalJSON writes the member "what_if" of a summary.
func (w *WhatIf) MarshalJSON() ([]byte, error) {
	out := struct {
		Units    Units         `json:"units"`
		Level    float64       `json:"level"`
		Moved    bool          `json:"moved"`
		Variants []variantJSON `json:"variants"`
	}{w.Units, w.Level, w.Moved(), []variantJSON{}}
	for _, v := range w.Variants {
		j := variantJSON{Name: v.Name, Method: v.Method, Converged: v.Reason == "", Reason: v.Reason}
		for _, e := range v.Effects {
			j.Effects = append(j.Effects, effectJSON{e.Name, e.Label, jsonNumber(e.Shift), jsonNumber(e.ShiftError), jsonNumber(e.Width), e.Sign, e.Changed, e.Moved()})
		}
		out.Variants = append(out.Variants, j)
	}
	return json.Marshal(out)
}
