package posterior

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// longestLine bounds a line of a Stan CSV, in bytes: 500,000 numbers.
const longestLine = 1 << 23

// ReadStanCSV reads one chain, as WriteStanCSV or CmdStan writes it, in full
// precision. name is what errors call the file. Parameters come back under 1-based
// names with brackets, in the order of the file: theta.1 is theta[1], tau.2.1 is
// tau[2,1]; columns that end in two underscores are the sampler's. The comments
// are those before the header, without "# ".
//
// It is strict, so that a file that was cut or mended by hand is not taken for a
// run. Errors name the line: no header, an empty or repeated name, another number
// of fields, a field that is no decimal number, NaN or ±Inf, an empty line, a last
// line without its end, no draws, another number of them than the comment
// num_samples says, warm-up that was saved.
func ReadStanCSV(r io.Reader, name string) (d *Draws, comments []string, err error) {
	s := &stanReader{draws: &Draws{Chains: [][]float64{nil}, Info: [][]float64{nil}}}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, longestLine)
	lines.Split(wholeLines)
	number := 1
	for ; lines.Scan(); number++ {
		if err := s.line(lines.Text()); err != nil {
			return nil, nil, fmt.Errorf("%s:%d: %w", name, number, err)
		}
	}
	if err := lines.Err(); err != nil {
		if errors.Is(err, bufio.ErrTooLong) {
			err = fmt.Errorf("a line is longer than %d bytes", longestLine)
		}
		return nil, nil, fmt.Errorf("%s:%d: %w", name, number, err)
	}
	if err := s.finish(); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	return s.draws, s.comments, nil
}

var errCut = errors.New("the last line has no end: the file was cut short")

// wholeLines is bufio.ScanLines, but for a last line without its end.
func wholeLines(data []byte, atEOF bool) (advance int, line []byte, err error) {
	if atEOF && len(data) > 0 && bytes.IndexByte(data, '\n') < 0 {
		return 0, nil, errCut
	}
	return bufio.ScanLines(data, atEOF)
}

// stanReader is what is known of a file so far.
type stanReader struct {
	draws    *Draws
	comments []string
	sampler  []bool // of each column, whether it is the sampler's; nil before the header
	rows     int
}

func (s *stanReader) line(text string) error {
	switch comment, ok := strings.CutPrefix(text, "#"); {
	case ok && s.sampler == nil:
		s.comments = append(s.comments, strings.TrimPrefix(comment, " "))
		return nil
	case ok: // CmdStan's on adaptation and time
		return nil
	case text == "":
		return errors.New("the line is empty")
	case s.sampler == nil:
		return s.header(text)
	}
	s.rows++
	return s.row(text)
}

func (s *stanReader) header(text string) error {
	seen := make(map[string]bool)
	for field := range strings.SplitSeq(text, ",") {
		name := fromStan(field)
		switch {
		case name == "" || strings.ContainsAny(name, "\" \t"):
			return fmt.Errorf("%.40q is no name of a column", field)
		case seen[name]:
			return fmt.Errorf("two columns are called %.40q", field)
		}
		if _, err := parseStan(field); err == nil {
			return fmt.Errorf("the header is missing: %.40q is a number", field)
		}
		seen[name] = true
		own := strings.HasSuffix(name, "__")
		s.sampler = append(s.sampler, own)
		if own {
			s.draws.InfoNames = append(s.draws.InfoNames, name)
		} else {
			s.draws.Names = append(s.draws.Names, name)
		}
	}
	return nil
}

func (s *stanReader) row(text string) error {
	if n := strings.Count(text, ",") + 1; n != len(s.sampler) {
		return fmt.Errorf("%d fields where the header has %d", n, len(s.sampler))
	}
	column := 0
	for field := range strings.SplitSeq(text, ",") {
		v, err := parseStan(field)
		if err != nil {
			return fmt.Errorf("column %d: %w", column+1, err)
		}
		to := s.draws.Chains
		if s.sampler[column] {
			to = s.draws.Info
		}
		to[0] = append(to[0], v)
		column++
	}
	return nil
}

// finish compares what was read with what the comments say.
func (s *stanReader) finish() error {
	switch {
	case s.sampler == nil:
		return errors.New("there is no header")
	case len(s.draws.Names) == 0:
		return errors.New("the header names no parameter")
	case s.rows == 0:
		return errors.New("there are no draws")
	}
	if saved, ok := s.setting("save_warmup"); ok && saved != "0" && saved != "false" {
		return errors.New("warm-up was saved with the draws, and cannot be told from them here")
	}
	if warmup, ok := s.count("num_warmup"); ok {
		s.draws.Warmup = warmup
	}
	thin, ok := s.count("thin")
	if !ok || thin < 1 {
		thin = 1
	}
	if samples, ok := s.count("num_samples"); ok {
		if want := samples/thin + min(samples%thin, 1); want != s.rows {
			return fmt.Errorf("it has %d draws, and its comments promise %d: the file was cut short or changed", s.rows, want)
		}
	}
	return nil
}

// setting is the last value that the comments give to a key; CmdStan adds
// "(Default)" to some.
func (s *stanReader) setting(key string) (value string, ok bool) {
	for _, comment := range slices.Backward(s.comments) {
		name, rest, found := strings.Cut(comment, "=")
		if fields := strings.Fields(rest); found && strings.TrimSpace(name) == key && len(fields) > 0 {
			return fields[0], true
		}
	}
	return "", false
}

func (s *stanReader) count(key string) (int, bool) {
	text, ok := s.setting(key)
	n, err := strconv.Atoi(text)
	return n, ok && err == nil && n >= 0
}

// fromStan takes tau.1.2 to tau[1,2].
func fromStan(field string) string {
	parts := strings.Split(field, ".")
	first := len(parts)
	for first > 1 && isIndex(parts[first-1]) {
		first--
	}
	base := strings.Join(parts[:first], ".")
	if first == len(parts) {
		return base
	}
	return base + "[" + strings.Join(parts[first:], ",") + "]"
}

func isIndex(text string) bool {
	for _, c := range text {
		if c < '0' || c > '9' {
			return false
		}
	}
	return text != "" && len(text) < 10
}

// parseStan reads a number as Stan, R and WriteStanCSV write it; strconv would
// take hexadecimal digits and other spellings of infinity as well.
func parseStan(text string) (float64, error) {
	switch text {
	case "Inf", "inf", "+Inf":
		return math.Inf(1), nil
	case "-Inf", "-inf":
		return math.Inf(-1), nil
	case "NaN", "nan":
		return math.NaN(), nil
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || strings.Trim(text, "0123456789+-.eE") != "" {
		return 0, fmt.Errorf("%.40q is no number", text)
	}
	return v, nil
}
