package report

import (
	"fmt"
	"image/color"
	"maps"
	"slices"
	"strings"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"

	"github.com/dpreg/dpreg/predict"
)

var (
	lineKey  = Key{Name: "posterior mean of the line", LineStyle: draw.LineStyle{Color: blue, Width: 1.5}}
	lineBand = color.RGBA{140, 190, 220, 255}
	newBand  = color.RGBA{222, 236, 245, 255}
)

// LinePlot draws a regression line along a column with the bands that hold it, and a new response,
// with a probability. family tells that the line is the mean on a link's scale, of which there is one
// band.
func LinePlot(points []predict.Point, held map[string]float64, column, response string, level float64, family bool) *Figure {
	p := Panel("", column, response)
	band := func(of func(predict.Point) predict.Prediction, tint color.RGBA) {
		var outline plotter.XYs
		for _, x := range points {
			outline = append(outline, plotter.XY{X: x.X, Y: of(x).Upper})
		}
		for _, x := range slices.Backward(points) {
			outline = append(outline, plotter.XY{X: x.X, Y: of(x).Lower})
		}
		fill(p, outline, tint)
	}
	title := fmt.Sprintf("%s along %s", response, column)
	words := fmt.Sprintf("The dark band holds the line with probability %s, the light one a new response.", exactly(level))
	if family {
		title, words = "Mean of "+response+" along "+column, fmt.Sprintf("The band holds the mean, of a 0/1 response its probability, with probability %s.", exactly(level))
	} else {
		band(func(x predict.Point) predict.Prediction { return x.New }, newBand)
	}
	band(func(x predict.Point) predict.Prediction { return x.Line }, lineBand)
	var line plotter.XYs
	for _, x := range points {
		line = append(line, plotter.XY{X: x.X, Y: x.Line.Fitted})
	}
	lineKey.Add(p, line)
	f := alone("line", title, p, aloneHeight, lineKey)
	f.note = words
	if len(held) > 0 {
		var at []string
		for _, name := range slices.Sorted(maps.Keys(held)) {
			at = append(at, name+" = "+general(held[name]))
		}
		f.note += " Held: " + strings.Join(at, ", ") + "."
	}
	return f
}
