package release

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
)

func (d *decoder) text() (string, error) {
	t, err := d.token()
	s, ok := t.(string)
	if err == nil && !ok {
		err = errors.New("must be a string")
	}
	return s, err
}

func (d *decoder) boolean() (bool, error) {
	t, err := d.token()
	b, ok := t.(bool)
	if err == nil && !ok {
		err = errors.New("must be true or false")
	}
	return b, err
}

func (d *decoder) number() (float64, error) {
	t, err := d.token()
	if err != nil {
		return 0, err
	}
	return toNumber(t)
}

func toNumber(t json.Token) (float64, error) {
	n, ok := t.(json.Number)
	if !ok {
		return 0, errors.New("must be a number")
	}
	x, err := strconv.ParseFloat(string(n), 64)
	if err != nil {
		return 0, errors.New("a number out of range")
	}
	return x, nil
}

// integer reads a whole number, in any notation: R writes 100000 as 1e+05.
func (d *decoder) integer() (int64, error) {
	x, err := d.number()
	switch {
	case err != nil:
		return 0, err
	case x != math.Trunc(x):
		return 0, errors.New("must be a whole number")
	case math.Abs(x) > maxN:
		return 0, errors.New("a number out of range")
	}
	return int64(x), nil
}

// positive reads an optional number that is zero in memory where it is absent.
func (d *decoder) positive() (float64, error) {
	x, err := d.number()
	if err == nil && x <= 0 {
		err = fmt.Errorf("must be a positive number, not %v", x)
	}
	return x, err
}

func (d *decoder) vector(dst *[]float64) error {
	return d.array(func() error { return appended(dst, d.number) })
}

// into reads a value to where it belongs.
func into[T any](dst *T, read func() (T, error)) func() error {
	return func() (err error) {
		*dst, err = read()
		return err
	}
}

func appended[T any](dst *[]T, read func() (T, error)) error {
	x, err := read()
	*dst = append(*dst, x)
	return err
}
