package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// maxDepth bounds how deep a schema file may nest.
const maxDepth = 64

// decodeTree reads one JSON value into maps, slices, strings, json.Number, bools
// and nil. Unlike encoding/json into structs it refuses keys that stand twice and
// tells apart keys that differ in case, so that a file cannot mean two things to
// two readers. Errors give the line and never repeat the text: the file may have
// been taken for a schema by mistake, and be the data.
func decodeTree(text []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	t := treeReader{Decoder: d, text: text}
	v, err := t.value(0)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, t.at("something follows the end of the JSON value")
	}
	return v, nil
}

type treeReader struct {
	*json.Decoder
	text []byte
}

// at is an error with the line that has been reached.
func (t treeReader) at(format string, args ...any) error {
	line := 1 + bytes.Count(t.text[:t.InputOffset()], []byte("\n"))
	return fmt.Errorf("line %d: %s", line, fmt.Sprintf(format, args...))
}

// token reads a token; where there is none, the text is no JSON.
func (t treeReader) token() (json.Token, error) {
	token, err := t.Token()
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, errors.New("not valid JSON: it ends too early")
	}
	if err != nil {
		return nil, t.at("not valid JSON")
	}
	return token, nil
}

func (t treeReader) value(depth int) (any, error) {
	if depth > maxDepth {
		return nil, t.at("nested deeper than %d levels", maxDepth)
	}
	token, err := t.token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		return t.object(depth)
	case json.Delim('['):
		return t.array(depth)
	}
	return token, nil
}

func (t treeReader) object(depth int) (any, error) {
	object := make(map[string]any)
	for t.More() {
		token, err := t.token()
		if err != nil {
			return nil, err
		}
		key, ok := token.(string)
		if !ok {
			return nil, t.at("not valid JSON")
		}
		if _, ok := object[key]; ok {
			return nil, t.at("a key stands twice in one object")
		}
		if object[key], err = t.value(depth + 1); err != nil {
			return nil, err
		}
	}
	_, err := t.token()
	return object, err
}

func (t treeReader) array(depth int) (any, error) {
	array := []any{}
	for t.More() {
		v, err := t.value(depth + 1)
		if err != nil {
			return nil, err
		}
		array = append(array, v)
	}
	_, err := t.token()
	return array, err
}
