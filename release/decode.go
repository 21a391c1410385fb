package release

import (
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// decoder reads JSON into structs, as their json tags say, and is stricter than the
// library: a field that is not tagged omitzero must be there; null is a value only of
// a pointer to a number; a whole number may have any notation (R writes 100000 as
// 1e+05); a number that may be left out is positive. Memory grows with the values that
// are wanted only. The library sees to syntax, to keys that stand twice, and to paths.
type decoder struct{ *jsontext.Decoder }

// errUnknown is wrapped by the error for a key that the format does not have.
var errUnknown = errors.New("unknown field")

// value reads the next value into v.
func (d decoder) value(v reflect.Value) error {
	t, err := d.token()
	if err != nil {
		return err
	}
	if v.Kind() == reflect.Pointer {
		if t.Kind() == 'n' && v.Type().Elem().Kind() == reflect.Float64 {
			return nil
		}
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.Struct:
		if t.Kind() != '{' {
			return d.at(errors.New("must be an object"))
		}
		return d.object(v)
	case reflect.Slice:
		if t.Kind() != '[' {
			return d.at(errors.New("must be an array"))
		}
		return d.array(v)
	case reflect.String:
		if t.Kind() != '"' {
			return d.at(errors.New("must be a string"))
		}
		v.SetString(t.String())
	case reflect.Bool:
		if t.Kind() != 't' && t.Kind() != 'f' {
			return d.at(errors.New("must be true or false"))
		}
		v.SetBool(t.Bool())
	default:
		return d.at(setNumber(t, v))
	}
	return nil
}

// setNumber sets v, a float64 or an integer.
func setNumber(t jsontext.Token, v reflect.Value) error {
	if t.Kind() != '0' {
		return errors.New("must be a number")
	}
	x, err := strconv.ParseFloat(t.String(), 64)
	switch {
	case err != nil:
		return errors.New("a number out of range")
	case v.CanFloat():
		v.SetFloat(x)
	case x != math.Trunc(x):
		return errors.New("must be a whole number")
	case math.Abs(x) > maxN:
		return errors.New("a number out of range")
	default:
		v.SetInt(int64(x))
	}
	return nil
}

// object reads the rest of an object. An unknown key is reported only after the rest,
// so that a "format" further on can explain it.
func (d decoder) object(v reflect.Value) error {
	fields := fieldsOf(v.Type())
	seen := make([]bool, len(fields))
	var unknown error
	for d.PeekKind() != '}' {
		t, err := d.token()
		if err != nil {
			return err
		}
		key := t.String()
		i := slices.IndexFunc(fields, func(f field) bool { return f.name == key })
		switch {
		case i >= 0:
			seen[i] = true
			err = d.member(fields[i], v.Field(fields[i].index))
		case unknown == nil:
			unknown = d.at(fmt.Errorf("%w; the fields here are %s", errUnknown, names(fields)))
			fallthrough
		default:
			err = d.skip()
		}
		if err != nil {
			return err
		}
	}
	if _, err := d.token(); err != nil {
		return err
	}
	if unknown != nil {
		return unknown
	}
	for i, f := range fields {
		if !seen[i] && !f.optional {
			return d.at(within(f.name, fmt.Errorf("missing; %s", hints[f.key])))
		}
	}
	return nil
}

// member reads the value of one field.
func (d decoder) member(f field, v reflect.Value) error {
	if err := d.value(v); err != nil {
		return err
	}
	if f.optional && v.CanFloat() && v.Float() <= 0 {
		return d.at(fmt.Errorf("must be a positive number, not %v", v.Float()))
	}
	if check := checks[f.key]; check != nil {
		return d.at(check(v.String()))
	}
	return nil
}

// array reads the rest of an array.
func (d decoder) array(v reflect.Value) error {
	start := d.StackPointer()
	for d.PeekKind() != ']' {
		if v.Len() == maxArray {
			return inside(start, fmt.Errorf("more than %d entries", maxArray))
		}
		v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
		if err := d.value(v.Index(v.Len() - 1)); err != nil {
			return err
		}
	}
	_, err := d.token()
	return err
}

// skip reads over one value.
func (d decoder) skip() error {
	start, depth := d.StackPointer(), d.StackDepth()
	for {
		if _, err := d.token(); err != nil {
			return err
		}
		switch now := d.StackDepth() - depth; {
		case now == 0:
			return nil
		case now > maxDepth:
			return inside(start, errors.New("nested too deeply"))
		}
	}
}

// end refuses anything but white space after the value.
func (d decoder) end() error {
	switch _, err := d.ReadToken(); {
	case err == io.EOF:
		return nil
	case errors.Is(err, errTooLarge):
		return errTooLarge
	}
	return fmt.Errorf("something follows the end of the release (at byte %d)", d.InputOffset())
}

// token is the next token, with errors in a reader's words.
func (d decoder) token() (jsontext.Token, error) {
	t, err := d.ReadToken()
	if err == nil {
		return t, nil
	}
	var syntax *jsontext.SyntacticError
	switch {
	case errors.Is(err, errTooLarge):
		return t, errTooLarge
	case err == io.EOF:
		return t, errors.New("the file ends early")
	case !errors.As(err, &syntax):
		return t, err
	case errors.Is(err, io.ErrUnexpectedEOF):
		return t, inside(syntax.JSONPointer, errors.New("the file ends early"))
	case errors.Is(err, jsontext.ErrDuplicateName):
		return t, inside(syntax.JSONPointer, errors.New("stands twice"))
	case d.InputOffset() == 0:
		// Perhaps the data themselves: repeat nothing of it.
		return t, errors.New("not a JSON file")
	}
	return t, inside(syntax.JSONPointer, fmt.Errorf("not JSON: %w (at byte %d)", syntax.Err, syntax.ByteOffset))
}

// at puts the path of the value read last in front of an error.
func (d decoder) at(err error) error { return inside(d.StackPointer(), err) }

func inside(p jsontext.Pointer, err error) error {
	for ; p != ""; p = p.Parent() {
		segment := p.LastToken()
		if _, no := strconv.ParseUint(segment, 10, 64); no == nil {
			segment = "[" + segment + "]"
		}
		err = within(abbreviate(segment), err)
	}
	return err
}

// field is a field of a struct: its name in the file, its key in hints and checks, and
// whether the file may leave it out.
type field struct {
	name, key string
	optional  bool
	index     int
}

func fieldsOf(t reflect.Type) (all []field) {
	for i := range t.NumField() {
		if name, options, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); name != "-" {
			all = append(all, field{name, t.Name() + "." + name, options != "", i})
		}
	}
	return all
}

func names(fields []field) string {
	all := make([]string, len(fields))
	for i, f := range fields {
		all[i] = f.name
	}
	return strings.Join(all, ", ")
}

// abbreviate keeps a stray key from filling the screen.
func abbreviate(key string) string {
	const most = 60
	if len(key) > most {
		return strings.ToValidUTF8(key[:most], "") + "..."
	}
	return key
}
