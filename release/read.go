package release

import (
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strconv"

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
	if info, err := f.Stat(); err == nil && info.Size() > maxBytes {
		return nil, fmt.Errorf("%s: %w", path, errTooLarge)
	}
	r, err := Read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}
