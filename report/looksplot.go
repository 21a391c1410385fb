package report

import (
	"math"
	"strconv"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

// What a picture of a release has room for, and the size of its panels.
const (
	mostShadows = 6
	mostSums    = 14
	lookWidth   = 9 * vg.Centimeter
	lookHeight  = 7 * vg.Centimeter
)

// ReleasePlot draws what a release is: for each covariate how its looks' ellipsoids shrank, seen
// against the response; what share of the rows each look clipped; and its sums, in standard
// deviations of their noise.
func ReleasePlot(r *release.Release) *Figure {
	var looks []release.Look
	if r.Frame != nil {
		looks = r.Looks()
	}
	var names []string
	for i := range looks {
		names = append(names, "look "+strconv.Itoa(i+1))
	}
	keys := seriesKeys(names...)
	f := &Figure{Name: "release", title: "What was released of " + r.Schema.Formula().String()}
	for i := range keys {
		keys[i].Dashes = seriesDashes[i%len(seriesDashes)]
		f.keys = append(f.keys, key{Name: keys[i].Name, LineStyle: keys[i].LineStyle})
	}
	var plots []*plot.Plot
	if first := r.Levels.Dummies(); looks != nil {
		r := r.FactorFirst()
		p := len(r.Schema.Covariates) - first
		for j := range min(p, mostShadows) {
			plots = append(plots, shadows(&r.Schema, looks, f.keys, first, j))
		}
		if p > mostShadows {
			f.note = "Of " + strconv.Itoa(p) + " covariates the first " + strconv.Itoa(mostShadows) + " are drawn. "
		}
		plots = append(plots, clipped(r, looks, keys))
	}
	plots = append(plots, againstNoise(r))
	f.arrange(plots, 3)
	if looks != nil {
		f.note += "Rows outside an ellipsoid were moved to its surface. The box is the panel's frame. "
	}
	f.note += "A sum left of the grey line is as good as its noise."
	for i := range f.panels {
		f.panels[i].width, f.panels[i].height = lookWidth, lookHeight
	}
	return f
}

// shadows are those of the ellipsoids, of the columns from first on, on the plane of the covariate j of these
// and the response, clamped to the box, as rows are.
func shadows(d *schema.Design, looks []release.Look, keys []key, first, j int) *plot.Plot {
	columns, frame := d.Columns(), d.Frame()
	k := len(columns) - 1
	x, y := columns[first+j], columns[k]
	p := axes("", x.Name, y.Name)
	for i, look := range looks {
		edge := shadow(look.Frame, j, k-first)
		for t, at := range edge {
			edge[t] = plotter.XY{
				X: min(max(frame.Centre[first+j]+frame.Half[first+j]*at.X, x.Lower), x.Upper),
				Y: min(max(frame.Centre[k]+frame.Half[k]*at.Y, y.Lower), y.Upper),
			}
		}
		keys[i].add(p, edge)
	}
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = x.Lower, x.Upper, y.Lower, y.Upper
	return p
}

// shadow is the edge of that of an ellipsoid v = c + RLe, ‖e‖ ≤ 1, on the plane of columns j and k:
// of the rows a and b of L there, it is
//
//	c + R(‖a‖cos t, s‖a‖cos t + √(‖b‖² − s²‖a‖²) sin t),   s = a·b/‖a‖².
func shadow(f *release.Frame, j, k int) plotter.XYs {
	const steps = 180
	m, l := len(f.Centre), f.Inverse()
	a, b := l[j*m:(j+1)*m], l[k*m:(k+1)*m]
	wide, s := floats.Norm(a, 2), floats.Dot(a, b)/floats.Dot(a, a)
	own := math.Sqrt(max(floats.Dot(b, b)-s*s*wide*wide, 0))
	edge := make(plotter.XYs, steps+1)
	for t := range edge {
		sin, cos := math.Sincos(2 * math.Pi * float64(t) / steps)
		edge[t] = plotter.XY{X: f.Centre[j] + f.Radius*wide*cos, Y: f.Centre[k] + f.Radius*(s*wide*cos+own*sin)}
	}
	return edge
}

// clipped are the shares of rows beyond the looks' radii, by noisy counts, ± 2 standard deviations.
func clipped(r *release.Release, looks []release.Look, keys []key) *plot.Plot {
	p := axes("", "look", "rows beyond, %")
	zeroLine.add(p, plotter.XYs{{X: 0.5}, {X: float64(len(looks)) + 0.5}})
	var ticks plot.ConstantTicks
	for i, look := range looks {
		x := float64(i + 1)
		ticks = append(ticks, plot.Tick{Value: x, Label: strconv.Itoa(i + 1)})
		if look.Radii == nil || r.N < 1 {
			continue
		}
		rows, sd := look.Radii.Beyond(look.Frame.Radius, look.Noise.Kind)
		share, bar := 100*rows/float64(r.N), 200*sd/float64(r.N)
		var one measured
		one.add(x, share, share-bar, share+bar)
		one.draw(p, keys[i])
	}
	p.X.Tick.Marker, p.X.Min, p.X.Max = ticks, 0.5, float64(len(looks))+0.5
	return p
}

// againstNoise are the sums, without their signs, in standard deviations of their noise: first
// those of products with the response, which slopes are found from.
func againstNoise(r *release.Release) *plot.Plot {
	z, sd, columns := r.Scaled(), r.ScaledSD(), r.Schema.Columns()
	m, short := len(columns), shortNames(newPlot().Y.Tick.Label, checkFactor, schema.Names(columns)...)
	p := axes("", "released sum / sd of its noise", "sum of")
	var names []string
	low, high := 0.1, 10.
	marks := &bars{mark: barMark}
	add := func(name string, at int) {
		if at >= len(z) || sd[at] == 0 || len(names) == mostSums { // of 0: known beforehand, as squares of dummies by levels
			return
		}
		ratio := max(math.Abs(z[at])/sd[at], low)
		marks.all = append(marks.all, bar{-float64(len(names)), low, ratio, low, low, ratio})
		names, high = append(names, name), max(high, 2*ratio)
	}
	name := func(j int) string { return short[columns[j].Name] }
	for j := range m - 1 {
		add(name(j)+" × "+name(m-1), release.Index(m, j, m-1))
	}
	for j := range m {
		add(name(j)+"²", release.Index(m, j, j))
	}
	for j := range m {
		add(name(j), j)
	}
	for j := range m - 1 {
		for k := j + 1; k < m-1; k++ {
			add(name(j)+" × "+name(k), release.Index(m, j, k))
		}
	}
	marks.wide = wideLine
	nameRows(p, names)
	p.X.Scale, p.X.Tick.Marker, p.X.Min, p.X.Max = plot.LogScale{}, logTicks{panelRoom}, low, high
	upright(p, 2)
	p.Add(marks)
	return p
}
