package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/release"
)

// private says what the releases of a fit promise: one in words, of several a table and words.
func private(f *dpreg.Fit) (promises *table, words []string) {
	if len(f.Custodians) == 1 {
		r := f.Custodians[0].Release
		return nil, []string{promise(r), contents(r)}
	}
	t := custodiansTable(f)
	return &t, []string{custodiansWords(f)}
}

// custodiansWords go below the table of several releases.
func custodiansWords(f *dpreg.Fit) string {
	if !f.SameRows() {
		return "Each release is private by itself, for the rows of its custodian. A person of whom two custodians have rows loses what both releases cost together: their epsilons add up, and so do their deltas."
	}
	words := "All releases are of the same rows. A person loses what they cost together: their epsilons add up, and so do their deltas"
	if total := f.TotalPrivacy(); total != nil {
		words += fmt.Sprintf(", to epsilon = %s, delta = %s", exactly(total.Epsilon), exactly(total.Delta))
	}
	return words + "."
}

// terms are what a release says of its privacy.
type terms struct {
	epsilon, delta, neighbours, noise, sd string
}

// custodiansTable lists several releases and what each promises; of many, those that
// promise the same have one row.
func custodiansTable(f *dpreg.Fit) table {
	t := table{Header: []string{"Release", "n", "epsilon", "delta", "neighbours", "noise", "sd"}, Left: 1}
	var order []terms
	releases := map[terms][]dpreg.Custodian{}
	for _, c := range f.Custodians {
		p := termsOf(c.Release)
		if len(f.Custodians) <= mostCustodians {
			t.Rows = append(t.Rows, p.row([]dpreg.Custodian{c}))
		} else if releases[p] == nil {
			order = append(order, p)
		}
		releases[p] = append(releases[p], c)
	}
	for _, p := range order {
		t.Rows = append(t.Rows, p.row(releases[p]))
	}
	return t
}

func termsOf(r *release.Release) terms {
	p := terms{"not stated", "", string(r.Neighbours()), string(r.Noise.Kind), general(r.Noise.SD())}
	if r.Privacy != nil {
		p.epsilon, p.delta = exactly(r.Privacy.Epsilon), exactly(r.Privacy.Delta)
	}
	return p
}

// row is that of releases on the same terms.
func (p terms) row(all []dpreg.Custodian) []string {
	name, least, most := all[0].Name, all[0].Release.N, all[0].Release.N
	if len(all) > 1 {
		name = fmt.Sprintf("%d releases", len(all))
	}
	for _, c := range all {
		least, most = min(least, c.Release.N), max(most, c.Release.N)
	}
	n := strconv.FormatInt(least, 10)
	if most > least {
		n += " to " + strconv.FormatInt(most, 10)
	}
	if all[0].Release.Neighbours() == release.AddRemove {
		n = "about " + n
	}
	return []string{name, n, p.epsilon, p.delta, p.neighbours, p.noise, p.sd}
}

// subject says of what a fit is.
func subject(f *dpreg.Fit, u dpreg.Units) string {
	text := fmt.Sprintf("method %s, n = %d, %s units", f.Method, f.N, u)
	switch covariates, pooling := f.Sharing(); {
	case f.SameRows():
		text += fmt.Sprintf(", %d releases of the same rows", len(f.Custodians))
	case pooling != "":
		text += fmt.Sprintf(", %s pooling, %s covariates", pooling, covariates)
	}
	return text
}

// shrunk tells how far partial pooling drew custodians together; empty without.
func shrunk(f *dpreg.Fit, u dpreg.Units) string {
	shares := f.Shrinkage(u)
	if shares == nil {
		return ""
	}
	var parts []string
	labels := f.Summary(u, 0.5).Parameters
	for k, share := range shares {
		parts = append(parts, fmt.Sprintf("%s %.2f", labels[k].Label, share))
	}
	return "Shrinkage (0: each custodian has its own coefficient, 1: all have one): " + strings.Join(parts, ", ") + "."
}

// farthest returns the places of those custodians' coefficients that lie lowest and highest,
// of each coefficient and of sigma, where custodians are too many to show them all; nil otherwise.
func farthest(parameters []posterior.Parameter) map[int]bool {
	lowest, highest, most := map[model.Parameter]int{}, map[model.Parameter]int{}, 0
	for i, p := range parameters {
		of, _ := model.ParseParameter(p.Name)
		if of.Kind != model.ThetaAt && of.Kind != model.SigmaAt {
			continue
		}
		j, k := of.Custodian, model.Parameter{Kind: of.Kind, K: of.K}
		if _, ok := lowest[k]; !ok {
			lowest[k], highest[k] = i, i
		}
		if p.Mean < parameters[lowest[k]].Mean {
			lowest[k] = i
		}
		if p.Mean > parameters[highest[k]].Mean {
			highest[k] = i
		}
		most = max(most, j)
	}
	if most <= mostCustodians {
		return nil
	}
	places := map[int]bool{}
	for k := range lowest {
		places[lowest[k]], places[highest[k]] = true, true
	}
	return places
}

// leftOut says of which custodians the table has coefficients; empty where it has all.
func leftOut(s *posterior.Summary, all bool) string {
	if all || farthest(s.Parameters) == nil {
		return ""
	}
	return "Of each coefficient the table has the two custodians with the lowest and the highest estimate; --format csv or json has all."
}

// ofSimulated tells whether any release of a fit is.
func ofSimulated(f *dpreg.Fit) bool {
	return slices.ContainsFunc(f.Custodians, func(c dpreg.Custodian) bool { return c.Release.Simulated })
}
