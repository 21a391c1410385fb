package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/mcmc"
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
		s.leftOut += fmt.Sprintf("Not shown: %s whose draws do not move. ", Count(still, "parameter"))
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
	posteriorKey = key{Name: "posterior", LineStyle: draw.LineStyle{Color: blue, Width: 1.8}}
	naiveKey     = key{Name: "naive: noise ignored", LineStyle: draw.LineStyle{Color: vermilion, Width: 1.5, Dashes: []vg.Length{6, 3}}}
	priorKey     = key{Name: "prior", LineStyle: draw.LineStyle{Color: grey, Width: 1.5, Dashes: []vg.Length{1.5, 2.5}}}
)

// posterior draws the densities of each parameter: posterior, prior, naive.
func (s *shown) posterior(naive *dpreg.Fit) *Figure {
	f := &Figure{
		Name: "posterior", title: "Posterior against prior",
		keys:    []key{posteriorKey},
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
	p := axes(parameter.title, "", "")
	p.HideY()
	low, high := c.posterior[0].X, c.posterior[densityPoints].X
	top := min(tallest*highest(c.posterior), max(highest(c.posterior), highest(c.naive), highest(c.prior)))
	p.Y.Min, p.Y.Max = 0, 1.06*top
	tint(p, c.posterior, parameter.Lower, parameter.Upper)
	if low < 0 && high > 0 {
		upright(p, 0)
	}
	naiveKey.add(p, c.naive)
	posteriorKey.add(p, c.posterior)
	priorKey.add(p, c.prior)
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

// The points of a curve of density, the part of the draws that lie beyond either side
// of its core, and its reach beyond that, in lengths of the core; the kernel's reach, in
// bandwidths; the bins of a bandwidth, and the least bandwidth's part of an sd.
const (
	densityPoints = 160
	beyondCore    = 0.01
	coreReach     = 0.25
	kernelReach   = 5
	densityBins   = 8
	leastSpread   = 0.01
)

// density estimates the density that a parameter's draws come from, on their range, with a normal kernel of Silverman's (1986, eq. 3.31) bandwidth
//
//	h = 0.9 min(sd, IQR/1.34) N^(-1/5),   N the effective number of draws.
//
// Draws are binned first, h/8 wide, which adds a part in 768 to the kernel's
// variance. Of a positive parameter the kernel is folded at 0.
func density(p *posterior.Parameter, chains [][]float64) plotter.XYs {
	h := bandwidth(p, chains)
	low, high := densityRange(p, chains)
	first, width := low-kernelReach*h, h/densityBins
	bins := make([]float64, int((high-low+2*kernelReach*h)/width)+1)
	total := 0.0
	for _, chain := range chains {
		total += float64(len(chain))
		for _, x := range chain {
			if i := math.Floor((x - first) / width); i >= 0 && i < float64(len(bins)) {
				bins[int(i)]++
			}
			if i := math.Floor((-x - first) / width); isPositive(p) && i >= 0 && i < float64(len(bins)) {
				bins[int(i)]++
			}
		}
	}
	points := make(plotter.XYs, densityPoints+1)
	for i := range points {
		x := low + (high-low)*float64(i)/densityPoints
		points[i].X = x
		at := int((x - first) / width)
		for k := max(0, at-kernelReach*densityBins); k < min(len(bins), at+kernelReach*densityBins); k++ {
			u := (x-first)/h - (float64(k)+0.5)/densityBins
			points[i].Y += bins[k] * math.Exp(-u*u/2)
		}
		points[i].Y /= total * h * math.Sqrt(2*math.Pi)
	}
	return points
}

// densityRange holds the bulk of draws, however heavy their tails: ± 3.5 sds of normal
// ones.
func densityRange(p *posterior.Parameter, chains [][]float64) (low, high float64) {
	all := slices.Concat(chains...)
	slices.Sort(all)
	low, high = stat.Quantile(beyondCore, stat.Empirical, all, nil), stat.Quantile(1-beyondCore, stat.Empirical, all, nil)
	reach := coreReach * (high - low)
	low, high = min(low-reach, p.Mean-p.SD), max(high+reach, p.Mean+p.SD)
	if isPositive(p) {
		low = max(low, 0)
	}
	return low, high
}

func bandwidth(p *posterior.Parameter, chains [][]float64) float64 {
	spread := max(min(p.SD, (p.Q75-p.Q25)/1.34), leastSpread*p.SD)
	size := p.ESSBulk
	if !(size > 1) {
		size = float64(len(chains) * len(chains[0]))
	}
	return 0.9 * spread * math.Pow(size, -0.2)
}

// isPositive tells a parameter that cannot be negative.
func isPositive(p *posterior.Parameter) bool { return p.Name == "sigma" }

// The number of laws that a density of σ is averaged over, and of θ, whose laws are alike.
const priorDraws, thetaDraws = 10_000, 1000

// priorDensities returns the marginal prior densities of a fit's θ, σ² and σ, in the
// order of Draws, in the units: the means of those given free scales a, and for θ given σ², of
// draws a_i of the prior and σ_i² at quantiles of InvGamma(a₀, b₀(a_i)),
//
//	p(θ_k) = Σ_i N(θ_k; μ₀k, V_ikk)/I,   p(σ²) = Σ_i InvGamma(σ²; a₀, b₀(a_i))/I,   p(σ) = 2σ p(σ²).
//
// It is nil where the prior cannot be stated in the units in float64.
func priorDensities(f *dpreg.Fit, u dpreg.Units) []func(float64) float64 {
	prior := f.Prior
	if u == dpreg.Original {
		var err error
		if prior, err = f.Prior.Original(f.Frame()); err != nil {
			return nil
		}
	}
	mixture, rng := model.NewMixture(prior), mcmc.Stream(0, 0)
	shape := prior.Theta.Shape
	gamma := distuv.Gamma{Alpha: shape, Beta: 1}
	sds, scales := make([][]float64, thetaDraws), make([]float64, priorDraws)
	for i := range scales {
		mixture.DrawPrior(rng)
		scales[i] = mixture.Theta.Scale
		if i < thetaDraws {
			sds[i] = make([]float64, prior.Theta.Dim())
			mixture.ThetaSD(sds[i], scales[i]/gamma.Quantile((float64(i)+0.5)/thetaDraws))
		}
	}
	var densities []func(float64) float64
	for k, mean := range prior.Theta.Mean {
		densities = append(densities, func(x float64) (p float64) {
			for _, sd := range sds {
				z := (x - mean) / sd[k]
				p += math.Exp(-z*z/2) / sd[k]
			}
			return p / (thetaDraws * math.Sqrt(2*math.Pi))
		})
	}
	norm, _ := math.Lgamma(shape)
	logs := make([]float64, priorDraws) // of what does not depend on σ²
	for i, b := range scales {
		logs[i] = shape*math.Log(b) - norm
	}
	sigma2 := func(v float64) (p float64) {
		of := shape * math.Log(v)
		for i, b := range scales {
			p += math.Exp(logs[i] - of - b/v)
		}
		return p / (v * priorDraws)
	}
	return append(densities, sigma2, func(s float64) float64 {
		if s <= 0 {
			return 0
		}
		return 2 * s * sigma2(s*s)
	})
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
	q, shown, what := len(s.fit.Shrinkage(s.units)), min(len(s.fit.Custodians), mostCustodians), "Coefficients and sigma"
	sigmas := 1
	if s.fit.Family != model.Normal {
		what, sigmas = "Coefficients", 0
	}
	f := &Figure{
		Name: CustodiansPlot, title: "Custodians' " + strings.ToLower(what) + " about common ones",
		keys:    []key{{Name: percent(s.level) + " % interval", LineStyle: wideLine}, {Name: "50 %", LineStyle: halfLine}, {Name: "mean", mark: barMark}},
		caption: what + " of each custodian and, below the line, the common ones that they lie about. " + shrunk(s.fit, s.units),
	}
	if shown < len(s.fit.Custodians) {
		f.note = fmt.Sprintf("Shown are the first %d of %d custodians; the table has all. ", shown, len(s.fit.Custodians))
	}
	coefficients := min(q, mostPanels-sigmas)
	if coefficients < q {
		f.note += fmt.Sprintf("Shown are the first %d of %d coefficients; --save writes the draws of all.", coefficients, q)
	}
	var labels []string
	names := dpreg.Names(s.fit.Custodians[:shown])
	title, short := titlesOf(all), shortNames(newPlot().Y.Tick.Label, custodianName, names...)
	for _, name := range names {
		labels = append(labels, short[name])
	}
	labels = append(labels, "common")
	for k := range coefficients + sigmas {
		common := k
		if k == coefficients {
			k = q
			common = slices.IndexFunc(all, func(p posterior.Parameter) bool { return p.Name == "sigma" })
		}
		rows := make([]*posterior.Parameter, 0, shown+1)
		for j := range shown {
			rows = append(rows, &all[first+j*(q+sigmas)+k])
		}
		drawn := drawCustodians(title[all[common].Label], labels, append(rows, &all[common]))
		f.panels = append(f.panels, panel{plot: drawn, width: custodiansWidth, height: custodiansMargin + vg.Length(shown+1)*custodianHeight})
	}
	return f
}

// drawCustodians draws rows from top to bottom, the last one below a line.
func drawCustodians(title string, names []string, rows []*posterior.Parameter) *plot.Plot {
	p, drawn := axes(title, "", ""), &bars{wide: wideLine, half: halfLine, mark: barMark}
	last := len(rows) - 1
	low, high := rows[last].Lower, rows[last].Upper
	for i, r := range rows {
		drawn.all = append(drawn.all, bar{-float64(i), r.Lower, r.Upper, max(r.Q25, r.Lower), min(r.Q75, r.Upper), r.Mean})
		low, high = min(low, r.Lower), max(high, r.Upper)
	}
	room := (high - low) / 25
	low, high = low-room, high+room
	nameRows(p, names)
	zeroLine.add(p, plotter.XYs{{X: low, Y: 0.5 - float64(last)}, {X: high, Y: 0.5 - float64(last)}})
	if low < 0 && high > 0 {
		upright(p, 0)
	}
	p.Add(drawn)
	p.X.Min, p.X.Max, p.X.Tick.Marker = low, high, linearTicks{room: namesRoom}
	return p
}
