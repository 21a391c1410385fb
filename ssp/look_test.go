package ssp

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/dpreg/dpreg/release"
)

func TestLooksRun(t *testing.T) {
	for _, pr := range []release.Privacy{{Epsilon: 1, Neighbours: release.ReplaceOne}, {Epsilon: 1, Delta: 1e-6, Neighbours: release.AddRemove}} {
		b, err := NewBudget(pr)
		if err != nil {
			t.Fatal(err)
		}
		f := RoundFrame(testFrame(rand.New(rand.NewPCG(1, 1)), 4, 3))
		ball, err := NewBall(f, 4)
		if err != nil {
			t.Fatal(err)
		}
		s, c := ball.NewAccumulator(), ball.Radii()
		rows := slices.Concat(normalRows(rand.New(rand.NewPCG(2, 2)), 5000, 4, 0.2)...)
		if s.AddRows(rows) != nil || c.AddRows(rows) != nil || s.Digest() != c.Digest() {
			t.Fatal("rows")
		}
		for range 2 {
			radii, n, err := b.PublishRadii(c, 0.2, seeded(3))
			if err != nil {
				t.Fatal(err)
			}
			t.Log(radii, n)
			a, err := b.PublishLook(s, f, 0.2, seeded(3))
			if err != nil {
				t.Fatal(err)
			}
			again, _ := b.PublishLook(s, f, 0.2, seeded(3))
			if !reflect.DeepEqual(a, again) {
				t.Error("one seed, two looks")
			}
			t.Logf("%+v %+v", a, a.Statistics)
		}
	}
}
