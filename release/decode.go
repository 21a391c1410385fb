package release

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/dpreg/dpreg/internal/jsontree"
)

// decode sets v to a JSON value, as the json tags of its structs say, and is stricter than
// the library: a field that is not tagged omitzero must be there; null is a value only of
// a pointer to a number; a whole number may have any notation (R writes 100000 as
// 1e+05); a number that may be left out is positive.
func decode(v reflect.Value, x any) error {
	if v.Kind() == reflect.Pointer {
		if x == nil && v.Type().Elem().Kind() == reflect.Float64 {
			return nil
		}
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.Struct:
		object, ok := x.(map[string]any)
		if !ok {
			return errors.New("must be an object")
		}
		return decodeObject(v, object)
	case reflect.Slice:
		list, ok := x.([]any)
		if !ok {
			return errors.New("must be an array")
		}
		return decodeArray(v, list)
	case reflect.String:
		text, ok := x.(string)
		if !ok {
			return errors.New("must be a string")
		}
		v.SetString(text)
		return nil
	case reflect.Bool:
		truth, ok := x.(bool)
		if !ok {
			return errors.New("must be true or false")
		}
		v.SetBool(truth)
		return nil
	}
	return decodeNumber(v, x)
}

// decodeNumber sets v, a float64 or an integer.
func decodeNumber(v reflect.Value, n any) error {
	text, ok := n.(jsontree.Number)
	if !ok {
		return errors.New("must be a number")
	}
	x, err := strconv.ParseFloat(string(text), 64)
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

func decodeArray(v reflect.Value, list []any) error {
	switch n := len(list); {
	case n > maxArray:
		return fmt.Errorf("more than %d entries", maxArray)
	case n > 0:
		v.Set(reflect.MakeSlice(v.Type(), n, n))
	}
	for i, item := range list {
		if err := decode(v.Index(i), item); err != nil {
			return within(index(i), err)
		}
	}
	return nil
}

func decodeObject(v reflect.Value, object map[string]any) error {
	var names []string
	for i := range v.NumField() {
		if name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ","); name != "-" {
			names = append(names, name)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		if !slices.Contains(names, key) {
			return within(abbreviate(key), fmt.Errorf("unknown field; the fields here are %s", strings.Join(names, ", ")))
		}
	}
	for i := range v.NumField() {
		name, options, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		x, there := object[name]
		switch {
		case name == "-", !there && options != "":
			continue
		case !there:
			return within(name, errors.New("missing: a release must have it (docs/release-format.md)"))
		}
		err := decode(v.Field(i), x)
		if f := v.Field(i); err == nil && options != "" && f.CanFloat() && f.Float() <= 0 {
			err = fmt.Errorf("must be a positive number, not %v", f.Float())
		}
		if err != nil {
			return within(name, err)
		}
	}
	return nil
}

// abbreviate keeps a stray key from filling the screen.
func abbreviate(key string) string {
	const most = 60
	if len(key) > most {
		return strings.ToValidUTF8(key[:most], "") + "..."
	}
	return key
}
