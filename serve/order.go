package serve

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/internal/files"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

// form is what was typed.
type form struct {
	Releases                []string // numbers of sources, from 0
	Response                string
	Covariates              []string
	Intercept, Shrink       bool
	Family, Method, Sharing string
	Prior, Questions, Seed  string
}

// sharings are what several releases may share, by what the page calls it.
var sharings = []choice{{"complete", "One regression of all"}, {"partial", "A regression of each, about a common one"}, {"same rows", "They are of the same rows"}}

// usual is what several releases share by default, as dpreg infer has it: parts of one dealing have a regression each.
func usual(all []*release.Release) string {
	if len(all) > 1 && release.OneDealing(all...) {
		return sharings[1].Value
	}
	return sharings[0].Value
}

// choice is one of several values, as a page shows it.
type choice struct{ Value, Label string }

// read takes what was posted.
func read(v url.Values) *form {
	return &form{Releases: v["release"], Response: v.Get("response"), Covariates: v["covariate"], Intercept: v.Has("intercept"), Shrink: v.Has("shrink"),
		Family: v.Get("family"), Method: v.Get("method"), Sharing: v.Get("sharing"), Prior: v.Get("prior"), Questions: v.Get("questions"), Seed: strings.TrimSpace(v.Get("seed"))}
}

// first is the form before anything is typed: the model of the first release.
func (s *Server) first() *form {
	d := &s.sources[0].Release.Schema
	f := &form{Releases: []string{"0"}, Response: d.Response.Name, Intercept: d.Intercept, Method: dpreg.Auto, Seed: "0"}
	var all []*release.Release
	for _, source := range s.sources {
		all = append(all, source.Release)
	}
	if f.Sharing = usual(all); f.Sharing == sharings[1].Value {
		for i := range all[1:] {
			f.Releases = append(f.Releases, strconv.Itoa(i+1))
		}
	}
	for _, c := range d.Covariates {
		f.Covariates = append(f.Covariates, offered(c))
	}
	return f
}

// offered is the name by which a column is picked: of a dummy, its factor's.
func offered(c schema.Column) string {
	if c.Factor != "" {
		return c.Factor
	}
	return c.Name
}

// columns are those that any release has, and those of numbers and truth values, which may be
// responses.
func (s *Server) columns() (all, responses []string) {
	for _, source := range s.sources {
		for _, c := range source.Release.Schema.Columns() {
			if name := offered(c); !slices.Contains(all, name) {
				all = append(all, name)
				if c.Factor == "" {
					responses = append(responses, name)
				}
			}
		}
	}
	return all, responses
}

// order is a fit that can be had.
type order struct {
	formula    string
	custodians []dpreg.Custodian
	digests    []string
	options    dpreg.Options
	questions  []string
	infer, ask string // the commands that repeat it; ask may be empty
}

// order checks what was typed. What it holds are names and numbers: nothing in it is a path.
func (s *Server) order(f *form) (*order, error) {
	o := &order{}
	infer := []string{"dpreg", "infer"}
	formula, err := s.formula(f)
	if err != nil {
		return nil, err
	}
	o.formula = formula
	for _, number := range f.Releases {
		i, err := strconv.Atoi(number)
		if err != nil || i < 0 || i >= len(s.sources) {
			return nil, errors.New("there is no such release")
		}
		r, err := s.sources[i].Release.Select(formula)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.sources[i].Name, err)
		}
		o.custodians = append(o.custodians, dpreg.Custodian{Name: s.sources[i].Name, Release: r})
		o.digests = append(o.digests, s.sources[i].Digest)
		infer = append(infer, s.sources[i].Name)
	}
	if o.custodians == nil {
		return nil, errors.New("no release is picked")
	}
	infer = append(infer, "--formula", formula)
	custodians, design, err := dpreg.Join(o.custodians)
	if err != nil {
		return nil, err
	}
	o.custodians = custodians
	o.options = dpreg.Options{Method: f.Method, Family: model.Family(f.Family)}
	flag := func(name, value, usual string) {
		if value != usual {
			infer = append(infer, "--"+name, value)
		}
	}
	flag("family", f.Family, "")
	flag("method", f.Method, dpreg.Auto)
	releases := dpreg.Releases(custodians)
	if len(custodians) > 1 {
		switch f.Sharing {
		case "same rows":
			o.options.SameRows = true
			infer = append(infer, "--same-rows")
		default:
			o.options.Pooling = f.Sharing
			flag("pooling", f.Sharing, usual(releases))
		}
	}
	if o.options.Plan.Seed, err = strconv.ParseUint(f.Seed, 10, 64); err != nil {
		return nil, fmt.Errorf("the seed %q is no whole number from 0 up", f.Seed)
	}
	flag("seed", f.Seed, "0")
	prior := model.StatedPrior{Shrink: f.Shrink, Family: o.options.Family}
	for _, line := range lines(f.Prior) {
		stated, err := model.ParseStatement(line)
		if err != nil {
			return nil, fmt.Errorf("prior %w", err)
		}
		prior.Stated = append(prior.Stated, stated)
		infer = append(infer, "--prior", line)
	}
	if f.Shrink {
		infer = append(infer, "--shrink")
	}
	if o.options.Prior, err = prior.For(design, "", releases...); err != nil {
		return nil, err
	}
	o.infer = files.Line(infer...)
	if o.questions = lines(f.Questions); o.questions != nil {
		o.ask = files.Line(append(append([]string{"dpreg", "ask"}, infer[2:]...), o.questions...)...)
	}
	return o, dpreg.Can(custodians, o.options)
}

// formula is that of the columns that are picked; the response is none of the covariates.
func (s *Server) formula(f *form) (string, error) {
	if f.Response == "" {
		return "", errors.New("no response is picked")
	}
	out := schema.Formula{Response: f.Response, Intercept: f.Intercept, Made: make(map[string][]string)}
	for _, name := range f.Covariates {
		if name != f.Response && !slices.Contains(out.Terms, name) {
			out.Terms = append(out.Terms, name)
		}
	}
	for _, source := range s.sources {
		for _, c := range source.Release.Schema.Columns() {
			if c.Term != nil {
				out.Made[c.Name] = c.Term
			}
		}
	}
	if out.Terms == nil && !out.Intercept {
		return "", errors.New("pick a covariate, or the intercept")
	}
	return out.String(), nil
}

// lines are those that hold anything.
func lines(text string) (all []string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			all = append(all, line)
		}
	}
	return all
}
