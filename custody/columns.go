package custody

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/dpreg/dpreg/schema"
)

// ReadSchema reads the schema file at path or, where that is empty, the one beside the rows,
// if it is there; s is nil where there is none. from is the file that was read.
func ReadSchema(path, beside string) (s *schema.Schema, from string, err error) {
	if path == "" {
		path = beside
		if _, err := os.Stat(path); path == "" || errors.Is(err, fs.ErrNotExist) {
			return nil, "", nil
		}
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, "", Misuse(err)
	}
	defer file.Close()
	s, err = schema.ReadSchema(file, path)
	return s, path, Misuse(err)
}

// Columns gives the columns that the rows called data have, all, with their public bounds:
// those of the schema that was read from a file, if it is not nil, and over them bounds. Where
// there is a schema, columns that it leaves out are not used unless bounds names them. say, if
// not nil, is told so.
func Columns(all, described *schema.Schema, bounds schema.Bounds, data, from string, say func(text string)) (*schema.Schema, error) {
	if described != nil {
		var err error
		if all, err = merge(all, described, bounds, data, from, say); err != nil {
			return nil, err
		}
	}
	all, err := all.WithBounds(bounds)
	if err != nil {
		return nil, Misusef("--%w", err)
	}
	return all, nil
}

// merge gives the columns in the rows' order with the schema's bounds.
func merge(all, described *schema.Schema, bounds schema.Bounds, data, from string, say func(text string)) (*schema.Schema, error) {
	for _, c := range described.Columns {
		if all.Index(c.Name) < 0 {
			return nil, Misusef("%s: it describes a column %q, which %s does not have; correct the name, or delete the field", from, c.Name, data)
		}
	}
	bounded := func(name string) bool {
		return slices.ContainsFunc(bounds, func(c schema.Column) bool { return c.Name == name })
	}
	out := &schema.Schema{}
	var left []string
	for _, c := range all.Columns {
		switch i := described.Index(c.Name); {
		case i >= 0:
			out.Columns = append(out.Columns, described.Columns[i])
		case bounded(c.Name):
			out.Columns = append(out.Columns, c)
		default:
			left = append(left, fmt.Sprintf("%q", c.Name))
		}
	}
	if say != nil {
		say("bounds from " + from)
		if left != nil {
			say("columns that it does not describe are left out: " + strings.Join(left, ", "))
		}
	}
	return out, nil
}
