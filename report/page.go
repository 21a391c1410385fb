package report

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"html"
	"html/template"
	"image/color"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// page is a report that a browser shows: one file of HTML that needs no other, no
// network and no script. Its parts are values, so that any result can have a page.
type page struct {
	Title    string
	Lead     string   // what it is, in a sentence
	Alerts   []string // what must not be missed
	Sections []section
}

type section struct {
	Title  string
	Blocks []block
}

// picture is a figure on a page.
type picture struct {
	Caption string
	Keys    []pictureKey
	Panels  []template.HTML // SVG
	Wide    bool            // one panel that keeps its width on a narrow screen
}

type pictureKey struct {
	Name   string
	Sample template.HTML // SVG
}

// Run says how a result was made, and how to make it again.
type Run struct {
	Command string // as it was given
	Repeat  string // what repeats it at no further cost; empty: Command
	Version string // of the program
	Release string // the release's file; empty: none
	Digest  string // SHA-256 of that file, in hexadecimal
	Method  string // as asked for; the result says which one was taken
}

var (
	//go:embed page.html
	pageHTML string
	//go:embed page.css
	pageCSS string

	pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
		"style": Style,
		// A command breaks between words, and not after the first dash of a flag.
		"words": strings.Fields,
	}).Parse(pageHTML))
)

// Style is the style of pages, for one that FitBody is a part of.
func Style() template.CSS { return template.CSS(pageCSS) }

// write writes the page, or nothing where a part of it cannot be made.
func (p *page) write(w io.Writer) error { return p.writePart(w, "page") }

func (p *page) writePart(w io.Writer, name string) error {
	var whole bytes.Buffer
	if err := pageTemplate.ExecuteTemplate(&whole, name, p); err != nil {
		return err
	}
	_, err := whole.WriteTo(w)
	return err
}

// add puts a section at the end, unless it is empty.
func (p *page) add(title string, parts ...[]block) {
	if blocks := slices.Concat(parts...); blocks != nil {
		p.Sections = append(p.Sections, section{title, blocks})
	}
}

// addRepeat ends a page: how to come by the same result.
func (p *page) addRepeat(r Run, how string, facts ...fact) {
	if r.Release != "" {
		facts = append(facts, fact{"Release", r.Release}, fact{"SHA-256 of the release", r.Digest})
	}
	facts = append(facts, fact{"Version of dpreg", r.Version})
	p.add("How to repeat it", []block{{Text: how}, {Command: cmp.Or(r.Repeat, r.Command)}, {Facts: facts}})
}

// picturesOf makes a block of each figure whose name begins with one of these.
func picturesOf(figures []*Figure, names ...string) (blocks []block) {
	for _, name := range names {
		for _, f := range figures {
			if strings.HasPrefix(f.Name, name) {
				blocks = append(blocks, block{Picture: f.picture()})
			}
		}
	}
	return blocks
}

// PlotFormats are the formats of pictures, and the extensions of their files.
var PlotFormats = []string{"svg", "png"}

// resolution of a PNG, in dots per inch: enough for print.
const resolution = 192

// svgFonts are for viewers that lack Liberation Sans: Arial and Helvetica have its
// widths, so that what was laid out with one stands with the others.
const svgFonts = "font-family:Liberation Sans,Arial,Helvetica,sans-serif"

// drawing is something to draw on a canvas of a size.
type drawing struct {
	width, height vg.Length
	draw          func(draw.Canvas)
}

// write draws in a format of PlotFormats, on white.
func (d drawing) write(w io.Writer, format string) error {
	if !slices.Contains(PlotFormats, format) {
		return fmt.Errorf("plot: format %q is none of %s", format, strings.Join(PlotFormats, ", "))
	}
	if format == "png" {
		c := vgimg.NewWith(vgimg.UseWH(d.width, d.height), vgimg.UseDPI(resolution))
		d.draw(draw.New(c))
		_, err := vgimg.PngCanvas{Canvas: c}.WriteTo(w)
		return err
	}
	_, err := io.WriteString(w, d.svg(true))
	return err
}

// svg draws on white, or on nothing.
func (d drawing) svg(ground bool) string {
	c := vgsvg.New(d.width, d.height)
	area := draw.New(c)
	if ground {
		area.SetColor(white)
		area.Fill(area.Rectangle.Path())
	}
	d.draw(area)
	var b strings.Builder
	if _, err := c.WriteTo(&b); err != nil {
		panic(err) // not of a Builder
	}
	text := strings.ReplaceAll(b.String(), "font-family:Liberation Sans", svgFonts)
	return svgText.ReplaceAllStringFunc(text, withLength)
}

// svgText is a text of vgsvg: its attributes, the font's size, and what it says.
var svgText = regexp.MustCompile(`<text ([^>]*font-size:([0-9.]+)px[^>]*)>([^<]*)</text>`)

// withLength tells a viewer how long a text was laid out, so that one that has none
// of the fonts fits its own into the room.
func withLength(text string) string {
	part := svgText.FindStringSubmatch(text)
	size, err := strconv.ParseFloat(part[2], 64)
	if err != nil {
		return text
	}
	style := newPlot().Title.TextStyle
	style.Font = sans(vg.Points(size))
	return fmt.Sprintf(`<text textLength="%.1f" lengthAdjust="spacingAndGlyphs" %s>%s</text>`, style.Width(html.UnescapeString(part[3])).Points(), part[1], part[3])
}

func sans(size vg.Length) font.Font {
	f := font.From(plot.DefaultFont, size)
	f.Variant = "Sans"
	return f
}

// newPlot returns a plot in the font of pictures, without a ground of its own.
func newPlot() *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	for _, s := range []struct {
		style *text.Style
		size  vg.Length
	}{
		{&p.Title.TextStyle, 12}, {&p.Legend.TextStyle, 10},
		{&p.X.Label.TextStyle, 10}, {&p.X.Tick.Label, 9}, {&p.Y.Label.TextStyle, 10}, {&p.Y.Tick.Label, 9},
	} {
		s.style.Font = sans(s.size)
	}
	p.X.Tick.Marker, p.Y.Tick.Marker = linearTicks{room: panelRoom}, linearTicks{room: pageRoom}
	p.Add(room{})
	return p
}

// room keeps the labels of the X axis inside the panel on the left, as plot does on
// the right.
type room struct{}

// Plot implements plot.Plotter, and draws nothing.
func (room) Plot(draw.Canvas, *plot.Plot) {}

// GlyphBoxes implements plot.GlyphBoxer.
func (room) GlyphBoxes(p *plot.Plot) []plot.GlyphBox {
	var boxes []plot.GlyphBox
	for _, t := range p.X.Tick.Marker.Ticks(p.X.Min, p.X.Max) {
		if !t.IsMinor() {
			boxes = append(boxes, plot.GlyphBox{X: p.X.Norm(t.Value), Rectangle: vg.Rectangle{
				Min: vg.Point{X: -p.X.Tick.Label.Width(t.Label) / 2}, Max: vg.Point{X: p.X.Tick.Label.Width(t.Label) / 2},
			}})
		}
	}
	return boxes
}

var (
	svgStyle  = regexp.MustCompile(`style="[^"]*"`)
	svgColour = regexp.MustCompile(`#[0-9A-F]{6}`)
	// What the style sheet of a page says once.
	svgFont = regexp.MustCompile(`font-(family|variant|weight|style):[^;"]*;`)
)

// inline draws for a page: in its colours, which follow the reader's choice of light
// or dark, and on its ground. The label is for those who do not see the picture; where
// it is empty they miss nothing.
func (d drawing) inline(label string) template.HTML {
	_, text, _ := strings.Cut(d.svg(false), "<svg ")
	text = svgStyle.ReplaceAllStringFunc(text, func(style string) string {
		return svgColour.ReplaceAllStringFunc(svgFont.ReplaceAllString(style, ""), pageColour)
	})
	about := `aria-hidden="true"`
	if label != "" {
		about = fmt.Sprintf(`role="img" aria-label="%s"`, template.HTMLEscapeString(label))
	}
	return template.HTML("<svg " + about + " " + strings.TrimSpace(text))
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

func (f *Figure) picture() *picture {
	p := &picture{Caption: strings.TrimSpace(f.caption + " " + f.note), Wide: f.whole}
	for _, k := range f.keys {
		p.Keys = append(p.Keys, pictureKey{k.Name, k.sample()})
	}
	if f.whole {
		p.Panels = []template.HTML{f.body().inline(f.title)}
		return p
	}
	for _, panel := range f.panels {
		p.Panels = append(p.Panels, drawing{panel.width, panel.height, panel.draw}.inline(f.title+": "+panel.plot.Title.Text))
	}
	return p
}

// sample is a piece of the line, and the mark, that the key explains.
func (k key) sample() template.HTML {
	const width, height = keyLine, 9
	return drawing{width, height, func(c draw.Canvas) {
		keysInLine{{LineStyle: k.LineStyle, mark: k.mark}}.draw(draw.Crop(c, -panelGap, 0, 0, 0), newPlot().Legend.TextStyle, height/2)
	}}.inline("")
}

// The colours of pictures. Those of series are Okabe and Ito's (2008), told apart
// with any common colour blindness and by their lightness in grey; series differ in
// their marks or dashes besides, or stand apart. All are opaque: a page finds them
// in the picture again, and gives each its counterpart on a dark ground.
var (
	black      = color.RGBA{A: 255}
	white      = color.RGBA{255, 255, 255, 255}
	grey       = color.RGBA{110, 110, 110, 255}
	middleGrey = color.RGBA{170, 170, 170, 255}
	lightGrey  = color.RGBA{225, 225, 225, 255}
	blue       = color.RGBA{0, 114, 178, 255}
	lightBlue  = color.RGBA{153, 199, 224, 255}
	vermilion  = color.RGBA{213, 94, 0, 255}
	green      = color.RGBA{0, 158, 115, 255}
	purple     = color.RGBA{204, 121, 167, 255}
	orange     = color.RGBA{230, 159, 0, 255}
	sky        = color.RGBA{86, 180, 233, 255}
)

// pageColours names each colour as the style sheet of a page does.
var pageColours = map[color.RGBA]string{
	black: "ink", white: "paper", grey: "grey", middleGrey: "middle-grey", lightGrey: "light-grey",
	blue: "blue", lightBlue: "light-blue", vermilion: "vermilion", green: "green", purple: "purple", orange: "orange", sky: "sky",
}
