package pvi

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat"

	"github.com/dpreg/dpreg/vi"
)

// Adult is the Census Income data of the UCI repository (Becker & Kohavi 1996), coded as
// in Sharma et al. (2019): six numeric columns, then all levels of eight others ("?" is
// one), without an intercept; the response is 1 for an income above 50 000.
//
// Numeric columns are standardised by mean and standard deviation of all rows, which no
// guarantee covers: it is for repeating published figures on public data.
type Adult struct {
	Train, Test *vi.Rows
}

// Columns of the files; the last is the income, and others are not used.
var (
	adultNumeric = [...]int{0, 2, 4, 10, 11, 12}
	adultLevels  = [...]int{1, 3, 5, 6, 7, 8, 9, 13}
)

const adultColumns = 15

// ReadAdult reads adult.data, then adult.test, of a directory, permutes the rows as split, a
// seed, has it, and takes the first ⌈0.8 N⌉ to train. Errors name file, line and column.
func ReadAdult(directory string, split uint64) (*Adult, error) {
	var records []adultRecord
	for _, name := range []string{"adult.data", "adult.test"} {
		path := filepath.Join(directory, name)
		f, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("Adult is a directory with the files adult.data and adult.test: %w", err)
		}
		more, err := scanAdult(f, path)
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, err
		}
		records = append(records, more...)
	}
	if len(records) < 2 {
		return nil, fmt.Errorf("%s: no rows", directory)
	}
	rng := rand.New(rand.NewPCG(split, 0))
	rng.Shuffle(len(records), func(i, j int) { records[i], records[j] = records[j], records[i] })
	rows := codeAdult(records)
	train := (4*len(records) + 4) / 5
	return &Adult{
		Train: &vi.Rows{P: rows.P, X: rows.X[:train*rows.P], Y: rows.Y[:train]},
		Test:  &vi.Rows{P: rows.P, X: rows.X[train*rows.P:], Y: rows.Y[train:]},
	}, nil
}

type adultRecord struct {
	numbers [len(adultNumeric)]float64
	levels  [len(adultLevels)]string
	income  float64
}

// scanAdult reads the rows of a file. Lines that are empty or begin with "|", which UCI's
// adult.test has, are none.
func scanAdult(r io.Reader, name string) (records []adultRecord, err error) {
	lines := bufio.NewScanner(r)
	for number := 1; lines.Scan(); number++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '|' {
			continue
		}
		record, err := parseAdult(strings.Split(line, ","))
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, number, err)
		}
		records = append(records, record)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return records, nil
}

func parseAdult(fields []string) (record adultRecord, _ error) {
	if len(fields) != adultColumns {
		return record, fmt.Errorf("%d columns, not %d", len(fields), adultColumns)
	}
	for i, column := range adultNumeric {
		v, err := strconv.ParseFloat(strings.TrimSpace(fields[column]), 64)
		if err != nil || !(math.Abs(v) <= 1e100) {
			return record, fmt.Errorf("column %d is no number that can be used", column+1)
		}
		record.numbers[i] = v
	}
	for i, column := range adultLevels {
		record.levels[i] = strings.TrimSpace(fields[column])
	}
	switch strings.TrimSuffix(strings.TrimSpace(fields[adultColumns-1]), ".") {
	case "<=50K":
	case ">50K":
		record.income = 1
	default:
		return record, fmt.Errorf("column %d is neither <=50K nor >50K", adultColumns)
	}
	return record, nil
}

// codeAdult standardises numbers and codes levels, in alphabetical order, by 0 and 1.
func codeAdult(records []adultRecord) *vi.Rows {
	rows := &vi.Rows{P: len(adultNumeric), Y: make([]float64, len(records))}
	var places [len(adultLevels)]map[string]int
	for k := range places {
		seen := make(map[string]bool)
		for i := range records {
			seen[records[i].levels[k]] = true
		}
		places[k] = make(map[string]int)
		for _, level := range slices.Sorted(maps.Keys(seen)) {
			places[k][level] = rows.P
			rows.P++
		}
	}
	rows.X = make([]float64, rows.P*len(records))
	column := make([]float64, len(records))
	for k := range adultNumeric {
		for i := range records {
			column[i] = records[i].numbers[k]
		}
		mean, sd := stat.PopMeanStdDev(column, nil)
		for i, v := range column {
			if sd > 0 {
				rows.X[i*rows.P+k] = (v - mean) / sd
			}
		}
	}
	for i := range records {
		for k, level := range records[i].levels {
			rows.X[i*rows.P+places[k][level]] = 1
		}
		rows.Y[i] = records[i].income
	}
	return rows
}
