package release

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"github.com/dpreg/dpreg/schema"
)

// WriteTo writes the release as indented JSON, keys in a fixed order and
// every number in the shortest form that reads back as the same float64, so
// that writing what was read gives the same bytes. A release that Validate
// refuses is not written.
func (r *Release) WriteTo(w io.Writer) (int64, error) {
	if err := r.Validate(); err != nil {
		return 0, fmt.Errorf("release not written: %w", err)
	}
	var p printer
	p.release(r)
	if p.Len() > maxBytes {
		return 0, fmt.Errorf("release not written: %d columns make it %w", r.Dim(), errTooLarge)
	}
	return p.WriteTo(w)
}

// printer lays the file out by hand: encoding/json would give every number of
// a matrix a line of its own.
type printer struct{ bytes.Buffer }

func (p *printer) release(r *Release) {
	p.WriteString("{\n  \"format\": ")
	p.text(r.Format)
	if r.Simulated {
		p.WriteString(",\n  \"simulated\": true")
	}
	p.design(&r.Schema)
	if r.Privacy != nil {
		p.WriteString(",\n  \"privacy\": {\"epsilon\": ")
		p.number(r.Privacy.Epsilon)
		p.WriteString(", \"delta\": ")
		p.number(r.Privacy.Delta)
		p.WriteString(", \"neighbours\": ")
		p.text(string(r.Privacy.Neighbours))
		p.WriteString("}")
	}
	p.bounds(r.Bounds)
	p.WriteString(",\n  \"n\": " + strconv.FormatInt(r.N, 10))
	p.optional(",\n  \"n_noise\": ", r.NNoise)
	p.WriteString(",\n  \"noise\": ")
	p.noise(r.Noise)
	p.statistics(&r.Statistics)
	if len(r.Withheld) > 0 {
		p.WriteString(",\n  \"withheld\": [\"" + WithheldYY + "\"]")
	}
	p.moments(r.Moments)
	p.WriteString("\n}\n")
}

func (p *printer) bounds(b *Bounds) {
	if b == nil {
		return
	}
	p.WriteString(",\n  \"bounds\": {\"method\": ")
	p.text(b.Method)
	p.WriteString(", \"epsilon\": ")
	p.number(b.Epsilon)
	p.WriteString(", \"columns\": [")
	for i, name := range b.Columns {
		p.item(i, "")
		p.text(name)
	}
	p.WriteString("]}")
}

func (p *printer) design(d *schema.Design) {
	p.WriteString(",\n  \"schema\": {\n    \"response\": ")
	p.column(d.Response)
	p.WriteString(",\n    \"covariates\": [")
	for j, c := range d.Covariates {
		p.item(j, "\n      ")
		p.column(c)
	}
	p.WriteString("\n    ],")
	p.factors(d.Factors)
	p.WriteString("\n    \"intercept\": " + strconv.FormatBool(d.Intercept) + "\n  }")
}

func (p *printer) factors(factors []schema.Factor) {
	if len(factors) == 0 {
		return
	}
	p.WriteString("\n    \"factors\": [")
	for i, f := range factors {
		p.item(i, "\n      ")
		p.WriteString("{\"name\": ")
		p.text(f.Name)
		p.WriteString(", \"levels\": [")
		for k, level := range f.Levels {
			p.item(k, "")
			p.text(level)
		}
		p.WriteString("]}")
	}
	p.WriteString("\n    ],")
}

func (p *printer) column(c schema.Column) {
	p.WriteString("{\"name\": ")
	p.text(c.Name)
	p.WriteString(", \"lower\": ")
	p.number(c.Lower)
	p.WriteString(", \"upper\": ")
	p.number(c.Upper)
	p.word(", \"type\": ", c.Type)
	p.word(", \"factor\": ", c.Factor)
	p.word(", \"level\": ", c.Level)
	p.WriteString("}")
}

func (p *printer) statistics(s *Statistics) {
	p.WriteString(",\n  \"statistics\": {\n    \"sum_x\": ")
	p.vector(s.SumX)
	p.WriteString(",\n    \"sum_xx\": [")
	for j, row := range s.SumXX {
		p.item(j, "\n      ")
		p.vector(row)
	}
	p.WriteString("\n    ],\n    \"sum_y\": ")
	p.number(s.SumY)
	p.WriteString(",\n    \"sum_xy\": ")
	p.vector(s.SumXY)
	p.WriteString(",\n    \"sum_yy\": ")
	if s.SumYY == nil {
		p.WriteString("null")
	} else {
		p.number(*s.SumYY)
	}
	p.WriteString("\n  }")
}

func (p *printer) noise(n Noise) {
	p.WriteString("{\"kind\": ")
	p.text(string(n.Kind))
	p.WriteString(", \"scale\": ")
	p.number(n.Scale)
	p.optional(", \"sensitivity\": ", n.Sensitivity)
	p.optional(", \"lattice\": ", n.Lattice)
	p.WriteString("}")
}

func (p *printer) moments(m *Moments) {
	if m == nil {
		return
	}
	p.WriteString(",\n  \"moments\": {\n    \"noise\": ")
	p.noise(m.Noise)
	p.WriteString(",\n    \"exponents\": [")
	for i, e := range m.Exponents {
		p.item(i, "")
		p.WriteByte('[')
		for j, k := range e {
			p.item(j, "")
			p.WriteString(strconv.Itoa(k))
		}
		p.WriteByte(']')
	}
	p.WriteString("],\n    \"sums\": ")
	p.vector(m.Sums)
	p.WriteString("\n  }")
}

func (p *printer) vector(v []float64) {
	p.WriteByte('[')
	for j, x := range v {
		p.item(j, "")
		p.number(x)
	}
	p.WriteByte(']')
}

// item begins item j of a list: a comma after the one before, then the break
// between lines, or a space where there is none.
func (p *printer) item(j int, brk string) {
	if j > 0 {
		p.WriteByte(',')
		if brk == "" {
			p.WriteByte(' ')
		}
	}
	p.WriteString(brk)
}

// optional writes a number that is zero where the file does not state it.
func (p *printer) optional(key string, x float64) {
	if x != 0 {
		p.WriteString(key)
		p.number(x)
	}
}

// word writes a text that is empty where the file does not state it.
func (p *printer) word(key, s string) {
	if s != "" {
		p.WriteString(key)
		p.text(s)
	}
}

func (p *printer) number(x float64) {
	b, err := json.Marshal(x)
	if err != nil {
		panic(err) // not finite: Validate came first
	}
	p.Write(b)
}

func (p *printer) text(s string) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic(err) // a string always has its JSON
	}
	p.Write(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}
