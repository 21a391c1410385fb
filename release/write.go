package release

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/dpreg/dpreg/internal/files"
)

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
