package report

import (
	"fmt"
	"image/color"
	"maps"
	"slices"
	"strings"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"

	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/predict"
)

var (
	lineStyle = draw.LineStyle{Color: blue, Width: 1.5}
	lineBand  = color.RGBA{140, 190, 220, 255}
	newBand   = color.RGBA{222, 236, 245, 255}
)

// LinePlot draws a regression line along a column with the bands that hold it, and a new response,
// with a probability; of a family the curve of its probability or rate, of which there is one band.
func LinePlot(points []predict.Point, held map[string]float64, column, response string, level float64, family model.Family) *Figure {
	p := axes("", column, response)
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
	name, title := "line", response+" along "+column
	words := fmt.Sprintf("The dark band holds the line with probability %s, the light one a new response.", exactly(level))
	if family != model.Normal {
		name = family.Expected()
		title, words = strings.ToUpper(name[:1])+name[1:]+" of "+title, fmt.Sprintf("The band holds the %s with probability %s.", name, exactly(level))
	} else {
		band(func(x predict.Point) predict.Prediction { return x.New }, newBand)
	}
	band(func(x predict.Point) predict.Prediction { return x.Line }, lineBand)
	var line plotter.XYs
	for _, x := range points {
		line = append(line, plotter.XY{X: x.X, Y: x.Line.Fitted})
	}
	mean := key{Name: "posterior mean of the " + name, LineStyle: lineStyle}
	mean.add(p, line)
	f := alone("line", title, p, aloneHeight, mean)
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
