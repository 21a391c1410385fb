package release

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/dpreg/dpreg/schema"
)

// Read reads one release and checks it (see Validate). It is strict: unknown
// and repeated fields, a missing field, anything after the release, and more
// than 64 MiB are errors. Errors in a field are *FieldError.
func Read(r io.Reader) (*Release, error) {
	d := newDecoder(r)
	out := &Release{}
	err := d.release(out)
	if errors.Is(err, errUnknown) && out.Format == "" {
		// Most likely another kind of file, which this says better.
		return nil, within("format", checkFormat(""))
	}
	if err != nil {
		return nil, err
	}
	if err := d.end(); err != nil {
		return nil, err
	}
	if err := out.Validate(); err != nil {
		return nil, err
	}
	return out, nil
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

func (d *decoder) release(r *Release) error {
	return d.object([]field{
		{name: "format", hint: fmt.Sprintf("write \"format\": %q", Format), read: func() (err error) {
			if r.Format, err = d.text(); err != nil {
				return err
			}
			return checkFormat(r.Format)
		}},
		{name: "simulated", optional: true, read: into(&r.Simulated, d.boolean)},
		{name: "schema", hint: "the columns and their bounds stand here", read: func() error { return d.design(&r.Schema) }},
		{name: "privacy", optional: true, read: func() error {
			r.Privacy = &Privacy{}
			return d.privacy(r.Privacy)
		}},
		{name: "bounds", optional: true, read: func() error {
			r.Bounds = &Bounds{}
			return d.bounds(r.Bounds)
		}},
		{name: "n", hint: "the number of rows stands here", read: into(&r.N, d.integer)},
		{name: "n_noise", optional: true, read: into(&r.NNoise, d.positive)},
		{name: "noise", hint: "the law of the noise stands here, such as {\"kind\": \"laplace\", \"scale\": 5.5}", read: func() error { return d.noise(&r.Noise) }},
		{name: "statistics", hint: "the noisy sums stand here", read: func() error { return d.statistics(&r.Statistics) }},
		{name: "withheld", optional: true, read: func() error {
			return d.array(func() error { return appended(&r.Withheld, d.text) })
		}},
		{name: "moments", optional: true, read: func() error {
			r.Moments = &Moments{}
			return d.moments(r.Moments)
		}},
	})
}

func (d *decoder) design(s *schema.Design) error {
	return d.object([]field{
		{name: "response", hint: columnHint, read: func() error { return d.column(&s.Response) }},
		{name: "covariates", hint: "a list of " + columnHint, read: func() error {
			return d.array(func() error {
				var c schema.Column
				err := d.column(&c)
				s.Covariates = append(s.Covariates, c)
				return err
			})
		}},
		{name: "factors", optional: true, read: func() error {
			return d.array(func() error {
				var f schema.Factor
				err := d.factor(&f)
				s.Factors = append(s.Factors, f)
				return err
			})
		}},
		{name: "intercept", hint: "write true, or false for a model without one", read: into(&s.Intercept, d.boolean)},
	})
}

const columnHint = `{"name": ..., "lower": ..., "upper": ...}`

func (d *decoder) column(c *schema.Column) error {
	return d.object([]field{
		{name: "name", hint: "the column's name", read: into(&c.Name, d.text)},
		{name: "lower", hint: "the lower bound, in the data's units", read: into(&c.Lower, d.number)},
		{name: "upper", hint: "the upper bound, in the data's units", read: into(&c.Upper, d.number)},
		{name: "type", optional: true, read: func() (err error) {
			if c.Type, err = d.text(); err == nil && !c.Boolean() {
				err = fmt.Errorf("must be \"boolean\", or left out for numbers")
			}
			return err
		}},
		{name: "factor", optional: true, read: into(&c.Factor, d.text)},
		{name: "level", optional: true, read: into(&c.Level, d.text)},
	})
}

func (d *decoder) factor(f *schema.Factor) error {
	return d.object([]field{
		{name: "name", hint: "the factor's name", read: into(&f.Name, d.text)},
		{name: "levels", hint: "a list of the public levels, the baseline first", read: func() error {
			return d.array(func() error { return appended(&f.Levels, d.text) })
		}},
	})
}

func (d *decoder) privacy(p *Privacy) error {
	return d.object([]field{
		{name: "epsilon", hint: "a positive number; or leave \"privacy\" out altogether", read: into(&p.Epsilon, d.number)},
		{name: "delta", hint: "write 0 for pure epsilon", read: into(&p.Delta, d.number)},
		{name: "neighbours", hint: fmt.Sprintf("write %q or %q", ReplaceOne, AddRemove), read: func() error {
			s, err := d.text()
			p.Neighbours = Neighbours(s)
			return err
		}},
	})
}

func (d *decoder) bounds(b *Bounds) error {
	return d.object([]field{
		{name: "method", hint: fmt.Sprintf("write %q", AutoBounds), read: into(&b.Method, d.text)},
		{name: "epsilon", hint: "the part of privacy.epsilon that found the bounds", read: into(&b.Epsilon, d.number)},
		{name: "columns", hint: "a list, the names of the columns whose bounds were found", read: func() error {
			return d.array(func() error { return appended(&b.Columns, d.text) })
		}},
	})
}

func (d *decoder) noise(n *Noise) error {
	return d.object([]field{
		{name: "kind", hint: fmt.Sprintf("write %q or %q", Laplace, Gaussian), read: func() error {
			s, err := d.text()
			n.Kind = Kind(s)
			return err
		}},
		{name: "scale", hint: "b of Laplace noise, the standard deviation of Gaussian noise", read: into(&n.Scale, d.number)},
		{name: "sensitivity", optional: true, read: into(&n.Sensitivity, d.positive)},
		{name: "lattice", optional: true, read: into(&n.Lattice, d.positive)},
	})
}

func (d *decoder) moments(m *Moments) error {
	return d.object([]field{
		{name: "noise", hint: "the law of the noise on the moments", read: func() error { return d.noise(&m.Noise) }},
		{name: "exponents", hint: "a list, the exponents of the covariates in each monomial", read: func() error {
			return d.array(func() error {
				var e []int
				err := d.array(func() error {
					k, err := d.integer()
					e = append(e, int(k))
					return err
				})
				m.Exponents = append(m.Exponents, e)
				return err
			})
		}},
		{name: "sums", hint: "a list, the noisy sum of each monomial", read: func() error { return d.vector(&m.Sums) }},
	})
}

func (d *decoder) statistics(s *Statistics) error {
	return d.object([]field{
		{name: "sum_x", hint: "a list, one sum for each covariate", read: func() error { return d.vector(&s.SumX) }},
		{name: "sum_xx", hint: "the symmetric matrix of the covariates' products, a list of rows", read: func() error {
			return d.array(func() error {
				var row []float64
				err := d.vector(&row)
				s.SumXX = append(s.SumXX, row)
				return err
			})
		}},
		{name: "sum_y", hint: "the sum of the response", read: into(&s.SumY, d.number)},
		{name: "sum_xy", hint: "a list, the covariates' products with the response", read: func() error { return d.vector(&s.SumXY) }},
		{name: "sum_yy", hint: "the sum of the response's squares", read: func() error {
			t, err := d.token()
			if err != nil || t == nil {
				return err // null stays nil
			}
			yy, err := toNumber(t)
			s.SumYY = &yy
			return err
		}},
	})
}
