package model

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

// StatedPrior is a prior as it is stated beside the default one: by --prior, --prior-sd and --shrink.
type StatedPrior struct {
	File   string // empty: none
	Stated []Statement
	Shrink bool // one free sd of all slopes
	Family Family
}

// For returns the prior for a design of these releases; nil where nothing is stated.
// differ says how their scaled units do.
func (p StatedPrior) For(d *schema.Design, differ string, releases ...*release.Release) (*Prior, error) {
	if p.File == "" && p.Stated == nil && !p.Shrink {
		return nil, nil
	}
	if err := p.Family.Check(d); err != nil {
		return nil, err
	}
	base := p.Family.DefaultPrior
	if p.Shrink {
		base = p.Family.ShrinkingPrior
	}
	prior, err := base(d, releases...)
	if err != nil {
		return nil, err
	}
	return p.Over(prior, p.Family.Design(d), differ)
}

// Over returns a prior with what is stated in place of its own.
func (p StatedPrior) Over(prior *Prior, d *schema.Design, differ string) (_ *Prior, err error) {
	if p.File != "" {
		if prior, err = p.readFile(prior, d, differ); err != nil {
			return nil, err
		}
	}
	if prior, err = prior.State(d, p.Stated...); err != nil {
		return nil, fmt.Errorf("prior %w", err)
	}
	return prior, nil
}

func (p StatedPrior) readFile(base *Prior, d *schema.Design, differ string) (*Prior, error) {
	file, err := os.Open(p.File)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("--prior: %w (a line in words has a '~': NAME ~ normal(MEAN, SD))", err)
	}
	if err != nil {
		return nil, fmt.Errorf("--prior: %w", err)
	}
	defer file.Close()
	prior, err := base.Read(file, p.File, d, differ)
	if err == nil && p.Shrink && !prior.SharesSpread() {
		return nil, fmt.Errorf("--shrink and %s exclude each other: the file states the precision of the coefficients", p.File)
	}
	return prior, err
}

// Describe says in a few words what was stated; nothing where nothing was.
func (p StatedPrior) Describe() string {
	said, beside := p.File, ""
	if p.Shrink {
		beside = "one free sd of all slopes"
	}
	for _, s := range p.Stated {
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
