package table

import (
	"errors"
	"fmt"

	flatbuffers "github.com/google/flatbuffers/go"
)

// arrowType is how the cells of a column are kept (Schema.fbs; Columnar.html has the buffers).
type arrowType struct {
	kind       byte
	width      int  // bytes of an integer, a floating-point number or a decimal
	unsigned   bool // of an integer
	scale      int  // of a decimal
	dictionary *int64
	index      *arrowType // of a column with a dictionary: what its cells are
	children   []arrowType
	buffers    int // of the column itself
}

// Kinds of types.
const (
	arrowNull      = 1
	arrowInt       = 2
	arrowFloat     = 3
	arrowText      = 5
	arrowBool      = 6
	arrowDecimal   = 7
	arrowUnion     = 14
	arrowLargeText = 20
	arrowBytesView = 23
	arrowTextView  = 24
)

// arrowKinds are what an error calls a kind, and how many buffers its columns have besides those of
// children; a union has one more if its children are dense, a view as many more as the batch says.
var arrowKinds = []struct {
	name    string
	buffers int
	nested  bool
}{
	{"none", 0, false}, {"null", 0, false}, {"integer", 2, false}, {"floating point", 2, false}, {"binary", 3, false},
	{"text", 3, false}, {"boolean", 2, false}, {"decimal", 2, false}, {"date", 2, false}, {"time", 2, false},
	{"timestamp", 2, false}, {"interval", 2, false}, {"list", 2, true}, {"struct", 1, true}, {"union", 1, true},
	{"fixed-size binary", 2, false}, {"fixed-size list", 1, true}, {"map", 2, true}, {"duration", 2, false}, {"large binary", 3, false},
	{"large text", 3, false}, {"large list", 2, true}, {"run-end encoded", 0, false}, {"binary view", 2, false}, {"text view", 2, false},
	{"list view", 3, true}, {"large list view", 3, true},
}

func (t arrowType) String() string {
	name := arrowKinds[t.kind].name
	if t.dictionary != nil {
		return "dictionary of " + name
	}
	return name
}

var errBigEndian = errors.New("the file's numbers have their largest byte first: write it anew on another machine")

// arrowSchema reads the columns of a schema. A field takes four bytes of its head at least, so that
// there are at most left.
func arrowSchema(t *flatbuffers.Table, left int) (names []string, types []arrowType, err error) {
	if t.GetInt16Slot(4, 0) != 0 {
		return nil, nil, errBigEndian
	}
	at, n := vectorOf(t, 6)
	for i := range n {
		field := entryOf(t, at, i)
		from, length := vectorOf(&field, 4)
		names = append(names, string(field.Bytes[from:int(from)+length]))
		typ, err := newArrowType(&field, &left, 0)
		if err != nil {
			return nil, nil, err
		}
		types = append(types, typ)
	}
	return names, types, nil
}

// entryOf is an entry of a vector of tables.
func entryOf(t *flatbuffers.Table, at flatbuffers.UOffsetT, i int) flatbuffers.Table {
	return flatbuffers.Table{Bytes: t.Bytes, Pos: t.Indirect(at + flatbuffers.UOffsetT(4*i))}
}

func newArrowType(field *flatbuffers.Table, left *int, depth int) (t arrowType, err error) {
	if *left--; *left < 0 || depth > maxNested {
		return t, errClaims
	}
	t.kind = field.GetByteSlot(8, 0)
	if int(t.kind) >= len(arrowKinds) {
		return t, fmt.Errorf("a column is of a type that is not known, of number %d", t.kind)
	}
	t.buffers = arrowKinds[t.kind].buffers
	if detail, ok := childOf(field, 10); ok {
		t.describe(&detail)
	}
	at, n := vectorOf(field, 14)
	for i := range n {
		child := entryOf(field, at, i)
		c, err := newArrowType(&child, left, depth+1)
		if err != nil {
			return t, err
		}
		t.children = append(t.children, c)
	}
	if coded, ok := childOf(field, 12); ok {
		id := coded.GetInt64Slot(4, 0)
		t.dictionary, t.index = &id, &arrowType{kind: arrowInt, width: 4, buffers: 2}
		if detail, ok := childOf(&coded, 6); ok {
			t.index.describe(&detail)
		}
	}
	return t, nil
}

// describe reads what a kind says of itself.
func (t *arrowType) describe(detail *flatbuffers.Table) {
	switch t.kind {
	case arrowInt:
		t.width, t.unsigned = int(detail.GetInt32Slot(4, 0))/8, detail.GetByteSlot(6, 0) == 0
	case arrowFloat:
		t.width = 2 << detail.GetInt16Slot(4, 0)
	case arrowDecimal:
		t.scale, t.width = int(detail.GetInt32Slot(6, 0)), int(detail.GetInt32Slot(8, 128))/8
	case arrowUnion:
		t.buffers += int(detail.GetInt16Slot(4, 0))
	}
}

// check tells whether cells of this type can be what the field wants, as newLeaf does.
func (t *arrowType) check(f *field) error {
	fits := false
	switch {
	case arrowKinds[t.kind].nested:
		return errNotCells
	case t.kind == arrowNull, t.kind == arrowInt, t.kind == arrowText, t.kind == arrowLargeText, t.kind == arrowTextView:
		fits = true
	case t.kind == arrowFloat, t.kind == arrowDecimal && t.width == 16:
		fits = f.numeric()
	case t.kind == arrowBool:
		fits = !f.number()
	}
	if !fits {
		return f.ofType(t)
	}
	return nil
}

// places counts what columns before this one take of a batch: nodes, buffers, and views.
type places struct{ node, buffer, view int }

// after is where what follows a column of this type begins; views are how many more buffers each
// view has.
func (p places) after(t *arrowType, views []int64) places {
	p.node++
	if t.dictionary != nil {
		p.buffer += t.index.buffers
		return p
	}
	p.buffer += t.buffers
	if t.kind == arrowTextView || t.kind == arrowBytesView {
		p.buffer += int(views[p.view])
		p.view++
	}
	for i := range t.children {
		p = p.after(&t.children[i], views)
	}
	return p
}
