package table

import (
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"
)

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
