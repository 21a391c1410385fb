//go:build unix

package main

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
)

// write puts the results where they were asked for.
func (s *settings) write(stdout io.Writer, all []outcome) error {
	var text bytes.Buffer
	s.tables(&text, all)
	if s.markdown != "" {
		page, err := os.ReadFile(s.markdown)
		if err != nil {
			return err
		}
		if page, err = place(page, text.Bytes()); err != nil {
			return fmt.Errorf("%s: %w", s.markdown, err)
		}
		if err := replace(s.markdown, page); err != nil {
			return err
		}
	} else if _, err := text.WriteTo(stdout); err != nil {
		return err
	}
	if s.csv != "" {
		var lines bytes.Buffer
		if err := writeCSV(&lines, all); err != nil {
			return err
		}
		if err := replace(s.csv, lines.Bytes()); err != nil {
			return err
		}
	}
	if s.plot == "" {
		return nil
	}
	var picture bytes.Buffer
	if err := s.draw(&picture, all); err != nil {
		return err
	}
	return replace(s.plot, picture.Bytes())
}

// The marks of the place of the tables in a Markdown file.
var begin, end = []byte("<!-- engines: begin -->\n"), []byte("<!-- engines: end -->")

// place puts text between the marks of a page.
func place(page, text []byte) ([]byte, error) {
	before, rest, ok := bytes.Cut(page, begin)
	_, after, ok2 := bytes.Cut(rest, end)
	if !ok || !ok2 {
		return nil, fmt.Errorf("there is no line %q with a line %q below it", bytes.TrimSpace(begin), end)
	}
	return bytes.Join([][]byte{before, begin, text, end, after}, nil), nil
}

// replace writes a file all or nothing.
func replace(path string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

var csvHeader = []string{"p", "epsilon", "n", "release", "engine", "cut", "warmup_seconds", "sampling_seconds", "draws", "ess_least", "ess_slope",
	"ess_least_per_second", "ess_slope_per_second", "rhat", "leapfrogs_per_draw", "divergent", "correction", "mixed", "mean_apart", "mean_bound", "log_sd_apart", "log_sd_bound"}

// writeCSV writes a line for each run. Where a run was cut in warm-up, what follows
// warmup_seconds is empty.
func writeCSV(w io.Writer, all []outcome) error {
	c := csv.NewWriter(w)
	c.Write(csvHeader)
	for _, o := range all {
		line := []string{strconv.Itoa(o.p), number(o.epsilon), strconv.Itoa(o.n), strconv.Itoa(o.release), o.engine, o.whenCut(), number(o.warmup)}
		if o.warmupCut {
			line = append(line, make([]string, len(csvHeader)-len(line))...)
		} else {
			line = append(line, number(o.sampling), strconv.Itoa(o.draws), number(o.least), number(o.slope),
				number(o.least/o.sampling), number(o.slope/o.sampling), number(o.rhat), number(o.leapfrogs), number(o.divergent), number(o.correction),
				strconv.FormatBool(o.apart.mixed), number(o.apart.mean), number(o.apart.meanBound), number(o.apart.sd), number(o.apart.sdBound))
		}
		c.Write(line)
	}
	c.Flush()
	return c.Error()
}

func (o *outcome) whenCut() string {
	switch {
	case o.warmupCut:
		return "warm-up"
	case o.cut:
		return "sampling"
	}
	return ""
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }
