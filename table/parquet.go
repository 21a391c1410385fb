package table

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// parquetFile is an open Parquet file.
type parquetFile struct {
	file     *os.File
	size     int64
	metadata format.FileMetaData
	columns  []parquetColumn
}

var errParquet = errors.New("this is no Parquet file, or it is cut off, or written in a way that is not known")

// open reads the footer, and checks that all row groups have all columns, and all rows.
func (f *parquetFile) open(file *os.File, length int64) (names []string, err error) {
	f.file, f.size = file, length
	head, tail := make([]byte, 4), make([]byte, 8) // PAR1; the footer's length and PAR1
	if _, err := file.ReadAt(head, 0); err != nil {
		return nil, err
	}
	if _, err := file.ReadAt(tail, f.size-8); err != nil {
		return nil, err
	}
	if string(head) != "PAR1" || string(tail[4:]) != "PAR1" {
		return nil, errParquet
	}
	size := int64(binary.LittleEndian.Uint32(tail))
	if size > min(maxFooter, f.size-8) {
		return nil, errParquet
	}
	footer := make([]byte, size)
	if _, err := file.ReadAt(footer, f.size-8-size); err != nil {
		return nil, err
	}
	(&thriftWalk{len(footer) / 4}).structure(footer, 0)
	if err := thrift.Unmarshal(&thrift.CompactProtocol{}, footer, &f.metadata); err != nil {
		return nil, err
	}
	var leaves int
	f.columns, leaves = treeColumns(f.metadata.Schema)
	rows := f.metadata.NumRows
	for _, g := range f.metadata.RowGroups {
		if len(g.Columns) != leaves || g.NumRows < 0 {
			return nil, errParquet
		}
		rows -= g.NumRows
	}
	if rows != 0 {
		return nil, errParquet
	}
	if f.joined(f.size - 8 - size) {
		return nil, errJoined
	}
	for _, c := range f.columns {
		names = append(names, c.Name)
	}
	return names, nil
}

// joined tells whether a file ends, and another begins, between the last page that the footer tells of
// and the footer. Filters and indexes may be there, and what some writers repeat.
func (f *parquetFile) joined(footer int64) bool {
	var last int64
	for _, g := range f.metadata.RowGroups {
		for i := range g.Columns {
			c := &g.Columns[i].MetaData
			start := c.DataPageOffset
			if c.DictionaryPageOffset > 0 {
				start = min(start, c.DictionaryPageOffset)
			}
			last = max(last, start+c.TotalCompressedSize)
		}
	}
	between := make([]byte, max(0, min(footer-last, maxFooter)))
	n, _ := f.file.ReadAt(between, last)
	return bytes.Contains(between[:n], []byte("PAR1PAR1"))
}

// parquetRows reads the rows of a Parquet file, of which parts are row groups.
type parquetRows struct {
	*parquetFile
	layout   *layout
	leaves   []leaf  // of each field
	before   []int64 // rows before each group
	progress func(bytes int64)
	taken    int // row groups
}

func (f *parquetFile) rows(l *layout, progress func(bytes int64)) (rowsFile, error) {
	rows := &parquetRows{parquetFile: f, layout: l, progress: progress}
	for i := range l.fields {
		field := &l.fields[i]
		var leaf leaf
		if err := soundly(func() (err error) {
			leaf, err = newLeaf(&f.columns[field.place], field)
			return err
		}); err != nil {
			return nil, &Error{File: l.name, Column: field.label, Err: err}
		}
		rows.leaves = append(rows.leaves, leaf)
	}
	var n int64
	for _, group := range f.metadata.RowGroups {
		rows.before = append(rows.before, n)
		n += group.NumRows
	}
	return rows, nil
}

func (f *parquetRows) next(*worker) error {
	if f.taken == len(f.before) {
		return io.EOF
	}
	f.taken++
	return nil
}

// parse reads a row group: some rows at a time, from the pages of its columns.
func (f *parquetRows) parse(w *worker, part int) error {
	group := &f.metadata.RowGroups[part]
	paged, columns, free := make([]*pagedCells, len(f.leaves)), make([]*cells, len(f.leaves)), maxHeld
	for i := range paged {
		leaf := &f.leaves[i]
		paged[i] = &pagedCells{
			cells: cells{field: leaf.field, layout: f.layout, scale: leaf.scale},
			leaf:  leaf,
			pages: newPages(f.parquetFile, leaf.column, group, &free),
		}
		columns[i] = &paged[i].cells
	}
	line, after := f.before[part]+1, f.before[part]+1+group.NumRows
	for line < after {
		n := after - line
		for _, c := range paged {
			if err := soundly(c.ready); err != nil {
				if err != errLargePage {
					err = errPage
				}
				err = fmt.Errorf("row group %d: %w", part+1, err)
				return cmp.Or(w.flush(), error(&Error{f.layout.name, int(line), c.field.label, err}))
			}
			n = min(n, int64(len(c.values)-c.next))
		}
		took, err := w.columns(f.layout, columns, int(min(n, batch)), int(line))
		if err != nil {
			return err
		}
		line += int64(took)
	}
	f.progress(f.size*int64(part+1)/int64(len(f.before)) - f.size*int64(part)/int64(len(f.before)))
	return w.flush()
}

// parquetColumn is a column of a Parquet file's rows: one value, a list or a group.
type parquetColumn struct {
	*format.SchemaElement
	place int // of its first value, in a row group
}

// treeColumns walks the tree of what a file's rows hold, which stands depth first, and also returns how many leaves
// it has. It panics where the tree is cut off.
func treeColumns(tree []format.SchemaElement) (columns []parquetColumn, leaves int) {
	children := func(i int) int {
		if tree[i].Type.Valid {
			return 0
		}
		return int(tree[i].NumChildren.V)
	}
	at := 1
	for range children(0) {
		columns = append(columns, parquetColumn{&tree[at], leaves})
		for open := 1; open > 0; at++ {
			if open += children(at) - 1; tree[at].Type.Valid {
				leaves++
			}
		}
	}
	return columns, leaves
}

// repeats tells how often a row has the column.
func (c *parquetColumn) repeats(as format.FieldRepetitionType) bool {
	return c.RepetitionType.Valid && c.RepetitionType.V == as
}

// meaning is the logical type of a leaf's values, or else their format.Type.
func (c *parquetColumn) meaning() any {
	if c.LogicalType.Value != nil {
		return c.LogicalType.Value
	}
	if !c.ConvertedType.Valid {
		return c.Type.V
	}
	if c.ConvertedType.V == deprecated.Decimal {
		return &format.DecimalType{Scale: c.Scale.V, Precision: c.Precision.V}
	}
	if older, ok := olderTypes[c.ConvertedType.V]; ok {
		return older
	}
	return c.Type.V
}

// olderTypes are logical types as older files have them, but for decimals. Of intervals, which no column is read from, there is none.
var olderTypes = map[deprecated.ConvertedType]format.LogicalTypeValue{
	deprecated.UTF8:            &format.StringType{},
	deprecated.Enum:            &format.EnumType{},
	deprecated.List:            &format.ListType{},
	deprecated.Map:             &format.MapType{},
	deprecated.MapKeyValue:     &format.MapType{},
	deprecated.Uint8:           &format.IntType{BitWidth: 8},
	deprecated.Uint16:          &format.IntType{BitWidth: 16},
	deprecated.Uint32:          &format.IntType{BitWidth: 32},
	deprecated.Uint64:          &format.IntType{BitWidth: 64},
	deprecated.Int8:            &format.IntType{BitWidth: 8, IsSigned: true},
	deprecated.Int16:           &format.IntType{BitWidth: 16, IsSigned: true},
	deprecated.Int32:           &format.IntType{BitWidth: 32, IsSigned: true},
	deprecated.Int64:           &format.IntType{BitWidth: 64, IsSigned: true},
	deprecated.Date:            &format.DateType{},
	deprecated.TimeMillis:      &format.TimeType{IsAdjustedToUTC: true, Unit: format.TimeUnit{Value: &format.MilliSeconds{}}},
	deprecated.TimeMicros:      &format.TimeType{IsAdjustedToUTC: true, Unit: format.TimeUnit{Value: &format.MicroSeconds{}}},
	deprecated.TimestampMillis: &format.TimestampType{IsAdjustedToUTC: true, Unit: format.TimeUnit{Value: &format.MilliSeconds{}}},
	deprecated.TimestampMicros: &format.TimestampType{IsAdjustedToUTC: true, Unit: format.TimeUnit{Value: &format.MicroSeconds{}}},
	deprecated.Json:            &format.JsonType{},
	deprecated.Bson:            &format.BsonType{},
}
