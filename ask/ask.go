// Package ask answers questions about a posterior: how probable is it that one coefficient is above
// another, what is their ratio, does the release speak for a slope of zero?
//
//	educ > 0            a probability
//	0 < educ < 5000     likewise
//	educ - 2*age        an estimate with its interval
//	educ = 2*age        likewise, of the difference, and the evidence for 0
//	R2, cor(age, educ)  moments of the columns
//	effect(educ)        a marginal effect
//
// A question costs no privacy: it is put to draws.
package ask

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/internal/number"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/schema"
)

// Posterior is what is asked: the draws of a fit, here or from files.
type Posterior struct {
	Draws      *posterior.Draws // named as Fit.StanDraws
	Units      dpreg.Units      // of the draws
	Design     *schema.Design
	Family     model.Family
	Custodians []string     // by whose names coefficients of partial pooling are labelled
	Prior      *model.Prior // in scaled units; nil: not known
}

// Of is the posterior of a fit.
func Of(f *dpreg.Fit, u dpreg.Units) *Posterior {
	return &Posterior{Draws: f.StanDraws(u), Units: u, Design: f.Design, Family: f.Family, Custodians: dpreg.Names(f.Custodians), Prior: f.Prior}
}

// Answers are those to questions, in their order.
type Answers struct {
	Format  string      `json:"format"` // Format
	Formula string      `json:"formula"`
	Units   dpreg.Units `json:"units"`
	Level   float64     `json:"level"` // of the intervals, which have equal tails
	Answers []Answer    `json:"answers"`
}

// Format is the first member of Answers' JSON.
const Format = "dpreg-answers/1"

// Answer is of the expression that was asked for: of a relation, of its left side less its
// right one; of a < b < c, of b. What does not exist is NaN, or nil.
type Answer struct {
	Question string  `json:"question"`
	Mean     float64 `json:"mean"`
	SD       float64 `json:"sd"`
	MCSEMean float64 `json:"mcse_mean"`
	Lower    float64 `json:"lower"`
	Median   float64 `json:"median"`
	Upper    float64 `json:"upper"`
	RHat     float64 `json:"rhat"`
	ESS      float64 `json:"ess"` // the smaller of bulk and tail

	// Probability is that of < and >; its Monte Carlo error is NaN where all draws agree.
	Probability *float64 `json:"probability"`
	MCSE        *float64 `json:"probability_mcse"`

	// Evidence is the Savage–Dickey ratio of an =, and of its logarithm the Monte Carlo error.
	Evidence *float64 `json:"bayes_factor_01"`
	LogMCSE  *float64 `json:"log_bayes_factor_mcse"`
	Reason   string   `json:"reason,omitzero"` // why there is no Evidence

	// Normal is the ratio if the posterior were normal, where too few draws lie near equality to
	// tell; 0 elsewhere.
	Normal float64 `json:"-"`
}

// Ask answers questions, with equal-tailed intervals at a level; 0 is posterior.DefaultLevel. Without
// a question it answers those of Usual.
//
// Errors: a question that cannot be read, a name that stands for nothing (with those nearest to
// it), an expression that some draws leave undefined, draws that are not of the design, a level
// outside (0, 1).
func (p *Posterior) Ask(level float64, questions ...string) (*Answers, error) {
	if level == 0 {
		level = posterior.DefaultLevel
	}
	if !(level > 0 && level < 1) {
		return nil, fmt.Errorf("level %v of the intervals: it must lie between 0 and 1", level)
	}
	n, err := newNames(p)
	if err != nil {
		return nil, err
	}
	if len(questions) == 0 {
		questions = append(n.usual(), n.effects()...)
	}
	all := &Answers{Format: Format, Formula: p.Design.Formula().String(), Units: p.Units, Level: level}
	for _, question := range questions {
		s, err := n.parse(question)
		if err != nil {
			return nil, err
		}
		answer, err := p.answer(s, level)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", question, err)
		}
		answer.Question = question
		all.Answers = append(all.Answers, *answer)
	}
	return all, nil
}

// usual are the questions that a table of coefficients leaves open: R², standardised
// coefficients, and means, standard deviations and correlations of the columns.
func (n *names) usual() (all []string) {
	covariates := n.columns[:len(n.columns)-1]
	if _, err := n.moments(); err != nil { // nothing but coefficients
		for _, at := range n.theta {
			all = append(all, n.spelt(n.labels[at])+" > 0")
		}
		return all
	}
	columns := n.columns
	switch {
	case n.Family != model.Normal:
		columns = covariates
	case len(covariates) > 0:
		all = append(all, "R2")
		for _, name := range covariates {
			all = append(all, "beta("+n.spelt(name)+")")
		}
	}
	for _, function := range []string{"mean", "sd"} {
		for _, name := range columns {
			all = append(all, function+"("+n.spelt(name)+")")
		}
	}
	for j, name := range columns {
		for _, other := range columns[:j] {
			all = append(all, "cor("+n.spelt(other)+", "+n.spelt(name)+")")
		}
	}
	return all
}

// answer answers one question.
func (p *Posterior) answer(s statement, level float64) (*Answer, error) {
	of := s.sides[0]
	switch len(s.relations) {
	case 1:
		of = s.sides[0].less(s.sides[1])
	case 2:
		of = s.sides[1]
	}
	undefined := false
	draws := p.Draws.Map([]string{"value", "holds"}, func(dst, src []float64) {
		dst[0] = of.at(src)
		undefined = undefined || math.IsNaN(dst[0]) || math.IsInf(dst[0], 0)
		if s.holds(src) {
			dst[1] = 1
		}
	})
	if draws.NumDraws() == 0 {
		return nil, fmt.Errorf("there are no draws")
	}
	if undefined {
		return nil, fmt.Errorf("some draws leave it undefined: a logarithm or a root of a negative number, a division by 0, or a number beyond 1e308, as exp of thousands is")
	}
	summary := posterior.Summarise(draws, level).Parameters
	value, holds := summary[0], summary[1]
	a := &Answer{Mean: value.Mean, SD: value.SD, MCSEMean: value.MCSEMean, Lower: value.Lower, Median: value.Q50, Upper: value.Upper, RHat: value.RHat, ESS: value.ESS()}
	switch {
	case len(s.relations) == 0:
	case s.relations[0] == "=":
		evidence, mcse, err := p.evidence(of, draws, &value)
		if err != nil {
			a.Reason, a.Normal = err.Error(), evidence
			break
		}
		a.Evidence, a.LogMCSE = &evidence, &mcse
	default:
		a.Probability, a.MCSE = &holds.Mean, &holds.MCSEMean
	}
	return a, nil
}

// holds tells whether all inequalities of a statement hold of a draw.
func (s *statement) holds(draw []float64) bool {
	for i, relation := range s.relations {
		left, right := s.sides[i].at(draw), s.sides[i+1].at(draw)
		if relation == "<" && !(left < right) || relation == ">" && !(left > right) {
			return false
		}
	}
	return true
}

// WriteJSON writes the answers, numbers in full precision, null for what does not exist.
func (a *Answers) WriteJSON(w io.Writer) error { return number.Lines(w, a) }

// WriteCSV writes a line for each answer under the names of the JSON's members.
func (a *Answers) WriteCSV(w io.Writer) error {
	records := [][]string{{"question", "mean", "sd", "mcse_mean", "lower", "median", "upper", "rhat", "ess", "probability", "probability_mcse", "bayes_factor_01", "log_bayes_factor_mcse"}}
	for _, x := range a.Answers {
		values := number.CSVs(x.Mean, x.SD, x.MCSEMean, x.Lower, x.Median, x.Upper, x.RHat, x.ESS, number.Known(x.Probability), number.Known(x.MCSE), number.Known(x.Evidence), number.Known(x.LogMCSE))
		records = append(records, append([]string{x.Question}, values...))
	}
	return csv.NewWriter(w).WriteAll(records)
}
