package report

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/posterior"
)

// tallest is the height of a panel, in those of the posterior: a naive posterior may
// be so narrow that the others would lie flat beside it.
const tallest = 1.4

var (
	posteriorKey = Key{Name: "posterior", LineStyle: draw.LineStyle{Color: blue, Width: 1.8}}
	naiveKey     = Key{Name: "naive: noise ignored", LineStyle: draw.LineStyle{Color: vermilion, Width: 1.5, Dashes: []vg.Length{6, 3}}}
	priorKey     = Key{Name: "prior", LineStyle: draw.LineStyle{Color: grey, Width: 1.5, Dashes: []vg.Length{1.5, 2.5}}}
	zeroLine     = draw.LineStyle{Color: middleGrey, Width: 0.8}
)

// posterior draws the densities of each parameter: posterior, prior, naive.
func (s *shown) posterior(naive *dpreg.Fit) (*Figure, error) {
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
		if prior != nil {
			c.prior = prior[p.column]
		}
		plot, err := c.draw(&p)
		if err != nil {
			return nil, err
		}
		f.panels = append(f.panels, newPanel(plot))
	}
	return f, nil
}

// curves are the densities of one parameter; naive and prior may be nil.
type curves struct {
	posterior, naive plotter.XYs
	naiveMean        float64
	prior            func(float64) float64
}

func (c *curves) draw(parameter *parameter) (*plot.Plot, error) {
	p := panelOf(parameter.title)
	p.HideY()
	low, high := c.posterior[0].X, c.posterior[densityPoints].X
	top := tallest * highest(c.posterior)
	lines := []struct {
		points plotter.XYs
		Key
	}{{c.naive, naiveKey}, {c.posterior, posteriorKey}}
	if c.prior != nil {
		points := make(plotter.XYs, densityPoints+1)
		for i := range points {
			x := low + (high-low)*float64(i)/densityPoints
			points[i] = plotter.XY{X: x, Y: c.prior(x)}
		}
		lines = append(lines, struct {
			points plotter.XYs
			Key
		}{points, priorKey})
	}
	interval, err := tint(c.posterior, parameter.Lower, parameter.Upper)
	if err != nil {
		return nil, err
	}
	p.Add(interval)
	if low < 0 && high > 0 {
		p.Add(&rule{style: zeroLine, x: 0})
	}
	most := 0.0
	for _, l := range lines {
		if l.points == nil {
			continue
		}
		drawn, err := line(l.points, l.Key)
		if err != nil {
			return nil, err
		}
		p.Add(drawn)
		most = max(most, highest(l.points))
	}
	if c.naive != nil && (c.naiveMean < low || c.naiveMean > high) {
		p.Add(beside{c.naiveMean, parameter.SD})
	}
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = low, high, 0, 1.06*min(most, top)
	return p, nil
}

// beside tells in words of a naive posterior that lies beside the axis; its mean is
// written in the digits of the posterior's sd.
type beside struct{ mean, sd float64 }

// Plot implements plot.Plotter.
func (b beside) Plot(c draw.Canvas, p *plot.Plot) {
	style := p.X.Tick.Label
	style.YAlign = draw.YTop
	rounded, _ := strconv.ParseFloat(number(b.mean, common(b.sd, b.mean)), 64)
	text := "naive: " + tickLabel(rounded)
	if b.mean < p.X.Min {
		style.XAlign = draw.XLeft
		c.FillText(style, vg.Point{X: c.Min.X, Y: c.Max.Y}, "← "+text)
		return
	}
	style.XAlign = draw.XRight
	c.FillText(style, vg.Point{X: c.Max.X, Y: c.Max.Y}, text+" →")
}

func highest(points plotter.XYs) float64 {
	most := math.Inf(-1)
	for _, at := range points {
		most = max(most, at.Y)
	}
	return most
}

// tint fills the area below a curve, from low to high.
func tint(points plotter.XYs, low, high float64) (*plotter.Polygon, error) {
	area := plotter.XYs{{X: low}}
	for _, at := range points {
		if at.X >= low && at.X <= high {
			area = append(area, at)
		}
	}
	area[0].X = area[min(1, len(area)-1)].X
	area = append(area, plotter.XY{X: area[len(area)-1].X})
	filled, err := plotter.NewPolygon(area)
	if err != nil {
		return nil, err
	}
	filled.Color, filled.LineStyle.Width = lightBlue, 0
	return filled, nil
}

// rule is a line across a panel, upright at x.
type rule struct {
	style draw.LineStyle
	x     float64
}

// Plot implements plot.Plotter.
func (r *rule) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	c.StrokeLine2(r.style, x(r.x), c.Min.Y, x(r.x), c.Max.Y)
}
