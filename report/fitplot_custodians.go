package report

import (
	"fmt"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/posterior"
)

// CustodiansPlot is the figure that FitPlots adds to FitPlotNames where pooling is partial.
const CustodiansPlot = "custodians"

// What is shown at most, and the height of a custodian and of the rest of a panel.
const (
	mostCustodians   = 30
	custodianName    = 3.2 * vg.Centimeter
	custodiansWidth  = 8.2 * vg.Centimeter
	custodianHeight  = 0.55 * vg.Centimeter
	custodiansMargin = 1.8 * vg.Centimeter
)

var (
	wideKey = draw.LineStyle{Color: lightBlue, Width: 3}
	halfKey = draw.LineStyle{Color: blue, Width: 7}

	meanMark = draw.GlyphStyle{Color: vermilion, Radius: 2.5, Shape: draw.CircleGlyph{}}
)

// custodians draws, for each coefficient and sigma, that of each custodian over their common
// one; nil where they have one.
func (s *shown) custodians() (*Figure, error) {
	all := s.fit.Summary(s.units, s.level).Parameters
	first := slices.IndexFunc(all, func(p posterior.Parameter) bool { return model.KindOf(p.Name) == model.ThetaAt })
	if first < 0 {
		return nil, nil
	}
	q, shown := len(s.fit.Shrinkage(s.units)), min(len(s.fit.Custodians), mostCustodians)
	f := &Figure{
		Name: CustodiansPlot, title: "Custodians' coefficients and sigma about common ones",
		keys:    []Key{{Name: exactly(percent(s.level)) + " % interval", LineStyle: wideKey}, {Name: "50 %", LineStyle: halfKey}, {Name: "mean", mark: meanMark}},
		caption: "Coefficients and sigma of each custodian and, below the line, the common ones that they lie about. " + shrunk(s.fit, s.units),
	}
	if shown < len(s.fit.Custodians) {
		f.note = fmt.Sprintf("Shown are the first %d of %d custodians; the table has all. ", shown, len(s.fit.Custodians))
	}
	coefficients := min(q, mostPanels-1)
	if coefficients < q {
		f.note += fmt.Sprintf("Shown are the first %d of %d coefficients, and sigma; --save writes the draws of all.", coefficients, q)
	}
	names := make([]string, shown)
	for j := range names {
		names[j] = s.fit.Custodians[j].Name
	}
	title, short := titlesOf(all), shortNames(newPlot().Y.Tick.Label, custodianName, names...)
	for k := range coefficients + 1 {
		common := k
		if k == coefficients {
			k = q
			common = slices.IndexFunc(all, func(p posterior.Parameter) bool { return p.Name == "sigma" })
		}
		rows := make([]named, 0, shown+1)
		for j := range shown {
			rows = append(rows, named{short[names[j]], &all[first+j*(q+1)+k]})
		}
		drawn, err := drawCustodians(title[all[common].Label], append(rows, named{"common", &all[common]}))
		if err != nil {
			return nil, err
		}
		f.panels = append(f.panels, panel{plot: drawn, width: custodiansWidth, height: custodiansMargin + vg.Length(shown+1)*custodianHeight})
	}
	return f, nil
}

// named is a parameter under a custodian's name.
type named struct {
	name string
	*posterior.Parameter
}

// drawCustodians draws rows from top to bottom, the last one below a line.
func drawCustodians(title string, rows []named) (*plot.Plot, error) {
	p := panelOf(title)
	wide, half := &spans{LineStyle: wideKey}, &spans{LineStyle: halfKey}
	points, ticks, last := make(plotter.XYs, len(rows)), make(plot.ConstantTicks, len(rows)), len(rows)-1
	low, high := rows[last].Lower, rows[last].Upper
	for i, r := range rows {
		y := float64(last - i)
		wide.add(r.Lower, r.Upper, y)
		half.add(max(r.Q25, r.Lower), min(r.Q75, r.Upper), y)
		points[i], ticks[i] = plotter.XY{X: r.Mean, Y: y}, plot.Tick{Value: y, Label: r.name}
		low, high = min(low, r.Lower), max(high, r.Upper)
	}
	room := (high - low) / 25
	low, high = low-room, high+room
	means, err := plotter.NewScatter(points)
	if err != nil {
		return nil, err
	}
	means.GlyphStyle = meanMark
	under, err := plotter.NewLine(plotter.XYs{{X: low, Y: 0.5}, {X: high, Y: 0.5}})
	if err != nil {
		return nil, err
	}
	under.LineStyle = zeroLine
	p.Add(under)
	if low < 0 && high > 0 {
		p.Add(&rule{style: zeroLine, x: 0})
	}
	p.Add(wide, half, means)
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = low, high, -0.6, float64(last)+0.6
	p.Y.Tick.Marker, p.Y.Tick.Length, p.X.Tick.Marker = ticks, 0, linearTicks{room: namesRoom}
	return p, nil
}
