package schema

import (
	"fmt"
	"math"
)

// Frame is the affine map between the data's units and scaled units, in the order
// of v = (x_1, ..., x_p, y), m = p+1:
//
//	v_scaled = (v - Centre) / Half ∈ [-1, 1].
//
// With an intercept, Centre and Half are the middle and half the width of the box.
// Without one a shift would bring an intercept back, so columns are only scaled:
// Centre = 0 and Half = max(|lower|, |upper|); the box still lies inside [-1, 1].
type Frame struct {
	Labels       []string  // m names of columns
	Centre, Half []float64 // length m, the data's units
	Intercept    bool

	lower, upper []float64 // the box; nil: Centre ± Half
}

// Frame returns the maps of a design that Validate accepts.
func (d *Design) Frame() Frame {
	columns := d.Columns()
	m := len(columns)
	f := Frame{
		Labels: make([]string, m), Intercept: d.Intercept,
		Centre: make([]float64, m), Half: make([]float64, m),
		lower: make([]float64, m), upper: make([]float64, m),
	}
	for j, c := range columns {
		f.Labels[j], f.lower[j], f.upper[j] = c.Name, c.Lower, c.Upper
		if !d.Intercept {
			f.Half[j] = max(math.Abs(c.Lower), math.Abs(c.Upper))
			continue
		}
		// Halves first, so that no sum overflows; the conversions keep the
		// compiler from fusing, and so the bits the same everywhere.
		f.Centre[j] = float64(c.Upper/2) + float64(c.Lower/2)
		f.Half[j] = float64(c.Upper/2) - float64(c.Lower/2)
	}
	return f
}

// Scale clamps row, in the data's units, to the box and writes it to dst in scaled
// units, exactly inside [-1, 1]. NaN stays NaN. Both have length m (else it
// panics) and may be the same slice. The bits are the same on every architecture.
func (f Frame) Scale(dst, row []float64) {
	m := len(f.Half)
	mustLen("row", len(row), m)
	mustLen("dst", len(dst), m)
	for j, v := range row {
		if f.lower != nil {
			v = max(f.lower[j], min(f.upper[j], v))
		}
		// A difference and a quotient: there is nothing to fuse. Rounding may
		// carry a value at the edge one ulp out, hence the second clamp.
		dst[j] = max(-1, min(1, (v-f.Centre[j])/f.Half[j]))
	}
}

// Unscale maps row from scaled units to the data's units, Centre + Half·v. Both
// have length m (else it panics) and may be the same slice.
func (f Frame) Unscale(dst, row []float64) {
	m := len(f.Half)
	mustLen("row", len(row), m)
	mustLen("dst", len(dst), m)
	for j, v := range row {
		dst[j] = f.Centre[j] + float64(f.Half[j]*v)
	}
}

func mustLen(what string, got, want int) {
	if got != want {
		panic(fmt.Sprintf("schema: %s has length %d, want %d", what, got, want))
	}
}
