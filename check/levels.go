package check

import (
	"slices"

	"github.com/dpreg/dpreg/model"
)

// Names of blocks of sums by levels, between which there are none where covariates are categories alone.
const (
	RowsOfLevels   = "rows of levels"
	SumsOfYByLevel = "sums of y by level"
)

// byLevels are what there is of sums by levels, which of several looks are in a frame, or of all rows.
type byLevels struct {
	entries       []model.Monomial
	dummies, last int  // last of the columns behind the dummies is the response; -1: none is
	known         int  // the entry that no noise is on, which tells nothing of a law; -1: there is none
	plain         bool // of all rows, as if of one level
}

// blocks are counts, sums within levels and products, of x and of y, and all; of all rows there are no counts, and all the
// others.
func (l byLevels) blocks() []checkBlock {
	all := []checkBlock{{name: RowsOfLevels}, {name: "sums of x by level"}, {name: "sums of x x'"}, {name: SumsOfYByLevel}, {name: "sums of x y"}, {name: "sum of y²"}, {name: "all sums"}}
	if l.plain {
		all[1].name, all[3].name = "sums of x", "sum of y"
	}
	for e, entry := range l.entries {
		if e == l.known {
			continue
		}
		at, y := 0, len(entry.Of) > 0 && entry.Of[len(entry.Of)-1] == l.last
		switch {
		case len(entry.Of) == 1 && !y:
			at = 1
		case len(entry.Of) == 2 && !y:
			at = 2
		case len(entry.Of) == 1:
			at = 3
		case len(entry.Of) == 2 && entry.Of[0] < l.last:
			at = 4
		case len(entry.Of) == 2:
			at = 5
		}
		all[at].entries = append(all[at].entries, e)
		all[6].entries = append(all[6].entries, e)
	}
	all = slices.DeleteFunc(all, func(b checkBlock) bool { return len(b.entries) == 0 && (!l.plain || b.name == RowsOfLevels) })
	for k := range all {
		n := len(all[k].entries)
		all[k].chol, all[k].scaled = make([]float64, n*n), make([]float64, n)
	}
	return all
}

// labels are those of the entries, of levels and columns of these names.
func (l byLevels) labels(levels, columns []string) (labels []string) {
	for _, e := range l.entries {
		label := "1"
		for i, j := range e.Of {
			switch name := columns[l.dummies+j]; {
			case i == 0:
				label = name
			case j == e.Of[0]:
				label += "²"
			default:
				label += " × " + name
			}
		}
		if e.Level >= 0 && !l.plain {
			label += " in " + levels[e.Level]
		}
		labels = append(labels, label)
	}
	return labels
}
