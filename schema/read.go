package schema

import (
	"errors"
	"fmt"
	"io"
	"math"
	"unicode/utf8"

	"github.com/dpreg/dpreg/internal/jsontree"
	"github.com/dpreg/dpreg/internal/number"
)

// maxFile is the largest schema file that is read, in bytes.
const maxFile = 1 << 20

// ReadSchema reads a Frictionless Table Schema,
//
//	{"fields":[{"name":"wine","type":"number","constraints":{"minimum":0,"maximum":40}}, ...]}
//
// (https://specs.frictionlessdata.io/table-schema). Bounds are the constraints
// minimum and maximum of fields of type number or integer, or of no type; null or
// none leaves the column without that bound. A field of type string is categorical
// where the constraint enum lists its public levels, the baseline first; one of type
// boolean is 0 or 1. Other types are remembered. Keys it
// does not know are passed over, as that specification wants.
//
// Errors name the file and the field: no JSON or more than one value, over 1 MB, a
// key that stands twice, no fields, a bad, missing or repeated name, a bound that
// is no finite number, minimum not below maximum, levels that are not at least two
// different texts.
func ReadSchema(r io.Reader, name string) (s *Schema, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s: %w", name, err)
		}
	}()
	text, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxFile {
		return nil, errors.New("larger than 1 MB: this is not a table schema")
	}
	if !utf8.Valid(text) {
		return nil, errors.New("not valid UTF-8")
	}
	tree, err := jsontree.Decode(text)
	if err != nil {
		return nil, err
	}
	object, ok := tree.(map[string]any)
	if !ok {
		return nil, errors.New(`not a table schema: want a JSON object with "fields"`)
	}
	fields, ok := object["fields"].([]any)
	if !ok || len(fields) == 0 {
		return nil, errors.New(`not a table schema: "fields" must be a list of at least one field`)
	}
	return parseFields(fields)
}

func parseFields(fields []any) (*Schema, error) {
	s := &Schema{Columns: make([]Column, 0, len(fields))}
	seen := make(map[string]int, len(fields))
	for i, field := range fields {
		c, err := parseField(field)
		if err != nil {
			named := ""
			if c.Name != "" {
				named = fmt.Sprintf(" (%q)", c.Name)
			}
			return nil, fmt.Errorf("field %d%s: %w", i+1, named, err)
		}
		if first, ok := seen[c.Name]; ok {
			return nil, fmt.Errorf("fields %d and %d have the same name, %q", first, i+1, c.Name)
		}
		seen[c.Name] = i + 1
		s.Columns = append(s.Columns, c)
	}
	return s, nil
}

// parseField returns the column with its name, where that is sound, even beside
// an error.
func parseField(field any) (Column, error) {
	object, ok := field.(map[string]any)
	if !ok {
		return Column{}, errors.New("want a JSON object")
	}
	name, ok := object["name"].(string)
	if !ok {
		return Column{}, errors.New(`"name" is missing or no string`)
	}
	if err := checkTyped(name); err != nil {
		return Column{}, err
	}
	c := unbounded(name)
	kind, err := optional[string](object, "type", "a string")
	if err != nil {
		return c, err
	}
	constraints, err := optional[map[string]any](object, "constraints", "an object")
	if err != nil {
		return c, err
	}
	switch kind {
	case "", "any", "number":
		return c.withConstraints(constraints)
	case "integer":
		if c, err = c.withConstraints(constraints); c.Lower == 0 && c.Upper == 1 {
			c.Type = typeBoolean // the only integers between are 0 and 1
		}
		return c, err
	case typeString:
		c.Type = kind
		c.Levels, err = levels(constraints)
		return c, err
	case typeBoolean:
		return c.boolean(object)
	}
	c.Type = kind
	return c, nil
}

// optional returns object[key], or the zero value where it is null or not there.
func optional[T any](object map[string]any, key, want string) (T, error) {
	var zero T
	v := object[key]
	if v == nil {
		return zero, nil
	}
	t, ok := v.(T)
	if !ok {
		return zero, fmt.Errorf("%q must be %s", key, want)
	}
	return t, nil
}

func (c Column) withConstraints(constraints map[string]any) (Column, error) {
	var err error
	if c.Lower, err = constraint(constraints, "minimum"); err != nil {
		return c, err
	}
	if c.Upper, err = constraint(constraints, "maximum"); err != nil {
		return c, err
	}
	if !c.Bounded() {
		return c, nil
	}
	if c.Lower >= c.Upper {
		return c, fmt.Errorf("minimum %v is not below maximum %v", c.Lower, c.Upper)
	}
	return c, c.checkBounds()
}

// constraint returns a bound, NaN where there is none.
func constraint(constraints map[string]any, key string) (float64, error) {
	written, err := optional[jsontree.Number](constraints, key, "a number")
	if err != nil || written == "" {
		return math.NaN(), err
	}
	bound, err := ParseNumber(string(written))
	if err != nil {
		return bound, fmt.Errorf("%q: %w", key, err)
	}
	return bound, nil
}

// levels returns the public levels of a column, nil where none are given.
func levels(constraints map[string]any) ([]string, error) {
	list, err := optional[[]any](constraints, "enum", "a list")
	if err != nil || list == nil {
		return nil, err
	}
	texts := make([]string, len(list))
	for i, item := range list {
		text, ok := item.(string)
		if !ok {
			return nil, fmt.Errorf("\"enum\": level %d is no string", i+1)
		}
		texts[i] = text
	}
	if err := checkLevels(texts); err != nil {
		return nil, fmt.Errorf("\"enum\": %w", err)
	}
	return texts, nil
}

// boolean makes c a column that is 0 or 1. Frictionless lets a schema say which
// texts mean so; only its default ones are known here.
func (c Column) boolean(object map[string]any) (Column, error) {
	for _, key := range []string{"trueValues", "falseValues"} {
		if object[key] != nil {
			return c, fmt.Errorf("%q is not supported: true, True, TRUE and 1 are true, false, False, FALSE and 0 false; "+
				"for other texts use the type string with levels", key)
		}
	}
	c.Type, c.Lower, c.Upper = typeBoolean, 0, 1
	return c, nil
}

// WriteTemplate writes s as a Frictionless Table Schema for a custodian to fill
// in: bounds that s has not are null, and ReadSchema reads them as not known.
func (s *Schema) WriteTemplate(w io.Writer) error {
	type constraints struct {
		Minimum float64 `json:"minimum"`
		Maximum float64 `json:"maximum"`
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
		fields = append(fields, field{c.Name, "number", constraints{c.Lower, c.Upper}})
	}
	return number.Lines(w, map[string]any{"fields": fields})
}
