package saved

import (
	"io"
	"reflect"

	"github.com/parquet-go/parquet-go"

	"github.com/dpreg/dpreg/posterior"
)

// ordered is a group whose fields stay in their order.
type ordered struct {
	parquet.Group
	fields []parquet.Field
}

func (o ordered) Fields() []parquet.Field { return o.fields }

// field is a column of some name.
type field struct {
	parquet.Node
	name string
}

func (f field) Name() string { return f.name }

// Value is of structs, which draws are not written from.
func (f field) Value(base reflect.Value) reflect.Value { return base }

// The columns that R's package saved knows draws by.
var drawColumns = []string{".chain", ".iteration", ".draw"}

// WriteParquet writes all draws as one table: a row for each, with the numbers from 1 of its chain,
// of it in the chain and of it in all, then the parameters, under d's Labels or Stan's names, in
// the order of Names.
func WriteParquet(w io.Writer, d *posterior.Draws) error {
	labels := d.Labels
	if labels == nil {
		labels = posterior.StanNames(d.Names)
	}
	all := ordered{Group: parquet.Group{}}
	add := func(name string, of parquet.Node) {
		all.Group[name] = of
		all.fields = append(all.fields, field{of, name})
	}
	for _, name := range drawColumns {
		add(name, parquet.Int(32))
	}
	for _, name := range labels {
		add(name, parquet.Leaf(parquet.DoubleType))
	}
	out := parquet.NewWriter(w, parquet.NewSchema("draws", all))
	row, count := make(parquet.Row, len(all.fields)), 0
	for c, chain := range d.Chains {
		for i := range d.NumDraws() {
			count++
			for k, v := range []int{c + 1, i + 1, count} {
				row[k] = parquet.Int32Value(int32(v)).Level(0, 0, k)
			}
			for j := range d.Names {
				k := len(drawColumns) + j
				row[k] = parquet.DoubleValue(chain[i*len(d.Names)+j]).Level(0, 0, k)
			}
			if _, err := out.WriteRows([]parquet.Row{row}); err != nil {
				return err
			}
		}
	}
	return out.Close()
}
