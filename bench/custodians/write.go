package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
)

// The tables' place in a Markdown file.
var (
	begin = []byte("<!-- begin: go run ./bench/custodians -->\n")
	end   = []byte("<!-- end: go run ./bench/custodians -->\n")
)

// write puts tables and picture where they are wanted.
func (s *settings) write(stdout io.Writer, all []result) error {
	var tables bytes.Buffer
	s.tables(&tables, all)
	if s.plot != "" {
		var picture bytes.Buffer
		if err := draw(&picture, all); err != nil {
			return err
		}
		if err := os.WriteFile(s.plot, picture.Bytes(), 0o644); err != nil {
			return err
		}
	}
	if s.markdown == "" {
		_, err := stdout.Write(tables.Bytes())
		return err
	}
	page, err := os.ReadFile(s.markdown)
	if err != nil {
		return err
	}
	from, to := bytes.Index(page, begin), bytes.Index(page, end)
	if from < 0 || to < from {
		return fmt.Errorf("%s has no place marked %q to %q", s.markdown, bytes.TrimSpace(begin), bytes.TrimSpace(end))
	}
	from += len(begin)
	return os.WriteFile(s.markdown, append(append(bytes.Clone(page[:from]), tables.Bytes()...), page[to:]...), 0o644)
}

func (s *settings) noise() string {
	if s.delta > 0 {
		return fmt.Sprintf("Gaussian noise with δ = %g", s.delta)
	}
	return "Laplace noise"
}

// tables are two, mean squared errors and coverage, a row for each case.
func (s *settings) tables(w io.Writer, all []result) {
	fmt.Fprintf(w, "\nn = %d rows in all, %d data sets a case, %s, seed %d.\n", s.rows, s.trials, s.noise(), s.seed)
	fmt.Fprint(w, "\nMean squared error of the posterior mean of θ, scaled units, and its standard error:\n\n")
	s.table(w, all, func(r result) string { return fmt.Sprintf("%.2g ± %.1g", r.square, r.squareError) })
	fmt.Fprint(w, "\nCoverage of 90 % intervals, in per cent, and their mean width:\n\n")
	s.table(w, all, func(r result) string { return fmt.Sprintf("%.0f (%.2g)", 100*r.coverage, r.width) })
	fmt.Fprintf(w, "\n%s\n\n", warnings(all))
}

// warnings lists the chains that warn at their longest.
func warnings(all []result) string {
	var list []string
	for _, r := range all {
		if r.warned > 0 {
			list = append(list, fmt.Sprintf("%s, %s: %d", r.name, r.method, r.warned))
		}
	}
	if list == nil {
		return "No chain warned."
	}
	return "Chains that warned, made longer or not: " + strings.Join(list, "; ") + "."
}

// table has a column for each method.
func (s *settings) table(w io.Writer, all []result, cell func(result) string) {
	methods := s.methods()
	fmt.Fprint(w, "| |")
	for _, m := range methods {
		fmt.Fprintf(w, " %s |", m.name)
	}
	fmt.Fprintf(w, "\n|---|%s", strings.Repeat("---|", len(methods)))
	for i, r := range all {
		if i%len(methods) == 0 {
			fmt.Fprintf(w, "\n| %s |", r.name)
		}
		fmt.Fprintf(w, " %s |", cell(r))
	}
	fmt.Fprintln(w)
}
