package table

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding"
	"github.com/parquet-go/parquet-go/format"
)

// leaf is the column of a Parquet file that a field reads.
type leaf struct {
	field    *field
	column   *parquet.Column
	kind     parquet.Kind
	unsigned bool
	scale    int // of a decimal: values are integers over 10^scale
}

// newLeaf checks that the cells of a column can be what the field wants. Texts are read
// as cells of comma-separated values are; a factor and a truth value may be integers.
func newLeaf(c *parquet.Column, f *field) (leaf, error) {
	if !c.Leaf() || c.Repeated() {
		return leaf{}, errors.New("it holds lists or groups in the file, not one value a row")
	}
	l := leaf{field: f, column: c, kind: c.Type().Kind()}
	exact := l.kind == parquet.Int32 || l.kind == parquet.Int64
	fits := l.kind == parquet.ByteArray || exact ||
		f.number() && (l.kind == parquet.Double || l.kind == parquet.Float) ||
		!f.number() && l.kind == parquet.Boolean
	if logical := c.Type().LogicalType(); logical != nil {
		switch t := logical.Value.(type) {
		case *format.IntType:
			l.unsigned = !t.IsSigned
		case *format.DecimalType:
			l.scale = int(t.Scale)
			fits = exact && f.number()
		case *format.StringType, *format.EnumType, nil:
		default:
			fits = false
		}
	}
	if !fits {
		want := "numbers"
		if f.boolean {
			want = "truth values"
		} else if f.levels != nil {
			want = "levels of a factor"
		}
		return leaf{}, fmt.Errorf("it is of type %v in the file, and %s are wanted: cast it there, or correct the schema", c.Type(), want)
	}
	return l, nil
}

// cells are those of a column in a row group, a page at a time.
type cells struct {
	*leaf
	layout *layout
	pages  *pages

	decoded
	next int // cell

	entries decoded // of the dictionary

	own, spread decoded // memory that is used again
}

// ready reads pages until there is a cell.
func (c *cells) ready() error {
	for c.next == len(c.values) {
		p, err := c.pages.next()
		if err != nil {
			return err
		}
		c.next, c.decoded = 0, c.decode(p)
	}
	return nil
}

// decode gives the cells of a page.
func (c *cells) decode(p page) decoded {
	d := &c.own
	d.clear()
	switch {
	case p.n == 0:
	case !p.indexed:
		d = c.plain(d, p.values, p.n)
	default:
		if c.entries.values == nil {
			c.entries = *c.plain(&decoded{}, c.pages.dictionary.values, c.pages.dictionary.n)
		}
		for _, i := range p.values.Int32()[:p.n] {
			d.add(c.entries.at(int(i)))
		}
	}
	if p.levels == nil {
		return *d
	}
	c.spread.clear()
	i := 0
	for _, level := range p.levels {
		if level == 0 {
			c.spread.add(0, ErrMissing)
			continue
		}
		c.spread.add(d.at(i))
		i++
	}
	return c.spread
}

// plain decodes n values of a page or of a dictionary, into d where they cannot stay
// where they are.
func (c *cells) plain(d *decoded, data encoding.Values, n int) *decoded {
	if c.kind == parquet.Double && c.layout.absent == nil && finite(data.Double()[:n]) {
		return &decoded{values: data.Double()[:n]}
	}
	switch {
	case c.kind == parquet.Double:
		for _, v := range data.Double()[:n] {
			d.add(c.number(v))
		}
	case c.kind == parquet.Float:
		for _, v := range data.Float()[:n] {
			d.add(c.number(float64(v)))
		}
	case c.kind == parquet.Int32 && c.unsigned:
		for _, v := range data.Uint32()[:n] {
			d.add(c.integer(int64(v)))
		}
	case c.kind == parquet.Int32:
		for _, v := range data.Int32()[:n] {
			d.add(c.integer(int64(v)))
		}
	case c.kind == parquet.Int64 && c.unsigned:
		for _, v := range data.Uint64()[:n] {
			d.add(c.field.parse(strconv.FormatUint(v, 10), &c.layout.options))
		}
	case c.kind == parquet.Int64:
		for _, v := range data.Int64()[:n] {
			d.add(c.integer(v))
		}
	case c.kind == parquet.Boolean:
		bits := data.Boolean()
		for i := range n {
			d.add(c.field.parse(strconv.FormatBool(bits[i/8]>>(i%8)&1 == 1), &c.layout.options))
		}
	default:
		text, ends := data.ByteArray()
		for i := range n {
			d.add(c.field.parse(string(text[ends[i]:ends[i+1]]), &c.layout.options))
		}
	}
	return d
}

var errFinite = errors.New("a cell is not a finite number")

// number is a cell that holds one: it must be finite, and may mean missing.
func (c *cells) number(v float64) (float64, error) {
	switch {
	case v-v != 0:
		return 0, errFinite
	case slices.Contains(c.layout.absent, v):
		return 0, ErrMissing
	}
	return v, nil
}

// integer is a cell that holds one: as a number, over 10^scale, or as text.
func (c *cells) integer(v int64) (float64, error) {
	switch {
	case !c.field.number():
		return c.field.parse(strconv.FormatInt(v, 10), &c.layout.options)
	case c.scale == 0:
		return c.number(float64(v))
	}
	quotient, err := parseNumber(fmt.Sprintf("%de-%d", v, c.scale))
	if err != nil {
		return 0, err
	}
	return c.number(quotient)
}

func finite(values []float64) bool {
	for _, v := range values {
		if v-v != 0 { // NaN of NaN and of infinities
			return false
		}
	}
	return true
}

// decoded are cells as field.parse returns them; errs is nil where all are nil.
type decoded struct {
	values []float64
	errs   []error
}

func (d *decoded) clear() { d.values, d.errs = d.values[:0], nil }

func (d *decoded) at(i int) (v float64, err error) {
	if d.errs != nil {
		err = d.errs[i]
	}
	return d.values[i], err
}

func (d *decoded) add(v float64, err error) {
	if err != nil && d.errs == nil {
		d.errs = make([]error, len(d.values))
	}
	d.values = append(d.values, v)
	if d.errs != nil {
		d.errs = append(d.errs, err)
	}
}
