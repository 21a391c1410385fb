package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

// priorFlags are the flags that state a prior.
type priorFlags struct {
	texts, sds []string // --prior, --prior-sd
	shrink     bool

	prior  string // the file among texts; empty: none
	stated []model.Statement
}

func (f *priorFlags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringArrayVar(&f.texts, "prior", nil, "prior `FILE`, or a line in words such as 'educ ~ normal(4000, 2000)', 'sigma ~ half_t(3, 5000)', in the data's units; repeatable (default: weakly informative)")
	fs.StringArrayVar(&f.sds, "prior-sd", nil, "prior sd of a coefficient about 0, `NAME=SD`, in the data's units; repeatable")
	fs.BoolVar(&f.shrink, "shrink", false, "all slopes share one free prior sd, in standardised columns: for many columns")
}

// parse reads the lines in words, and finds the file.
func (f *priorFlags) parse() error {
	f.prior, f.stated = "", nil
	for _, text := range f.texts {
		if isPriorFile(text) {
			if f.prior != "" {
				return usagef("--prior: there can be one file, and %s and %s are two", f.prior, text)
			}
			f.prior = text
			continue
		}
		s, err := model.ParseStatement(text)
		if err != nil {
			return usagef("--prior %w", err)
		}
		f.stated = append(f.stated, s)
	}
	for _, text := range f.sds {
		s, err := model.ParsePriorSD(text)
		if err != nil {
			return usagef("--prior-sd %w", err)
		}
		f.stated = append(f.stated, s)
	}
	return nil
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
func (f *priorFlags) read(d *schema.Design, differ string, releases ...*release.Release) (*model.Prior, error) {
	if f.prior == "" && f.stated == nil && !f.shrink {
		return nil, nil
	}
	base := model.DefaultPriorFor
	if f.shrink {
		base = model.ShrinkingPrior
	}
	prior, err := base(d, releases...)
	if err != nil {
		return nil, err
	}
	return f.over(prior, d, differ)
}

// over returns a prior with what the flags state in place of its own.
func (f *priorFlags) over(prior *model.Prior, d *schema.Design, differ string) (_ *model.Prior, err error) {
	if f.prior != "" {
		if prior, err = f.readFile(prior, d, differ); err != nil {
			return nil, err
		}
	}
	if prior, err = prior.State(d, f.stated...); err != nil {
		return nil, fmt.Errorf("prior %w", err)
	}
	return prior, nil
}

func (f *priorFlags) readFile(base *model.Prior, d *schema.Design, differ string) (*model.Prior, error) {
	file, err := os.Open(f.prior)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("--prior: %w (a line in words has a '~': NAME ~ normal(MEAN, SD))", err)
	}
	if err != nil {
		return nil, fmt.Errorf("--prior: %w", err)
	}
	defer file.Close()
	prior, err := base.Read(file, f.prior, d, differ)
	if err == nil && f.shrink && !prior.SharesSpread() {
		return nil, fmt.Errorf("--shrink and %s exclude each other: the file states the precision of the coefficients", f.prior)
	}
	return prior, err
}

// describe says in a few words what was stated; nothing where nothing was.
func (f *priorFlags) describe() string {
	said, beside := f.prior, ""
	if f.shrink {
		beside = "one free sd of all slopes"
	}
	for _, s := range f.stated {
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

// print prints the prior for a design of these releases.
func (f *priorFlags) print(out io.Writer, d *schema.Design, differ string, releases ...*release.Release) error {
	prior, err := f.read(d, differ, releases...)
	if err == nil && prior == nil {
		prior, err = model.DefaultPriorFor(d, releases...)
	}
	if err != nil {
		return usage(err)
	}
	w := bufio.NewWriter(out)
	for _, line := range prior.Words(d) {
		fmt.Fprintln(w, line)
	}
	return w.Flush()
}
