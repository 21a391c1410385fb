package whatif

import (
	"encoding/json"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/internal/number"
)

type effectJSON struct {
	Name       string      `json:"name"`
	Label      string      `json:"label"`
	Shift      number.JSON `json:"shift"`
	ShiftError number.JSON `json:"shift_mcse"`
	Width      number.JSON `json:"width_ratio"`
	Sign       int         `json:"sign"`
	Changed    bool        `json:"sign_changed"`
	Moved      bool        `json:"moved"`
}

type variantJSON struct {
	Name      string       `json:"name"`
	Method    string       `json:"method"`
	Converged bool         `json:"converged"`
	Reason    string       `json:"reason,omitempty"`
	Effects   []effectJSON `json:"effects"`
}

// MarshalJSON writes the member "what_if" of a summary.
func (w *Answers) MarshalJSON() ([]byte, error) {
	out := struct {
		Units    dpreg.Units   `json:"units"`
		Level    float64       `json:"level"`
		Moved    bool          `json:"moved"`
		Variants []variantJSON `json:"variants"`
	}{w.Units, w.Level, w.Moved(), []variantJSON{}}
	for _, v := range w.Variants {
		j := variantJSON{Name: v.Name, Method: v.Method, Converged: v.Reason == "", Reason: v.Reason}
		for _, e := range v.Effects {
			j.Effects = append(j.Effects, effectJSON{e.Name, e.Label, number.JSON(e.Shift), number.JSON(e.ShiftError), number.JSON(e.Width), e.Sign, e.Changed, e.Moved()})
		}
		out.Variants = append(out.Variants, j)
	}
	return json.Marshal(out)
}
