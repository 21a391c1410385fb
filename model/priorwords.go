package model

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/dpreg/dpreg/schema"
)

// Statement is one line of a prior in words, in data units:
//
//	educ ~ normal(4000, 2000)       a coefficient, by its name in summaries: mean, sd
//	(Intercept) ~ normal(3e4, 1e5)  the line at the centre of x, which Prior.Words names
//	sigma ~ half_t(3, 5000)         degrees of freedom, scale; or half_normal(s), half_cauchy(s)
//	sd(educ) ~ half_t(2, 10)        of a covariate
//	spread(race) ~ inv_chi(1, 800)  sd of the effects of a factor's levels: s/|Z|, Z ~ N(0, 1)
//
// A name that could be read as one of these forms stands in backquotes, as in a formula.
type Statement struct {
	Text string // as it was given

	target target
	name   string  // of a column or factor; else empty
	a, b   float64 // mean and sd, or degrees of freedom and scale
}

// target is what a statement is of.
type target string

const (
	ofCoefficient target = "a coefficient"
	ofIntercept   target = "(Intercept)"
	ofSigma       target = "sigma"
	ofSD          target = "sd"
	ofSpread      target = "spread"
)

// fits are the laws that a target can have, and how they are written.
var fits = map[target]struct {
	laws []string
	form string
}{
	ofCoefficient: {[]string{"normal"}, "normal(mean, sd)"},
	ofIntercept:   {[]string{"normal"}, "normal(mean, sd)"},
	ofSigma:       {[]string{"half_t", "half_normal", "half_cauchy"}, "half_t(degrees of freedom, scale), half_normal(scale) or half_cauchy(scale)"},
	ofSD:          {[]string{"half_t"}, "half_t(2, scale)"},
	ofSpread:      {[]string{"inv_chi"}, "inv_chi(1, scale)"},
}

// Degrees of freedom of half-t laws of σ, and those that stand for a half-normal one.
const (
	minDegrees, maxDegrees = 1, 1000
	normalDegrees          = 200
)

// ParseStatement reads a line of a prior in words. Errors name the text and the character,
// counted from 1, at which it goes wrong.
func ParseStatement(text string) (Statement, error) {
	w := &words{text: []rune(text)}
	s := Statement{Text: text}
	if err := w.statement(&s); err != nil {
		return s, fmt.Errorf("%q, character %d: %w", text, w.at+1, err)
	}
	return s, nil
}

// ParsePriorSD reads NAME=SD, the sd of a coefficient about 0.
func ParsePriorSD(text string) (Statement, error) {
	at := strings.LastIndexByte(text, '=')
	if at < 0 {
		return Statement{}, fmt.Errorf("%q has no '=': name a coefficient and its sd, as in educ=5000", text)
	}
	if schema.Trim(text[:at]) == "" {
		return Statement{}, fmt.Errorf("%q, character 1: a coefficient's name is missing before the '='", text)
	}
	s := Statement{Text: text, target: ofCoefficient, name: schema.Trim(text[:at])}
	if s.name == string(ofIntercept) {
		s.target, s.name = ofIntercept, ""
	}
	var err error
	if s.b, err = schema.ParseNumber(text[at+1:]); err != nil || !(s.b > 0) {
		return s, fmt.Errorf("%q, character %d: an sd is needed here, a number above 0", text, len([]rune(text[:at]))+2)
	}
	return s, nil
}

// words reads a statement from left to right.
type words struct {
	text []rune
	at   int
}

// fail is an error at a character, from 0.
func (w *words) fail(at int, format string, args ...any) error {
	w.at = at
	return fmt.Errorf(format, args...)
}

func (w *words) statement(s *Statement) error {
	if err := w.target(s); err != nil {
		return err
	}
	w.space()
	at := w.at
	law := w.word("_")
	if !slices.Contains([]string{"normal", "half_t", "half_normal", "half_cauchy", "inv_chi"}, law) {
		return w.fail(at, "a law is needed here: %s", fits[s.target].form)
	}
	args, places, err := w.arguments()
	if err != nil {
		return err
	}
	switch law {
	case "half_normal":
		args, places = slices.Insert(args, 0, normalDegrees), slices.Insert(places, 0, at)
	case "half_cauchy":
		args, places = slices.Insert(args, 0, 1), slices.Insert(places, 0, at)
	}
	switch {
	case !slices.Contains(fits[s.target].laws, law) || len(args) != 2:
		return w.fail(at, "the prior of %s can be stated as %s", s.of(), fits[s.target].form)
	case !(args[1] > 0):
		return w.fail(places[1], "an sd or a scale must be above 0")
	case s.target == ofSigma && !(args[0] >= minDegrees && args[0] <= maxDegrees):
		return w.fail(places[0], "degrees of freedom are from %d to %d", minDegrees, maxDegrees)
	case s.target == ofSD && args[0] != 2:
		return w.fail(places[0], "sds of covariates have 2 degrees of freedom, with which each correlation is uniform")
	case s.target == ofSpread && args[0] != 1:
		return w.fail(places[0], "spreads have 1 degree of freedom")
	}
	s.a, s.b = args[0], args[1]
	return nil
}

// target reads up to the last '~' and over it; no law has one.
func (w *words) target(s *Statement) error {
	end := -1
	for i, r := range w.text {
		if r == '~' {
			end = i
		}
	}
	if end < 0 {
		return w.fail(len(w.text), "a '~' is missing: write NAME ~ %s", fits[ofCoefficient].form)
	}
	w.space()
	start := w.at
	w.at = end + 1
	if start >= end {
		return w.fail(start, "a name is missing before the '~'")
	}
	left := strings.TrimSpace(string(w.text[start:end]))
	s.target, s.name = ofCoefficient, left
	for _, t := range []target{ofSigma, ofIntercept} {
		if left == string(t) {
			s.target, s.name = t, ""
			return nil
		}
	}
	for _, t := range []target{ofSD, ofSpread} {
		if inside, ok := strings.CutPrefix(left, string(t)+"("); ok && strings.HasSuffix(inside, ")") {
			s.target, s.name = t, strings.TrimSpace(strings.TrimSuffix(inside, ")"))
		}
	}
	if inside, ok := strings.CutPrefix(s.name, "`"); ok {
		if inside, ok = strings.CutSuffix(inside, "`"); !ok {
			return w.fail(start, "a backquote is not closed")
		}
		s.name = strings.NewReplacer("\\\\", "\\", "\\`", "`").Replace(inside)
	}
	return nil
}

// arguments reads numbers in brackets, and where each stands, to the end of the text.
func (w *words) arguments() (args []float64, places []int, err error) {
	w.space()
	if !w.take('(') {
		return nil, nil, w.fail(w.at, "a '(' is needed here")
	}
	for {
		w.space()
		at := w.at
		v, err := schema.ParseNumber(w.word("+-."))
		if err != nil {
			return nil, nil, w.fail(at, "a number is needed here")
		}
		args, places = append(args, v), append(places, at)
		w.space()
		switch {
		case w.take(','):
			continue
		case !w.take(')'):
			return nil, nil, w.fail(w.at, "a ',' or a ')' is needed here")
		}
		if w.space(); w.at < len(w.text) {
			return nil, nil, w.fail(w.at, "nothing may follow the ')'")
		}
		return args, places, nil
	}
}

// word reads letters, digits and other characters that are given.
func (w *words) word(others string) string {
	start := w.at
	for w.at < len(w.text) && (unicode.IsLetter(w.text[w.at]) || unicode.IsDigit(w.text[w.at]) || strings.ContainsRune(others, w.text[w.at])) {
		w.at++
	}
	return string(w.text[start:w.at])
}

func (w *words) space() {
	for w.at < len(w.text) && unicode.IsSpace(w.text[w.at]) {
		w.at++
	}
}

func (w *words) take(r rune) bool {
	if w.at == len(w.text) || w.text[w.at] != r {
		return false
	}
	w.at++
	return true
}

// of names what the statement is of, as it is typed.
func (s *Statement) of() string {
	switch s.target {
	case ofCoefficient:
		return quoteName(s.name)
	case ofSD, ofSpread:
		return fmt.Sprintf("%s(%s)", s.target, quoteName(s.name))
	}
	return string(s.target)
}

// quoteName writes a name as a Statement holds it.
func quoteName(name string) string {
	plain := name != "" && !strings.ContainsAny(name, "~`") && name != string(ofSigma) && name != string(ofIntercept)
	for _, t := range []target{ofSD, ofSpread} {
		plain = plain && !strings.HasPrefix(name, string(t)+"(")
	}
	if plain {
		return name
	}
	return "`" + strings.NewReplacer("\\", "\\\\", "`", "\\`").Replace(name) + "`"
}
