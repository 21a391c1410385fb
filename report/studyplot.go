package report

import (
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"

	"github.com/dpreg/dpreg/calibration"
	"github.com/dpreg/dpreg/gibbs"
	"github.com/dpreg/dpreg/model"
)

// mostCoefficients is how many coefficients have figures of their own; σ² and the
// log-likelihood always have.
const mostCoefficients = 4

// CalibrationPlots draws the summary of a study: for each quantity the
// difference of the empirical distribution function of ranks and that of uniform ones,
// and coverage; the Kolmogorov–Smirnov statistic by n and by ε, MMD², and, where times
// is not nil, runtime. There is none of what no cell has. Of a population it draws coverage
// by cell alone.
func CalibrationPlots(s *calibration.Summary, times []calibration.Runtime) []*Figure {
	v := newStudyView(s)
	if s.Population != "" {
		return []*Figure{v.population()}
	}
	var figures []*Figure
	for _, name := range v.quantities {
		figures = append(figures, v.ecdf(name), v.coverage(name))
	}
	for _, w := range v.sweeps(times) {
		f := &Figure{Name: w.name, title: w.title, caption: w.caption, keys: v.keys}
		scenes := v.over(w.leaveOut)
		f.arrange(v.sweep(w, scenes, v.keys, v.name), columns(scenes))
		figures = append(figures, f)
	}
	return slices.DeleteFunc(figures, func(f *Figure) bool { return f == nil || len(f.panels) == 0 })
}

// scene is what a panel shows: a part of a setting, zero where a panel has several.
type scene calibration.Setting

// studyView sorts the cells of a study into scenes and series.
type studyView struct {
	summary    *calibration.Summary
	scenes     []scene // noise, p, n, ε, in this order
	series     []calibration.Setting
	keys       []key
	lines      []key // without marks
	quantities []string
	bands      map[int]*calibration.Band

	coefficients int // the most of a cell
}

// note says which quantities have no figures; empty: all have.
func (v *studyView) note() string {
	if v.coefficients <= mostCoefficients {
		return ""
	}
	return fmt.Sprintf("Of %d coefficients the first %d have such pictures; those of the Kolmogorov–Smirnov statistic are of all.", v.coefficients, mostCoefficients)
}

func newStudyView(s *calibration.Summary) *studyView {
	v := &studyView{summary: s, bands: make(map[int]*calibration.Band)}
	// Where some method bears noise, the scenes have one.
	noisy := slices.ContainsFunc(s.Cells, func(c calibration.CellSummary) bool { return c.Sensitivity != "" })
	for _, c := range s.Cells {
		if who := seriesOfCell(c.Setting); !slices.Contains(v.series, who) {
			v.series = append(v.series, who)
		}
		at := scene{Sensitivity: c.Sensitivity, P: c.P, N: c.N, Epsilon: c.Epsilon}
		if !slices.Contains(v.scenes, at) && (c.Sensitivity != "" || !noisy) {
			v.scenes = append(v.scenes, at)
		}
		for _, q := range c.Quantities {
			p, ok := model.ParseParameter(q.Name)
			if ok && (p.Kind == model.MuX || p.Kind == model.Tau) || slices.Contains(v.quantities, q.Name) {
				continue
			}
			if ok && p.Kind == model.Theta {
				if v.coefficients = max(v.coefficients, p.K+1); p.K >= mostCoefficients {
					continue
				}
			}
			v.quantities = append(v.quantities, q.Name)
		}
	}
	slices.SortStableFunc(v.scenes, func(a, b scene) int { return strings.Compare(b.Sensitivity, a.Sensitivity) })
	var names []string
	for _, who := range v.series {
		names = append(names, v.seriesName(who))
	}
	v.keys, v.lines = seriesKeys(names...), seriesKeys(names...)
	for i := range v.keys {
		v.keys[i].Dashes = seriesDashes[i%len(seriesDashes)]
		v.lines[i] = key{Name: v.keys[i].Name, LineStyle: v.keys[i].LineStyle}
	}
	return v
}

// seriesDashes tell lines apart where colours do not.
var seriesDashes = [][]vg.Length{nil, {6, 2}, {2, 2}, {8, 2, 2, 2}, {4, 4}, {1, 1}, {10, 3}}

// seriesOfCell is the part of a setting that a line stands for.
func seriesOfCell(c calibration.Setting) calibration.Setting {
	return calibration.Setting{Method: c.Method, Kernel: c.Kernel, Run: c.Run}
}

// seriesName is a method's name; its kernel, but for the default one, and its run are
// added where there are others of the same name.
func (v *studyView) seriesName(who calibration.Setting) string {
	name, same := withKernel(who), 0
	for _, other := range v.series {
		if withKernel(other) == name {
			same++
		}
	}
	if same > 1 {
		name += ", " + who.Run
	}
	return name
}

func withKernel(c calibration.Setting) string {
	if c.Kernel == string(gibbs.Plain) {
		return c.Method + ", " + c.Kernel
	}
	return c.Method
}

// find returns the cell of a series in a scene, which may leave out n or ε for every of
// them; what bears no noise is in scenes of any.
func (v *studyView) find(at scene, who calibration.Setting) []*calibration.CellSummary {
	var cells []*calibration.CellSummary
	for i := range v.summary.Cells {
		c := &v.summary.Cells[i]
		if seriesOfCell(c.Setting) == who && c.P == at.P && (at.N == 0 || c.N == at.N) && (at.Epsilon == 0 || c.Epsilon == at.Epsilon) &&
			(c.Sensitivity == at.Sensitivity || c.Sensitivity == "") {
			cells = append(cells, c)
		}
	}
	return cells
}

// over lists the scenes with a part left out.
func (v *studyView) over(leaveOut func(*scene)) []scene {
	var scenes []scene
	for _, at := range v.scenes {
		leaveOut(&at)
		if !slices.Contains(scenes, at) {
			scenes = append(scenes, at)
		}
	}
	return scenes
}

// name is the title of a scene's panel: what it does not share with all others.
func (v *studyView) name(at scene) string {
	var parts []string
	if at.N > 0 {
		parts = append(parts, fmt.Sprintf("n = %d", at.N))
	}
	if at.Epsilon > 0 {
		parts = append(parts, "ε = "+exactly(at.Epsilon))
	}
	if slices.ContainsFunc(v.scenes, func(o scene) bool { return o.P != at.P }) {
		parts = append(parts, fmt.Sprintf("p = %d", at.P))
	}
	if slices.ContainsFunc(v.scenes, func(o scene) bool { return o.Sensitivity != at.Sensitivity }) {
		parts = append(parts, at.Sensitivity+" noise")
	}
	return strings.Join(parts, ", ")
}
