package release

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/dpreg/dpreg/internal/files"
	"github.com/dpreg/dpreg/internal/jsontree"
)

const (
	// maxBytes bounds the size of a release. A release of a thousand columns,
	// the matrix written whole in full precision, has about 25 MB.
	maxBytes = 64 << 20
	// maxArray bounds an array: a square matrix of more rows than this would
	// not fit in maxBytes.
	maxArray = 8192
)

var errTooLarge = fmt.Errorf("larger than the %d MiB that a release may have", maxBytes>>20)

// Read reads one release and checks it (see Validate). It is strict: unknown
// and repeated fields, a missing field, anything after the release, and more
// than 64 MiB are errors. Errors in a field are *FieldError.
func Read(r io.Reader) (*Release, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxBytes+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > maxBytes:
		return nil, errTooLarge
	}
	tree, err := jsontree.Decode(text)
	if err != nil {
		return nil, syntax(err)
	}
	// Of another kind of file, or a later version, nothing else that is wrong is told.
	object, _ := tree.(map[string]any)
	if format, ok := object["format"].(string); object != nil && (ok || object["format"] == nil) {
		if err := within("format", checkFormat(format)); err != nil {
			return nil, err
		}
	}
	out := &Release{}
	if err := decode(reflect.ValueOf(out).Elem(), tree); err != nil {
		return nil, err
	}
	out.takeCoding()
	if err := out.Validate(); err != nil {
		return nil, err
	}
	return out, nil
}

// syntax puts the path in front of what is wrong with the JSON.
func syntax(err error) error {
	var e *jsontree.Error
	if !errors.As(err, &e) {
		return err
	}
	err = fmt.Errorf("%w (line %d)", e.Err, e.Line)
	for p := e.Pointer; p != ""; p = p.Parent() {
		segment := p.LastToken()
		if _, no := strconv.ParseUint(segment, 10, 64); no == nil {
			segment = "[" + segment + "]"
		}
		err = within(abbreviate(segment), err)
	}
	return err
}

// ReadFile reads the release in a file. Errors name the file.
func ReadFile(path string) (*Release, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("release: %w", err)
	}
	defer f.Close()
	r, err := Read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// decode sets v to a JSON value, as the json tags of its structs say, and is stricter than
// the library: a field that is not tagged omitzero must be there; null is a value only of
// a pointer to a number; a whole number may have any notation (R writes 100000 as
// 1e+05); what may be left out is not there where it is 0 or empty, and a number positive.
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
			return within(name, errors.New("missing; docs/release-format.md says what stands here"))
		}
		err := decode(v.Field(i), x)
		switch f := v.Field(i); {
		case err != nil:
		case options != "" && f.CanFloat() && f.Float() <= 0:
			err = fmt.Errorf("must be a positive number, not %v: leave it out where there is none", f.Float())
		case options != "" && f.Kind() != reflect.Bool && f.IsZero(): // as of an empty array
			err = errors.New("must not be 0 or empty: leave it out where there is none")
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

// WriteTo writes the release as indented JSON, keys in a fixed order and
// every number in the shortest form that reads back as the same float64, so
// that writing what was read gives the same bytes. A release that Validate
// refuses is not written.
func (r *Release) WriteTo(w io.Writer) (int64, error) {
	if err := r.Validate(); err != nil {
		return 0, fmt.Errorf("release not written: %w", err)
	}
	text, err := json.Marshal(r, jsontext.SpaceAfterColon(true), jsontext.SpaceAfterComma(true))
	if err != nil {
		return 0, fmt.Errorf("release not written: %w", err)
	}
	var b bytes.Buffer
	if err := lines(&b, jsontext.NewDecoder(bytes.NewReader(text)), "", ""); err != nil {
		return 0, fmt.Errorf("release not written: %w", err)
	}
	b.WriteByte('\n')
	if b.Len() > maxBytes {
		return 0, fmt.Errorf("release not written: %d columns make it %w", r.Dim(), errTooLarge)
	}
	return b.WriteTo(w)
}

// Fits reports an error where a release of m columns and so many looks in frames could be
// larger than a file may be: who orders one asks before it is paid for.
func Fits(m, looks int) error {
	const number, other = len(", -1.2345678901234567e-308"), 1 << 20
	if looks*number*(m*m+Length(m))+other > maxBytes {
		return fmt.Errorf("%d looks at %d columns could make a release %w: take fewer looks, or fewer columns", looks, m, errTooLarge)
	}
	return nil
}

// WriteFile writes the release to a file, mode 0644, all or nothing (files.Write). Only a
// process that is killed can leave what files.Leftovers finds.
func (r *Release) WriteFile(path string) error { return r.place(path, os.Rename) }

// WriteNewFile is WriteFile for a target that must not exist: of several
// writers at once one succeeds, and the others get an error that wraps
// fs.ErrExist and have written nothing, however close the race. A release that
// was paid for is so never overwritten by another.
func (r *Release) WriteNewFile(path string) error { return r.place(path, files.MoveNew) }

func (r *Release) place(path string, move func(from, to string) error) error {
	return files.Place(path, 0o644, move, func(w io.Writer) error {
		_, err := r.WriteTo(w)
		return err
	})
}

// tall are the objects and arrays that have a line for each member, of a release and of a
// step. The others have one for all: the library's own indentation would give every number
// of a matrix a line.
var tall = map[string]bool{
	"/schema": true, "/schema/covariates": true, "/schema/factors": true,
	"/levels": true, "/levels/sums": true,
	"/statistics": true, "/statistics/sum_xx": true,
	"/frame": true, "/frame/matrix": true,
	"/steps": true, "": true,
	"/moments": true,
}

// lines lays out the object or array that comes next, at a path: a member a line.
func lines(b *bytes.Buffer, d *jsontext.Decoder, indent, path string) error {
	open, err := d.ReadToken()
	if err != nil {
		return err
	}
	b.WriteString(open.String())
	for i := 0; d.PeekKind() != '}' && d.PeekKind() != ']'; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString("\n  " + indent)
		below := path + "/-" // of an array
		if open.Kind() == '{' {
			name, err := d.ReadValue()
			if err != nil {
				return err
			}
			b.Write(name)
			b.WriteString(": ")
			below = path + "/" + strings.Trim(string(name), `"`)
		}
		if tall[strings.TrimPrefix(below, "/steps/-")] {
			err = lines(b, d, indent+"  ", below)
		} else {
			var v jsontext.Value
			v, err = d.ReadValue()
			b.Write(v)
		}
		if err != nil {
			return err
		}
	}
	end, err := d.ReadToken()
	b.WriteString("\n" + indent + end.String())
	return err
}
