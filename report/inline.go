package report

import (
	"fmt"
	"html/template"
	"image/color"
	"regexp"
	"strconv"
	"strings"

	"gonum.org/v1/plot/vg/draw"
)

var (
	svgStyle  = regexp.MustCompile(`style="[^"]*"`)
	svgColour = regexp.MustCompile(`#[0-9A-F]{6}`)
	// What the style sheet of a page says once.
	svgFont = regexp.MustCompile(`font-(family|variant|weight|style):[^;"]*;`)
)

// inline draws for a page: in its colours, which follow the reader's choice of light
// or dark, and on its ground. The label is for those who do not see the picture; where
// it is empty they miss nothing.
func (d drawing) inline(label string) (template.HTML, error) {
	text, err := d.svg(false)
	if err != nil {
		return "", err
	}
	_, text, ok := strings.Cut(text, "<svg ")
	if !ok {
		return "", fmt.Errorf("plot: no SVG in %.40q", text)
	}
	text = svgStyle.ReplaceAllStringFunc(text, func(style string) string {
		return svgColour.ReplaceAllStringFunc(svgFont.ReplaceAllString(style, ""), pageColour)
	})
	about := `aria-hidden="true"`
	if label != "" {
		about = fmt.Sprintf(`role="img" aria-label="%s"`, template.HTMLEscapeString(label))
	}
	return template.HTML("<svg " + about + " " + strings.TrimSpace(text)), nil
}

// pageColour is the style sheet's name of #RRGGBB. One that it does not know, which
// would be lost on a dark ground, is a mistake in this package.
func pageColour(hex string) string {
	v, err := strconv.ParseUint(hex[1:], 16, 32)
	name, ok := pageColours[color.RGBA{uint8(v >> 16), uint8(v >> 8), uint8(v), 255}]
	if err != nil || !ok {
		panic("report: a page has no colour " + hex)
	}
	return "var(--" + name + ")"
}

// picture puts a figure on a page.
func (f *Figure) picture() (*picture, error) {
	p := &picture{Caption: strings.TrimSpace(f.caption + " " + f.note), Wide: f.whole}
	for _, k := range f.keys {
		sample, err := k.sample()
		if err != nil {
			return nil, err
		}
		p.Keys = append(p.Keys, pictureKey{k.Name, sample})
	}
	if f.whole {
		svg, err := f.body().inline(f.title)
		p.Panels = []template.HTML{svg}
		return p, err
	}
	for _, panel := range f.panels {
		svg, err := drawing{panel.width, panel.height, panel.draw}.inline(f.title + ": " + panel.plot.Title.Text)
		if err != nil {
			return nil, err
		}
		p.Panels = append(p.Panels, svg)
	}
	return p, nil
}

// sample is a piece of the line, and the mark, that the key explains.
func (k Key) sample() (template.HTML, error) {
	const width, height = keyLine, 9
	return drawing{width, height, func(c draw.Canvas) {
		keysInLine{{LineStyle: k.LineStyle, mark: k.mark}}.draw(draw.Crop(c, -panelGap, 0, 0, 0), newPlot().Legend.TextStyle, height/2)
	}}.inline("")
}
