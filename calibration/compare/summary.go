package compare

import (
	"math"
	"slices"

	"github.com/dpreg/dpreg/calibration"
)

// SummaryFormat is the first member of a summary's JSON.
const SummaryFormat = "dpreg-comparison/1"

// Summary says what the trials of a comparison tell. It does not depend on how long they
// took, and so is the same whenever the study is run again.
type Summary struct {
	Format string `json:"format"`
	// Table is the name of the file of real rows; empty where rows were simulated.
	Table  string        `json:"table,omitempty"`
	Note   string        `json:"note"`
	Trials int           `json:"trials"` // of each cell
	Seed   uint64        `json:"seed"`
	Delta  float64       `json:"delta"`
	Level  float64       `json:"level"` // of intervals
	Cells  []CellSummary `json:"cells"`
}

// CellSummary is a method on one of the data sets at one budget.
type CellSummary struct {
	calibration.Setting
	Failed int    `json:"failed"` // trials that ended with an error
	Capped int    `json:"capped"` // trials that met the sampler's limit
	Error  string `json:"error,omitempty"`
	// Refused: all trials failed, so that Error says why the method has no results.
	Refused  bool             `json:"refused"`
	Measures []MeasureSummary `json:"measures"` // those that the method has
}

// MeasureSummary is of one measure over the trials that have it.
type MeasureSummary struct {
	Name string   `json:"name"`
	Mean float64  `json:"mean"`
	SD   *float64 `json:"sd,omitempty"` // nil of one trial
	Of   int      `json:"of"`
}

// Get returns the summary of a measure, nil where the method has none.
func (c *CellSummary) Get(name string) *MeasureSummary {
	for i := range c.Measures {
		if c.Measures[i].Name == name {
			return &c.Measures[i]
		}
	}
	return nil
}

// unsound is the share of trials that may fail or be capped.
const unsound = 0.01

// Sound tells whether no more than 1 % of the trials failed or were capped. That a method
// refuses is a result.
func (c *CellSummary) Sound(trials int) bool {
	return c.Refused || float64(c.Failed+c.Capped) <= unsound*float64(trials)
}

// Summarise summarises the trials of the design's study.
func (d *Design) Summarise(s *calibration.Study, trials []*calibration.Trial) *Summary {
	sum := &Summary{Format: SummaryFormat, Note: d.note(), Trials: d.Trials, Seed: d.Seed, Delta: d.Delta, Level: Level, Cells: make([]CellSummary, len(s.Cells))}
	if d.Table != nil {
		sum.Table = d.Table.Name
	}
	values := make([]map[string][]float64, len(s.Cells))
	for i, c := range s.Cells {
		sum.Cells[i].Setting, values[i] = c.Setting, make(map[string][]float64)
	}
	for _, t := range trials {
		c := &sum.Cells[t.Cell]
		if t.Error != "" {
			if c.Failed++; c.Error == "" {
				c.Error = t.Error
			}
		}
		if t.Capped {
			c.Capped++
		}
		for _, m := range t.Measures {
			values[t.Cell][m.Name] = append(values[t.Cell][m.Name], m.Value)
		}
	}
	for i := range sum.Cells {
		c := &sum.Cells[i]
		c.Refused = c.Failed == d.Trials
		for _, name := range measureNames {
			if v := values[i][name]; v != nil {
				c.Measures = append(c.Measures, summarise(name, v))
			}
		}
	}
	return sum
}

func summarise(name string, values []float64) MeasureSummary {
	m, n := MeasureSummary{Name: name, Of: len(values)}, float64(len(values))
	for _, v := range values {
		m.Mean += v
	}
	m.Mean /= n
	if len(values) > 1 {
		squares := 0.
		for _, v := range values {
			squares += float64((v - m.Mean) * (v - m.Mean))
		}
		sd := math.Sqrt(squares / (n - 1))
		m.SD = &sd
	}
	return m
}

// Has tells which measures any cell has, in the order of tables.
func (s *Summary) Has() []string {
	return slices.DeleteFunc(slices.Clone(measureNames), func(name string) bool {
		return !slices.ContainsFunc(s.Cells, func(c CellSummary) bool { return c.Get(name) != nil })
	})
}

// note says what the data are.
func (d *Design) note() string {
	switch {
	case d.Table != nil:
		return "NO PRIVACY: all of this was computed from real rows, and its noise was simulated from the seed, which is in it. It is for those who may see the rows."
	case d.Data == calibration.Clamped:
		return "Rows follow the model, with parameters from the default prior, and are clamped to [-1, 1], as those of a release are. The noise is simulated: no privacy guarantee."
	}
	return "Rows follow the model, with parameters from the default prior, and are not clamped. The noise is simulated: no privacy guarantee."
}
