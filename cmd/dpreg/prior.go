package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

// statedPrior is the prior that flags state.
type statedPrior struct {
	file   string // empty: none
	stated []model.Statement
	shrink bool
	family model.Family
}

// statedPrior reads the lines in words, and finds the file.
func (f *flags) statedPrior() (p statedPrior, err error) {
	p.shrink, p.family = f.shrink, model.Family(f.family)
	for _, text := range f.priors {
		if isPriorFile(text) {
			if p.file != "" {
				return p, usagef("--prior: there can be one file, and %s and %s are two", p.file, text)
			}
			p.file = text
			continue
		}
		s, err := model.ParseStatement(text)
		if err != nil {
			return p, usagef("--prior %w", err)
		}
		p.stated = append(p.stated, s)
	}
	for _, text := range f.priorSDs {
		s, err := model.ParsePriorSD(text)
		if err != nil {
			return p, usagef("--prior-sd %w", err)
		}
		p.stated = append(p.stated, s)
	}
	return p, nil
}

// isPriorFile tells a file from a line in words, which has a '~'.
func isPriorFile(text string) bool {
	if !strings.Contains(text, "~") {
		return true
	}
	_, err := os.Stat(text)
	return err == nil
}

// read returns the prior for a design of these releases; nil where no flag says anything.
// differ says how their scaled units do.
func (p statedPrior) read(d *schema.Design, differ string, releases ...*release.Release) (*model.Prior, error) {
	if p.file == "" && p.stated == nil && !p.shrink {
		return nil, nil
	}
	if err := p.family.Check(d); err != nil {
		return nil, err
	}
	base := p.family.DefaultPrior
	if p.shrink {
		base = p.family.ShrinkingPrior
	}
	prior, err := base(d, releases...)
	if err != nil {
		return nil, err
	}
	return p.over(prior, p.family.Design(d), differ)
}

// over returns a prior with what the flags state in place of its own.
func (p statedPrior) over(prior *model.Prior, d *schema.Design, differ string) (_ *model.Prior, err error) {
	if p.file != "" {
		if prior, err = p.readFile(prior, d, differ); err != nil {
			return nil, err
		}
	}
	if prior, err = prior.State(d, p.stated...); err != nil {
		return nil, fmt.Errorf("prior %w", err)
	}
	return prior, nil
}

func (p statedPrior) readFile(base *model.Prior, d *schema.Design, differ string) (*model.Prior, error) {
	file, err := os.Open(p.file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("--prior: %w (a line in words has a '~': NAME ~ normal(MEAN, SD))", err)
	}
	if err != nil {
		return nil, fmt.Errorf("--prior: %w", err)
	}
	defer file.Close()
	prior, err := base.Read(file, p.file, d, differ)
	if err == nil && p.shrink && !prior.SharesSpread() {
		return nil, fmt.Errorf("--shrink and %s exclude each other: the file states the precision of the coefficients", p.file)
	}
	return prior, err
}

// describe says in a few words what was stated; nothing where nothing was.
func (p statedPrior) describe() string {
	said, beside := p.file, ""
	if p.shrink {
		beside = "one free sd of all slopes"
	}
	for _, s := range p.stated {
		beside = strings.TrimPrefix(beside+", "+s.Text, ", ")
	}
	if beside == "" {
		return said
	}
	if said == "" {
		said = "the default prior"
	}
	return said + " with " + beside
}

// printThePrior prints the prior for releases.
func (f *flags) printThePrior(e *evidence) error {
	p, err := f.statedPrior()
	if err != nil {
		return err
	}
	prior, err := p.read(e.design, e.differ(), e.releases()...)
	if err == nil && prior == nil {
		prior, err = p.family.DefaultPrior(e.design, e.releases()...)
	}
	if err != nil {
		return usage(err)
	}
	return buffered(f.stdout(), func(out io.Writer) error {
		_, err := io.WriteString(out, strings.Join(prior.Words(p.family.Design(e.design)), "\n")+"\n")
		return err
	})
}
