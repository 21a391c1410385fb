package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
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

// tables are two: of custodians that are alike, and of others.
func (s *settings) tables(w io.Writer, all []result) {
	fmt.Fprintf(w, "\nn = %d rows in all, %d data sets a case, %s, seed %d. MSE: of the posterior mean of θ, scaled units, with its standard error;\ncoverage and mean width of 90 %% intervals.\n", s.rows, s.trials, s.noise(), s.seed)
	fmt.Fprintln(w, "\n| case | method | MSE | ± | coverage | width |\n|---|---|---|---|---|---|")
	for _, r := range all {
		fmt.Fprintf(w, "| %s | %s | %.2g | %.1g | %.0f %% | %.2g |\n", r.name, r.method, r.square, r.squareError, 100*r.coverage, r.width)
	}
	fmt.Fprintln(w)
}
