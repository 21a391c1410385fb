package report

import (
	"fmt"
	"html/template"
	"image/color"
	"regexp"
	"strconv"
	"strings"
)

var (
	svgStyle  = regexp.MustCompile(`style="[^"]*"`)
	svgColour = regexp.MustCompile(`#[0-9A-F]{6}`)
	// What the style sheet of a page says once.
	svgFont = regexp.MustCompile(`font-(family|variant|weight|style):[^;"]*;`)
)

// inline draws for a page: in its colours, which follow the reader's choice of light
// or dark, and on its ground. The label is for those who do not see the picture.
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
	return template.HTML(fmt.Sprintf(`<svg role="img" aria-label="%s" `, template.HTMLEscapeString(label)) + strings.TrimSpace(text)), nil
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
	p := &picture{Caption: f.caption, Wide: f.whole}
	for _, k := range f.keys {
		p.Keys = append(p.Keys, pictureKey{k.name, k.sample()})
	}
	if f.whole {
		svg, err := f.body().inline(f.title)
		p.Panels = []template.HTML{svg}
		return p, err
	}
	for _, panel := range f.panels {
		svg, err := drawing{panel.width, panel.height, panel.plot.Draw}.inline(f.title + ": " + panel.plot.Title.Text)
		if err != nil {
			return nil, err
		}
		p.Panels = append(p.Panels, svg)
	}
	return p, nil
}

// sample is a piece of the line that the key explains.
func (k key) sample() template.HTML {
	dashes := []string{"none"}
	for i, d := range k.Dashes {
		dashes = append(dashes[:i], strconv.FormatFloat(d.Points(), 'g', -1, 64))
	}
	r, g, b, _ := k.Color.RGBA()
	return template.HTML(fmt.Sprintf(`<svg viewBox="0 0 24 8" aria-hidden="true"><path d="M0,4H24" style="stroke:%s;stroke-width:%g;stroke-dasharray:%s"/></svg>`,
		pageColour(fmt.Sprintf("#%02X%02X%02X", r>>8, g>>8, b>>8)), k.Width.Points(), strings.Join(dashes, ",")))
}

// picture puts a drawing on a page that has no panels.
func (d drawing) picture(label, caption string) (*picture, error) {
	svg, err := d.inline(label)
	return &picture{Caption: caption, Panels: []template.HTML{svg}, Wide: true}, err
}
