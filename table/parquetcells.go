package table

import (
	"bytes"
	"strconv"

	"github.com/parquet-go/parquet-go/encoding"
	"github.com/parquet-go/parquet-go/format"
)

// leaf is the column of a Parquet file that a field reads.
type leaf struct {
	field    *field
	column   *parquetColumn
	unsigned bool
	scale    int // of a decimal
}

// newLeaf checks that the cells of a column can be what the field wants. Texts are read
// as cells of comma-separated values are; a factor and a truth value may be integers.
func newLeaf(c *parquetColumn, f *field) (leaf, error) {
	if !c.Type.Valid || c.repeats(format.Repeated) {
		return leaf{}, errNotCells
	}
	l, kind := leaf{field: f, column: c}, c.Type.V
	text, exact := kind == format.ByteArray, kind == format.Int32 || kind == format.Int64
	fits := text || exact ||
		f.numeric() && (kind == format.Double || kind == format.Float) ||
		!f.number() && kind == format.Boolean
	switch t := c.meaning().(type) {
	case format.Type:
	case *format.IntType:
		l.unsigned, fits = !t.IsSigned, exact
	case *format.DecimalType:
		l.scale, fits = int(t.Scale), exact && f.numeric()
	case *format.StringType, *format.EnumType:
		fits = text
	case *format.ListType, *format.MapType: // of one value
		return leaf{}, errPage
	default:
		fits = false
	}
	if !fits {
		return leaf{}, f.ofType(c.meaning())
	}
	return l, nil
}

// pagedCells are those of a column in a row group, a page at a time; at most window of a
// page are at hand.
type pagedCells struct {
	cells
	leaf  *leaf
	pages *pages

	page       page // the last one that was read
	cell, used int  // of the page: cells decoded so far, and values among them

	entries decoded // of the dictionary

	own, spread decoded // memory that is used again
}

// window is how many cells are decoded at a time: a page may claim many in a few bytes.
const window = 1 << 14

// ready decodes more cells, and reads pages until there is one, where none is at hand.
func (c *pagedCells) ready() (err error) {
	for c.next == len(c.values) {
		if c.cell == c.page.cells {
			c.cell, c.used = 0, 0
			if c.page, err = c.pages.next(); err != nil {
				return err
			}
		}
		c.next, c.decoded = 0, c.decode(&c.page, min(c.page.cells-c.cell, window))
	}
	return nil
}

// decode gives the next n cells of a page.
func (c *pagedCells) decode(p *page, n int) decoded {
	d, from, to := &c.own, c.used, c.used+n
	var marks []byte
	if p.levels != nil {
		marks = p.levels[c.cell : c.cell+n]
		to -= bytes.Count(marks, []byte{0})
	}
	c.cell, c.used = c.cell+n, to
	d.clear()
	switch {
	case from == to:
	case !p.indexed:
		d = c.plain(d, p.values, from, to)
	default:
		if c.entries.values == nil {
			c.entries = *c.plain(&decoded{}, c.pages.dictionary.values, 0, c.pages.dictionary.n)
		}
		for _, i := range p.values.Int32()[from:to] {
			d.add(c.entries.at(int(i)))
		}
	}
	if marks == nil {
		return *d
	}
	c.spread.clear()
	i := 0
	for _, level := range marks {
		if level == 0 {
			c.spread.add(0, ErrMissing)
			continue
		}
		c.spread.add(d.at(i))
		i++
	}
	return c.spread
}

// plain decodes values of a page or of a dictionary, into d where they cannot stay
// where they are.
func (c *pagedCells) plain(d *decoded, data encoding.Values, from, to int) *decoded {
	kind, unsigned := c.leaf.column.Type.V, c.leaf.unsigned
	if kind == format.Double && c.field.number() && c.layout.absent == nil && finite(data.Double()[from:to]) {
		return &decoded{values: data.Double()[from:to]}
	}
	switch {
	case kind == format.Double:
		add(d, data.Double()[from:to], c.number)
	case kind == format.Float:
		add(d, data.Float()[from:to], func(v float32) (float64, error) { return c.number(float64(v)) })
	case kind == format.Int32 && unsigned:
		add(d, data.Uint32()[from:to], func(v uint32) (float64, error) { return c.integer(int64(v)) })
	case kind == format.Int32:
		add(d, data.Int32()[from:to], func(v int32) (float64, error) { return c.integer(int64(v)) })
	case kind == format.Int64 && unsigned:
		add(d, data.Uint64()[from:to], func(v uint64) (float64, error) { return c.text(strconv.FormatUint(v, 10)) })
	case kind == format.Int64:
		add(d, data.Int64()[from:to], c.integer)
	case kind == format.Boolean:
		bits := data.Boolean()
		for i := from; i < to; i++ {
			d.add(c.text(strconv.FormatBool(bits[i/8]>>(i%8)&1 == 1)))
		}
	default:
		text, ends := data.ByteArray()
		for i := from; i < to; i++ {
			d.add(c.text(string(text[ends[i]:ends[i+1]])))
		}
	}
	return d
}

// add adds cells as what reads them returns them.
func add[T any](d *decoded, cells []T, read func(T) (float64, error)) {
	for _, cell := range cells {
		d.add(read(cell))
	}
}
