package posterior

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// WriteStanCSV writes one chain, 0 ≤ chain < NumChains(), as CmdStan would:
// comments, a header, a line for each kept draw, in full precision. The
// sampler's columns come first, lp__ before all others, then the parameters
// under Stan's names, 1-based and with points: theta[0], theta[1] become
// theta.1, theta.2; tau[1,2] becomes tau.1.2. A dimension's smallest index
// among the names maps to 1. The elements of an array are reordered
// column-major, as Stan has them.
//
// The configuration that cmdstanr and ArviZ look for is written
// after the caller's comments, so that none of those can override it; a line
// break in a comment starts a new comment line.
//
// Where d has Labels, these head the parameters' columns, quoted as CSV has it, and a comment says
// so; with those of StanLabels among the comments, ReadStanCSV knows the parameters.
func (d *Draws) WriteStanCSV(w io.Writer, chain int, comments []string) error {
	out := bufio.NewWriter(w)
	for _, comment := range comments {
		for line := range strings.Lines(comment + "\n") {
			fmt.Fprintf(out, "# %s\n", strings.TrimRight(line, "\r\n"))
		}
	}
	fmt.Fprintf(out, "# model = dpreg_model\n# method = sample\n# num_samples = %d\n# num_warmup = %d\n"+
		"# save_warmup = 0\n# thin = 1\n# id = %d\n", d.NumDraws(), d.Warmup, chain+1)

	info, params := infoOrder(d.InfoNames), stanColumns(d.Names)
	header := make([]string, 0, len(info)+len(params))
	for _, j := range info {
		header = append(header, d.InfoNames[j])
	}
	for _, column := range params {
		if d.Labels != nil {
			header = append(header, d.Labels[column.source])
			continue
		}
		header = append(header, column.String())
	}
	if d.Labels != nil {
		fmt.Fprintln(out, "# names = labels")
	}
	if err := csv.NewWriter(out).WriteAll([][]string{header}); err != nil {
		return err
	}

	var line []byte
	for i := range d.NumDraws() {
		line = line[:0]
		for _, j := range info {
			line = appendStan(line, d.Info[chain][i*len(d.InfoNames)+j])
		}
		for _, column := range params {
			line = appendStan(line, d.Chains[chain][i*len(d.Names)+column.source])
		}
		line[len(line)-1] = '\n'
		out.Write(line)
	}
	return out.Flush() // bufio keeps the first error for Flush
}

// appendStan appends v and a comma, with infinities that R, too, can read.
func appendStan(line []byte, v float64) []byte {
	switch {
	case math.IsInf(v, 1):
		return append(line, "Inf,"...)
	case math.IsInf(v, -1):
		return append(line, "-Inf,"...)
	}
	return append(strconv.AppendFloat(line, v, 'g', -1, 64), ',')
}

// infoOrder lists the sampler's columns, lp__ first.
func infoOrder(names []string) []int {
	order := make([]int, len(names))
	for j := range order {
		order[j] = j
	}
	if j := slices.Index(names, "lp__"); j > 0 {
		order = slices.Insert(slices.Delete(order, j, j+1), 0, j)
	}
	return order
}

// StanNames are the names of WriteStanCSV's columns, in the order of the parameters
// names: theta.1 of theta[0].
func StanNames(names []string) []string {
	columns := make([]string, len(names))
	for _, column := range stanColumns(names) {
		columns[column.source] = column.String()
	}
	return columns
}

// StanLabels are comments for WriteStanCSV: what the parameters names are called, by
// the names of their columns. One that is called as its column is has none.
func StanLabels(names, labels []string) (comments []string) {
	breaks := strings.NewReplacer("\n", " ", "\r", " ")
	for j, column := range StanNames(names) {
		if labels[j] != column {
			comments = append(comments, fmt.Sprintf("label: %s is %s", column, breaks.Replace(labels[j])))
		}
	}
	return comments
}

// Distinct are labels for the columns of files: those that would stand twice are left to Stan's
// names.
func Distinct(names, labels []string) []string {
	columns, out := StanNames(names), slices.Clone(labels)
	for again := true; again; {
		again = false
		count := make(map[string]int)
		for _, label := range out {
			count[label]++
		}
		for j, label := range out {
			if count[label] > 1 && label != columns[j] {
				out[j], again = columns[j], true
			}
		}
	}
	return out
}

// stanColumn is a parameter's place in a Stan CSV.
type stanColumn struct {
	source  int    // index among Draws.Names
	base    string // theta of theta[0]
	indices []int  // as named, 1-based once stanColumns is done
}

// stanColumns parses names and puts the elements of each array together, in
// column-major order, where its first element stood.
func stanColumns(names []string) []stanColumn {
	columns := make([]stanColumn, len(names))
	first := map[string]int{}
	smallest := map[string][]int{}
	for j, name := range names {
		base, indices := splitName(name)
		columns[j] = stanColumn{j, base, indices}
		if _, seen := first[base]; !seen {
			first[base], smallest[base] = j, slices.Clone(indices)
		}
		for k := range min(len(indices), len(smallest[base])) {
			smallest[base][k] = min(smallest[base][k], indices[k])
		}
	}
	for _, column := range columns {
		for k := range min(len(column.indices), len(smallest[column.base])) {
			column.indices[k] += 1 - smallest[column.base][k]
		}
	}
	slices.SortStableFunc(columns, func(a, b stanColumn) int {
		if a.base != b.base {
			return first[a.base] - first[b.base]
		}
		for k := min(len(a.indices), len(b.indices)) - 1; k >= 0; k-- {
			if a.indices[k] != b.indices[k] {
				return a.indices[k] - b.indices[k]
			}
		}
		return 0
	})
	return columns
}

// splitName takes tau[1,2] to tau and 1, 2; a name without whole-number
// indices is all base.
func splitName(name string) (base string, indices []int) {
	base, rest, found := strings.Cut(name, "[")
	inner, closed := strings.CutSuffix(rest, "]")
	if !found || !closed {
		return name, nil
	}
	for field := range strings.SplitSeq(inner, ",") {
		index, err := strconv.Atoi(strings.TrimSpace(field))
		if err != nil {
			return name, nil
		}
		indices = append(indices, index)
	}
	return base, indices
}

// String is the column's name in the header.
func (c stanColumn) String() string {
	name := c.base
	for _, index := range c.indices {
		name += "." + strconv.Itoa(index)
	}
	return name
}

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
	s := &stanReader{draws: &Draws{Chains: [][]float64{nil}, Info: [][]float64{nil}}, settings: make(map[string]string)}
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
	settings map[string]string // the last that comments give to a key; CmdStan adds "(Default)" to some
	sampler  []bool            // of each column, whether it is the sampler's; nil before the header
	rows     int
}

func (s *stanReader) line(text string) error {
	switch comment, ok := strings.CutPrefix(text, "#"); {
	case ok && s.sampler == nil:
		s.comments = append(s.comments, strings.TrimPrefix(comment, " "))
		name, rest, _ := strings.Cut(comment, "=")
		if fields := strings.Fields(rest); len(fields) > 0 {
			s.settings[strings.TrimSpace(name)] = fields[0]
		}
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
	fields, columns, err := strings.Split(text, ","), make(map[string]string), error(nil)
	if s.settings["names"] == "labels" {
		if fields, err = csv.NewReader(strings.NewReader(text)).Read(); err != nil {
			return errors.New("the header is no line of CSV")
		}
		for _, comment := range s.comments {
			if column, label, ok := strings.Cut(strings.TrimPrefix(comment, "label: "), " is "); ok {
				columns[label] = column
			}
		}
	}
	seen := make(map[string]bool)
	for _, field := range fields {
		name := fromStan(cmp.Or(columns[field], field))
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
	if saved := s.settings["save_warmup"]; saved != "" && saved != "0" && saved != "false" {
		return errors.New("warm-up was saved with the draws, and cannot be told from them here")
	}
	s.draws.Warmup = max(0, s.count("num_warmup"))
	thin := max(1, s.count("thin"))
	if samples := s.count("num_samples"); samples >= 0 {
		if want := samples/thin + min(samples%thin, 1); want != s.rows {
			return fmt.Errorf("it has %d draws, and its comments promise %d: the file was cut short or changed", s.rows, want)
		}
	}
	return nil
}

// count is a setting that is a whole number, −1 where it is none.
func (s *stanReader) count(key string) int {
	if n, err := strconv.Atoi(s.settings[key]); err == nil {
		return n
	}
	return -1
}

// indexed is a name of Stan's with its indices.
var indexed = regexp.MustCompile(`^(.*?)((\.[0-9]{1,9})+)$`)

// fromStan takes tau.1.2 to tau[1,2].
func fromStan(field string) string {
	parts := indexed.FindStringSubmatch(field)
	if parts == nil {
		return field
	}
	return parts[1] + "[" + strings.ReplaceAll(parts[2][1:], ".", ",") + "]"
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
