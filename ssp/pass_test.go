package ssp

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
)

// Passes over the same rows have the same bytes, however rows are divided among processes, and
// what is damaged is refused.
func TestPassIsDivided(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 7))
	for m := 2; m <= 5; m++ {
		frame := RoundFrame(testFrame(rng, m, 2))
		for _, pass := range []Pass{{Columns: m}, {Columns: m, Frame: frame, Radii: true}, {Columns: m, Frame: frame}, {Columns: m, Frame: frame, Dummies: 2}} {
			var rows []float64
			for _, row := range randomRows(rng, 700, m) {
				if pass.Dummies > 0 {
					row = inLevel(pass.Dummies, rng.IntN(3), row)
				}
				rows = append(rows, row...)
			}
			m := m + pass.Dummies
			part := func(rows []float64) []byte {
				t.Helper()
				s := must.Get(pass.Gather(3, func(sinks ...func([]float64) error) error {
					for some := range slices.Chunk(rows, 50*m) {
						if err := sinks[rng.IntN(3)](some); err != nil {
							return err
						}
					}
					return nil
				}))(t)
				return must.Get(s.MarshalBinary())(t)
			}
			whole := part(rows)
			at := m * rng.IntN(700)
			if merged, err := pass.Merge(part(rows[:at]), part(rows[at:])); err != nil || !bytes.Equal(merged, whole) {
				t.Errorf("%+v: merged otherwise (%v)", pass, err)
			}
			changed := &rows[rng.IntN(700)*m+m-1]
			*changed = *changed/2 + 0.3
			if bytes.Equal(part(rows), whole) {
				t.Errorf("%+v: other rows have the same bytes", pass)
			}
			empty := must.Get(pass.Empty())(t)
			for end := range whole {
				if empty().UnmarshalBinary(whole[:end]) == nil {
					t.Fatalf("%+v: %d bytes of %d are taken", pass, end, len(whole))
				}
			}
			if pass.Frame != nil {
				whole[23] ^= 1 // of the number of rows
				if empty().UnmarshalBinary(whole) == nil {
					t.Errorf("%+v: a row more or less is taken", pass)
				}
			}
		}
	}
	for name, pass := range map[string]Pass{"no radius": {Columns: 2, Frame: boxFrame(2)}, "other columns": {Columns: 3, Frame: boxFrame(2), Radii: true}} {
		pass.Frame.Radius = 0
		if _, err := pass.Empty(); err == nil {
			t.Error(name)
		}
	}
	if NewAccumulator(2).Merge(mustBall(t, nil, 2).Radii()) == nil {
		t.Error("sums and radii were merged")
	}
}
