package serve

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/report"
)

var (
	//go:embed page.html
	pageHTML string
	//go:embed page.css
	pageCSS string

	pages = template.Must(template.New("").Funcs(template.FuncMap{
		"style": func() template.CSS { return report.Style() + template.CSS(pageCSS) },
		"has":   func(all []string, one any) bool { return slices.Contains(all, fmt.Sprint(one)) },
		"words": strings.Fields,
	}).Parse(pageHTML))
)

// write answers with a page.
func (s *Server) write(w http.ResponseWriter, status int, name string, page any) {
	var text bytes.Buffer
	if err := pages.ExecuteTemplate(&text, name, page); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	w.Write(text.Bytes())
}

// asking is the page with the form.
type asking struct {
	Base                        string
	Error                       string
	Form                        *form
	Sources                     []Source
	Columns, Responses          []string
	Families, Methods, Sharings []choice
	Prior                       []string // the default of the first release, in words
	Runs                        []row
}

// row is a run in the list of runs.
type row struct {
	ID              int
	Formula, Method string
	State           state
}

func (s *Server) home(w http.ResponseWriter, _ *http.Request) { s.ask(w, http.StatusOK, s.first(), "") }

// ask shows a form, and what is wrong with it.
func (s *Server) ask(w http.ResponseWriter, status int, f *form, wrong string) {
	p := asking{Base: s.base(), Error: wrong, Form: f, Sources: s.sources, Sharings: sharings,
		Families: []choice{{"", "Normal: a number"}, {string(model.Binomial), "Binomial, logit: 0 or 1"}, {string(model.Probit), "Binomial, probit: 0 or 1"}, {string(model.Poisson), "Poisson: a count"}},
		Methods:  []choice{{dpreg.Auto, "auto: as the release allows"}}}
	p.Columns, p.Responses = s.columns()
	for _, m := range dpreg.Methods() {
		p.Methods = append(p.Methods, choice{m.Name(), m.Name()})
	}
	first := s.sources[0].Release
	if prior, err := model.Normal.DefaultPrior(&first.Schema, first); err == nil && f.Family == "" {
		p.Prior = prior.Words(&first.Schema)
	}
	for _, one := range s.runs.list() {
		p.Runs = append(p.Runs, row{one.ID, one.order.formula, one.order.options.Method, one.now()})
	}
	s.write(w, status, "asking", p)
}

// start begins the run that a form asks for.
func (s *Server) start(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		http.Error(w, "The form cannot be read.", http.StatusBadRequest)
		return
	}
	f := read(r.PostForm)
	o, err := s.order(f)
	if err != nil {
		s.ask(w, http.StatusUnprocessableEntity, f, err.Error())
		return
	}
	one, err := s.runs.start(o, s.version)
	if err != nil {
		s.ask(w, http.StatusServiceUnavailable, f, err.Error())
		return
	}
	http.Redirect(w, r, s.path(one), http.StatusSeeOther)
}

func (s *Server) path(r *run) string { return fmt.Sprintf("%sruns/%d", s.base(), r.ID) }

// of finds the run of a path.
func (s *Server) of(handle func(http.ResponseWriter, *http.Request, *run)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		id, err := strconv.Atoi(r.PathValue("id"))
		one := s.runs.find(id)
		if err != nil || one == nil {
			http.NotFound(w, r)
			return
		}
		handle(w, r, one)
	}
}

// showing is the page of a run.
type showing struct {
	Base, Path, Formula, Error, Words, Ask string
	Active, Stopped                        bool
	Now, Whole                             int
	result                                 // of a run that is done
}

func (s *Server) show(w http.ResponseWriter, _ *http.Request, r *run) {
	p := showing{Base: s.base(), Path: s.path(r), Formula: r.order.formula, Ask: r.order.ask}
	p.Now, p.Whole, p.Words = r.far()
	r.mutex.Lock()
	p.Active, p.Stopped = r.state.active(), r.state == stopped
	if r.err != nil {
		p.Error = r.err.Error()
	}
	if r.result != nil {
		p.result = *r.result
	}
	r.mutex.Unlock()
	s.write(w, http.StatusOK, "showing", p)
}

func (s *Server) stop(w http.ResponseWriter, r *http.Request, one *run) {
	one.cancel()
	http.Redirect(w, r, s.path(one), http.StatusSeeOther)
}

// report sends the report as a file.
func (s *Server) report(w http.ResponseWriter, r *http.Request, one *run) {
	one.mutex.Lock()
	result := one.result
	one.mutex.Unlock()
	if result == nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Disposition", fmt.Sprintf(`attachment; filename="dpreg-%d.html"`, one.ID))
	w.Write(result.page)
}

// commands sends the commands that repeat a run as a file.
func (s *Server) commands(w http.ResponseWriter, _ *http.Request, one *run) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Content-Disposition", fmt.Sprintf(`attachment; filename="dpreg-%d.txt"`, one.ID))
	fmt.Fprintln(w, one.order.infer)
	if one.order.ask != "" {
		fmt.Fprintln(w, one.order.ask)
	}
}
