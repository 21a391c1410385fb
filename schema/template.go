package schema

import (
	"encoding/json"
	"io"
	"math"
)

// WriteTemplate writes s as a Frictionless Table Schema for a custodian to fill
// in: bounds that s has not are null, and ReadSchema reads them as not known.
func (s *Schema) WriteTemplate(w io.Writer) error {
	type constraints struct {
		Minimum *float64 `json:"minimum"`
		Maximum *float64 `json:"maximum"`
	}
	type enum struct {
		Enum []string `json:"enum"`
	}
	type field struct {
		Name        string `json:"name"`
		Type        string `json:"type"`
		Constraints any    `json:"constraints,omitempty"`
	}
	fields := make([]field, 0, len(s.Columns))
	for _, c := range s.Columns {
		if c.Levels != nil {
			fields = append(fields, field{c.Name, c.Type, enum{c.Levels}})
			continue
		}
		if c.Type != "" {
			fields = append(fields, field{Name: c.Name, Type: c.Type})
			continue
		}
		fields = append(fields, field{c.Name, "number", &constraints{known(c.Lower), known(c.Upper)}})
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(map[string]any{"fields": fields})
}

// known is nil where a bound is NaN, which JSON cannot hold.
func known(bound float64) *float64 {
	if math.IsNaN(bound) {
		return nil
	}
	return &bound
}
