package table

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/schema"
)

// A table without rows is an error by every way of reading it, unless Options.Empty; one
// without a header always is.
func TestEmpty(t *testing.T) {
	d := &schema.Design{
		Covariates: []schema.Column{{Name: "x", Lower: 0, Upper: 1}},
		Response:   schema.Column{Name: "y", Lower: 0, Upper: 1},
		Intercept:  true,
	}
	for _, c := range []struct {
		text  string
		empty bool
		says  string
	}{{"x,y\n", true, ""}, {"x,y\n", false, "there are no rows"}, {"", true, "first line"}} {
		o := Options{Empty: c.empty}
		path := filepath.Join(t.TempDir(), "data.csv")
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		source, err := Find(path)
		if err != nil {
			t.Fatal(err)
		}
		sink := func(rows []float64) error { t.Errorf("%q: rows %v", c.text, rows); return nil }
		for way, read := range map[string]func() error{
			"CSV": func() (err error) {
				for _, err = range o.CSV(strings.NewReader(c.text), "data.csv", d) {
				}
				return err
			},
			"Columns": func() error {
				_, rows, err := o.Columns(strings.NewReader(c.text), "data.csv", d.Columns(), nil)
				if err != nil {
					return err
				}
				for _, err = range rows {
				}
				return err
			},
			"Rows": func() (err error) {
				for _, err = range o.Rows(source, d) {
				}
				return err
			},
			"Scan": func() error { return o.Scan(context.Background(), source, d, sink, sink) },
		} {
			switch err := read(); {
			case c.says == "" && err != nil:
				t.Errorf("%s of %q: %v", way, c.text, err)
			case c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)):
				t.Errorf("%s of %q: error %v does not say %q", way, c.text, err, c.says)
			}
		}
	}
}
