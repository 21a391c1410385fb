package report

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"

	"github.com/dpreg/dpreg/release"
)

// No point of an ellipsoid lies beyond its shadow, and the shadow goes no farther: in each
// direction both reach equally far, the ellipsoid by points that are drawn on it.
func TestShadow(t *testing.T) {
	f := &release.Frame{Centre: []float64{.2, -.4, .1}, Matrix: [][]float64{{3}, {-1, 2}, {.5, 4, 5}}, Radius: 1.7}
	rng := rand.New(rand.NewPCG(1, 2))
	var points [][]float64
	for range 200_000 {
		u := []float64{rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()}
		floats.Scale(f.Radius/floats.Norm(u, 2), u)
		v := make([]float64, 3) // W(v − c) = u, from the first row down
		for j, row := range f.Matrix {
			v[j] = (u[j] - floats.Dot(row[:j], v[:j])) / row[j]
		}
		floats.Add(v, f.Centre)
		points = append(points, v)
	}
	for _, plane := range [][2]int{{0, 2}, {1, 2}, {0, 1}} {
		edge := shadow(f, plane[0], plane[1])
		for angle := 0.; angle < 2*math.Pi; angle += .3 {
			sin, cos := math.Sincos(angle)
			inside, drawn := math.Inf(-1), math.Inf(-1)
			for _, v := range points {
				inside = max(inside, cos*v[plane[0]]+sin*v[plane[1]])
			}
			for _, at := range edge {
				drawn = max(drawn, cos*at.X+sin*at.Y)
			}
			if math.Abs(inside-drawn) > .003 {
				t.Errorf("columns %v, direction %.1f: the shadow reaches to %.4f, the ellipsoid to %.4f", plane, angle, drawn, inside)
			}
		}
	}
}
