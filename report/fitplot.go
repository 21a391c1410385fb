package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/posterior"
)

// What is shown at most of a fit, so that pictures stay readable and their files small.
// sigma always is.
const (
	mostPanels = 40 // parameters, each in a panel
	mostPairs  = 6  // parameters, each against each
)

// FitPlotNames are those of the figures of FitPlots, in their order.
var FitPlotNames = []string{"posterior", "trace", "ranks", "pairs"}

// CustodiansPlot is the figure that FitPlots adds to FitPlotNames where pooling is partial.
const CustodiansPlot = "custodians"

// shown is a fit's coefficients and sigma, those that move, in one kind of units.
type shown struct {
	fit        *dpreg.Fit
	units      dpreg.Units
	level      float64 // of intervals
	parameters []parameter
	draws      *posterior.Draws
	leftOut    string // in words; empty: nothing
}

// parameter is one of them, and where among the draws it is.
type parameter struct {
	posterior.Parameter
	column int
	title  string // of its panel
}

// FitPlots draws a fit: posterior against prior and, where it is not nil, against
// naive, a fit of the same release that takes its noise for none; under partial pooling
// each custodian's coefficients; traces; ranks; pairs.
// There is none where no parameter moves. It panics on units or a level that do not
// exist.
func FitPlots(f, naive *dpreg.Fit, o Options) []*Figure {
	o.fill()
	s := shownOf(f, o)
	if len(s.parameters) == 0 {
		return nil
	}
	figures := []*Figure{s.posterior(naive), s.custodians(), s.traces(), s.ranks(), s.pairs()}
	return slices.DeleteFunc(figures, func(f *Figure) bool { return f == nil })
}

func shownOf(f *dpreg.Fit, o Options) *shown {
	s := &shown{fit: f, units: o.Units, level: o.Level, draws: f.Draws(o.Units)}
	all := f.Summary(o.Units, o.Level).Parameters
	short, still := titlesOf(all), 0
	for i, p := range all {
		switch {
		case !isMain(p.Name):
		case !(p.SD > 0) || math.IsInf(p.SD, 0):
			still++
		default:
			s.parameters = append(s.parameters, parameter{p, i, short[p.Label]})
		}
	}
	if n := len(s.parameters); n > mostPanels { // the last one is sigma
		s.parameters = append(s.parameters[:mostPanels-1:mostPanels-1], s.parameters[n-1])
		s.leftOut = fmt.Sprintf("Shown are the first %d of %d parameters and %s; --save writes the draws of all. ", mostPanels-1, n, s.parameters[mostPanels-1].Label)
	}
	if still > 0 {
		s.leftOut += fmt.Sprintf("Not shown: %s whose draws do not move. ", count(still, "parameter"))
	}
	return s
}

// titlesOf are short names of the coefficients and sigma.
func titlesOf(all []posterior.Parameter) map[string]string {
	var labels []string
	for _, p := range all {
		if isMain(p.Name) {
			labels = append(labels, p.Label)
		}
	}
	return titles(labels...)
}

// tallest is the height of a panel, in those of the posterior: a naive posterior may
// be so narrow that the others would lie flat beside it.
const tallest = 1.4

var (
	posteriorKey = Key{Name: "posterior", LineStyle: draw.LineStyle{Color: blue, Width: 1.8}}
	naiveKey     = Key{Name: "naive: noise ignored", LineStyle: draw.LineStyle{Color: vermilion, Width: 1.5, Dashes: []vg.Length{6, 3}}}
	priorKey     = Key{Name: "prior", LineStyle: draw.LineStyle{Color: grey, Width: 1.5, Dashes: []vg.Length{1.5, 2.5}}}
)

// posterior draws the densities of each parameter: posterior, prior, naive.
func (s *shown) posterior(naive *dpreg.Fit) *Figure {
	f := &Figure{
		Name: "posterior", title: "Posterior against prior",
		keys:    []Key{posteriorKey},
		caption: "Density of each parameter; the tint is the posterior's interval. Where the posterior lies on the prior, the release told nothing; it may be as wide and yet have moved.",
		note:    s.leftOut,
	}
	prior := priorDensities(s.fit, s.units)
	var others *posterior.Summary
	var draws *posterior.Draws
	if naive != nil {
		f.keys = append(f.keys, naiveKey)
		f.caption += " Naive is what comes out where the noise of the release is ignored: too narrow. The axes are the posterior's: a taller naive curve is cut off, and of one that lies beside them an arrow tells the mean."
		others, draws = naive.Summary(s.units, posterior.DefaultLevel), naive.Draws(s.units)
	}
	if prior != nil {
		f.keys = append(f.keys, priorKey)
	}
	for _, p := range s.parameters {
		c := curves{posterior: density(&p.Parameter, s.draws.Column(p.column))}
		if naive != nil {
			i := draws.Index(p.Name)
			c.naive, c.naiveMean = density(&others.Parameters[i], draws.Column(i)), others.Parameters[i].Mean
		}
		for _, at := range c.posterior {
			if prior != nil {
				c.prior = append(c.prior, plotter.XY{X: at.X, Y: prior[p.column](at.X)})
			}
		}
		f.panels = append(f.panels, newPanel(c.draw(&p)))
	}
	return f
}

// curves are the densities of one parameter; naive and prior may be nil.
type curves struct {
	posterior, naive, prior plotter.XYs
	naiveMean               float64
}

func (c *curves) draw(parameter *parameter) *plot.Plot {
	p := Panel(parameter.title, "", "")
	p.HideY()
	low, high := c.posterior[0].X, c.posterior[densityPoints].X
	top := min(tallest*highest(c.posterior), max(highest(c.posterior), highest(c.naive), highest(c.prior)))
	p.Y.Min, p.Y.Max = 0, 1.06*top
	tint(p, c.posterior, parameter.Lower, parameter.Upper)
	if low < 0 && high > 0 {
		upright(p, 0)
	}
	naiveKey.Add(p, c.naive)
	posteriorKey.Add(p, c.posterior)
	priorKey.Add(p, c.prior)
	// A naive posterior that lies beside the axis is told of in words, in the digits of the
	// posterior's sd.
	rounded, _ := strconv.ParseFloat(number(c.naiveMean, common(parameter.SD, c.naiveMean)), 64)
	inside := (high - low) / 200 // what lies on the edge may be cut
	switch told := "naive: " + tickLabel(rounded); {
	case c.naive == nil:
	case c.naiveMean < low:
		label(p, "← "+told, 9, plotter.XY{X: low + inside, Y: 1.05 * top}, draw.XLeft, draw.YTop)
	case c.naiveMean > high:
		label(p, told+" →", 9, plotter.XY{X: high - inside, Y: 1.05 * top}, draw.XRight, draw.YTop)
	}
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = low, high, 0, 1.06*top
	return p
}

func highest(points plotter.XYs) float64 {
	most := math.Inf(-1)
	for _, at := range points {
		most = max(most, at.Y)
	}
	return most
}

// tint fills the area below a curve, from low to high.
func tint(p *plot.Plot, points plotter.XYs, low, high float64) {
	area := slices.DeleteFunc(slices.Clone(points), func(at plotter.XY) bool { return at.X < low || at.X > high })
	if last := len(area) - 1; last >= 0 {
		fill(p, append(plotter.XYs{{X: area[0].X}}, append(area, plotter.XY{X: area[last].X})...), lightBlue)
	}
}

// What is shown at most, and the height of a custodian and of the rest of a panel.
const (
	mostCustodians   = 30
	custodianName    = 3.2 * vg.Centimeter
	custodiansWidth  = 8.2 * vg.Centimeter
	custodianHeight  = 0.55 * vg.Centimeter
	custodiansMargin = 1.8 * vg.Centimeter
)

// custodians draws, for each coefficient and sigma, that of each custodian over their common
// one; nil where they have one.
func (s *shown) custodians() *Figure {
	all := s.fit.Summary(s.units, s.level).Parameters
	first := slices.IndexFunc(all, func(p posterior.Parameter) bool { return model.KindOf(p.Name) == model.ThetaAt })
	if first < 0 {
		return nil
	}
	q, shown := len(s.fit.Shrinkage(s.units)), min(len(s.fit.Custodians), mostCustodians)
	f := &Figure{
		Name: CustodiansPlot, title: "Custodians' coefficients and sigma about common ones",
		keys:    []Key{{Name: exactly(percent(s.level)) + " % interval", LineStyle: wideLine}, {Name: "50 %", LineStyle: halfLine}, {Name: "mean", mark: barMark}},
		caption: "Coefficients and sigma of each custodian and, below the line, the common ones that they lie about. " + shrunk(s.fit, s.units),
	}
	if shown < len(s.fit.Custodians) {
		f.note = fmt.Sprintf("Shown are the first %d of %d custodians; the table has all. ", shown, len(s.fit.Custodians))
	}
	coefficients := min(q, mostPanels-1)
	if coefficients < q {
		f.note += fmt.Sprintf("Shown are the first %d of %d coefficients, and sigma; --save writes the draws of all.", coefficients, q)
	}
	var names, labels []string
	for _, c := range s.fit.Custodians[:shown] {
		names = append(names, c.Name)
	}
	title, short := titlesOf(all), shortNames(newPlot().Y.Tick.Label, custodianName, names...)
	for _, name := range names {
		labels = append(labels, short[name])
	}
	labels = append(labels, "common")
	for k := range coefficients + 1 {
		common := k
		if k == coefficients {
			k = q
			common = slices.IndexFunc(all, func(p posterior.Parameter) bool { return p.Name == "sigma" })
		}
		rows := make([]*posterior.Parameter, 0, shown+1)
		for j := range shown {
			rows = append(rows, &all[first+j*(q+1)+k])
		}
		drawn := drawCustodians(title[all[common].Label], labels, append(rows, &all[common]))
		f.panels = append(f.panels, panel{plot: drawn, width: custodiansWidth, height: custodiansMargin + vg.Length(shown+1)*custodianHeight})
	}
	return f
}

// drawCustodians draws rows from top to bottom, the last one below a line.
func drawCustodians(title string, names []string, rows []*posterior.Parameter) *plot.Plot {
	p, drawn := Panel(title, "", ""), &bars{wide: wideLine, half: halfLine, mark: barMark}
	last := len(rows) - 1
	low, high := rows[last].Lower, rows[last].Upper
	for i, r := range rows {
		drawn.all = append(drawn.all, bar{-float64(i), r.Lower, r.Upper, max(r.Q25, r.Lower), min(r.Q75, r.Upper), r.Mean})
		low, high = min(low, r.Lower), max(high, r.Upper)
	}
	room := (high - low) / 25
	low, high = low-room, high+room
	nameRows(p, names)
	zeroLine.Add(p, plotter.XYs{{X: low, Y: 0.5 - float64(last)}, {X: high, Y: 0.5 - float64(last)}})
	if low < 0 && high > 0 {
		upright(p, 0)
	}
	p.Add(drawn)
	p.X.Min, p.X.Max, p.X.Tick.Marker = low, high, linearTicks{room: namesRoom}
	return p
}
