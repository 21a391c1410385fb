package report

import (
	"fmt"
	"io"
	"math"
	"strconv"

	"gonum.org/v1/plot"

	"github.com/dpreg/dpreg/calibration"
)

// population writes the summary of a study of a population, as Calibration does.
func (p *printer) population(s *calibration.Summary, times []calibration.Runtime) {
	header, rows, left := populationTable(s, times)
	p.do(func(w io.Writer) error { return grid(w, header, rows, left) })
	p.printf("\n")
	p.paragraph(populationLegend)
	p.paragraph(Judgement(calibration.Judge(s)))
}

// populationTable has a row for each cell and coefficient.
func populationTable(s *calibration.Summary, times []calibration.Runtime) (header []string, rows [][]string, left int) {
	several := len(tallies(s)) > 1
	header = []string{"n", "eps", "coefficient"}
	if several {
		header = []string{"n", "eps", "method", "noise", "coefficient"}
	}
	left = len(header)
	header = append(header, "95%", "50%", "LS 95%", "LS 50%", "margin", "width", "ratio", "contraction", "sharp", "sharp 95%", "unmixed", "divergent", "sec")
	for i := range s.Cells {
		c := &s.Cells[i]
		for j := range c.Quantities {
			q := &c.Quantities[j]
			row := []string{nonZero(float64(c.N)), nonZero(c.Epsilon)}
			if several {
				row = append(row, withKernel(c.Setting), c.Sensitivity)
			}
			row = append(append(row, q.Name), coefficientCells(q)...)
			seconds := ""
			if times != nil {
				seconds = number(times[i].Median, 3)
			}
			rows = append(rows, append(row, percentage(c.Unmixed), percentage(c.Divergent), seconds))
		}
	}
	return header, rows, left
}

// coefficientCells are those of a coefficient alone.
func coefficientCells(q *calibration.QuantitySummary) []string {
	of := q.Coefficient
	cells := []string{shareAndSE(&q.Coverage[level95]), shareAndSE(&q.Coverage[level50]), "", ""}
	if l := of.LeastSquares; l != nil {
		cells[2], cells[3] = shareAndSE(&l[level95]), shareAndSE(&l[level50])
	}
	fits, held := "", ""
	if of.Sharp != nil {
		fits, held = strconv.Itoa(of.Sharp.Of), shareAndSE(of.Sharp)
	}
	return append(cells, fmt.Sprintf("%+.0f", 100*q.Margin()), general(of.Width), decimals(of.Ratio, 2), decimals(of.Contraction, 3), fits, held)
}

// The places among calibration.Levels of the levels that a table of a population shows.
const (
	level50 = 0
	level95 = len(calibration.Levels) - 1
)

// shareAndSE is a share and its Monte Carlo standard error, per cent.
func shareAndSE(c *calibration.Coverage) string {
	return number(100*c.Share, 0) + " (" + number(100*c.SE(), 0) + ")"
}

func percentage(v *float64) string {
	if v == nil {
		return ""
	}
	return number(100**v, 0) + "%"
}

const populationLegend = "95%, 50%: how many per cent of such intervals hold the truth (Monte Carlo standard error); LS: those of least squares on the same rows without noise; " +
	"margin: by how much the first exceeds what is asked, 90, or 3 less than least squares if that is less; " +
	"width: of the 95% interval in the data's units, median; ratio: to that of least squares; contraction: of the posterior, median; " +
	"sharp: fits with a contraction of at least 0.9, and how many per cent of their 95% intervals hold the truth; unmixed: fits with an R-hat above 1.05; " +
	"divergent: of all transitions; sec: median seconds of a trial."

// Judgement says in words how slopes did.
func Judgement(v *calibration.Verdict) string {
	if v == nil {
		return ""
	}
	text := fmt.Sprintf("Slopes: %d of %s fall short of what is asked. The least margin is %+.0f, of %s.", v.Failing, count(v.Cells, "cell"), 100*v.Worst.Margin(), judged(v.Worst))
	if v.Sharp == nil {
		return text + " None has a contraction of 0.9."
	}
	return text + " Of those with a contraction of 0.9 the least covered is " + judged(v.Sharp) + "."
}

func judged(j *calibration.Judged) string {
	text := fmt.Sprintf("%s in %s, %s: %s%% hold it", j.Name, j.Population, cellName(j.Setting), shareAndSE(&j.Coverage[level95]))
	if l := j.Coefficient.LeastSquares; l != nil {
		text += ", " + shareAndSE(&l[level95]) + "% of least squares"
	}
	return text
}

// populationPlot draws by ε how often 95 % intervals hold each coefficient, and those of least
// squares: a panel for each n and coefficient.
func populationPlot(s *calibration.Summary) (*Figure, error) {
	v := newStudyView(s)
	var names []string
	for _, k := range v.keys {
		names = append(names, k.Name)
	}
	f := &Figure{Name: "coverage", title: "Coverage of 95 % intervals: " + s.Population, keys: SeriesKeys(append(names, "least squares without noise")...),
		caption: "Share of trials whose 95 % interval holds the coefficient of the population, with 95 % binomial intervals."}
	scenes := v.over(func(at *scene) { at.epsilon = 0 })
	var plots []*plot.Plot
	for _, name := range v.quantities {
		for _, at := range scenes {
			p := Panel(name+", "+v.name(at), "ε", "coverage, %")
			var cells []*calibration.CellSummary
			for i, who := range v.series {
				drawn, plain := &measured{}, &measured{}
				for _, c := range v.find(at, who) {
					q := quantity(c, name)
					if q == nil {
						continue
					}
					cells = append(cells, c)
					drawn.covered(c.Epsilon*math.Pow(seriesApart, float64(i)), &q.Coverage[level95])
					if l := q.Coefficient.LeastSquares; l != nil && i == 0 {
						plain.covered(c.Epsilon/seriesApart, &l[level95])
					}
				}
				if err := drawn.draw(p, f.keys[i]); err != nil {
					return nil, err
				}
				if err := plain.draw(p, f.keys[len(v.series)]); err != nil {
					return nil, err
				}
			}
			if cells == nil {
				continue
			}
			logarithmic(p, cells, epsilonOf)
			nominal, err := straight(p.X.Min, 95, p.X.Max, 95)
			if err != nil {
				return nil, err
			}
			p.Add(nominal)
			p.Y.Min, p.Y.Max = 0, 100
			plots = append(plots, p)
		}
	}
	f.arrange(plots, len(scenes))
	return f, nil
}

// covered adds a coverage, per cent.
func (m *measured) covered(x float64, c *calibration.Coverage) {
	m.add(x, 100*c.Share, 100*c.Lower, 100*c.Upper)
}
