package main

import (
	"encoding/csv"
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

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/integrate"
	"gonum.org/v1/gonum/stat"

	"github.com/dpreg/dpreg/vi"
)

// parted are rows to train and rows to test.
type parted struct{ train, test *vi.Rows }

func part(rows *vi.Rows, train int) *parted {
	cut := train * rows.P
	return &parted{&vi.Rows{P: rows.P, X: rows.X[:cut], Y: rows.Y[:train]}, &vi.Rows{P: rows.P, X: rows.X[cut:], Y: rows.Y[train:]}}
}

// standardise z-scores the first columns in place, by means and standard deviations of all
// rows, as was published: a leak, which no ε here covers.
func standardise(rows *vi.Rows, columns int) {
	column := make([]float64, len(rows.Y))
	for j := range columns {
		for i := range column {
			column[i] = rows.X[i*rows.P+j]
		}
		mean, sd := stat.PopMeanStdDev(column, nil)
		for i, v := range column {
			rows.X[i*rows.P+j] = 0
			if sd > 0 {
				rows.X[i*rows.P+j] = (v - mean) / sd
			}
		}
	}
}

// scanFile takes the lines of one of UCI's files, cut at commas into so many fields.
func scanFile(path string, fields int, take func([]string) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return scan(f, path, fields, take)
}

// scan leaves out lines that are empty or begin with "|", as one of adult.test does. Errors
// have the file's name and the line.
func scan(r io.Reader, name string, fields int, take func([]string) error) error {
	lines := csv.NewReader(r)
	lines.Comment, lines.FieldsPerRecord, lines.TrimLeadingSpace, lines.LazyQuotes = '|', -1, true, true
	for {
		words, err := lines.Read()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return fmt.Errorf("%s: %w", name, err)
		case len(words) != fields:
			err = fmt.Errorf("%d columns, not %d", len(words), fields)
		default:
			err = take(words)
		}
		if err != nil {
			line, _ := lines.FieldPos(0)
			return fmt.Errorf("%s:%d: %w", name, line, err)
		}
	}
}

func number(words []string, at int) (float64, error) {
	v, err := strconv.ParseFloat(words[at], 64)
	if err != nil || !(math.Abs(v) <= 1e100) {
		return 0, fmt.Errorf("column %d is no number that can be used", at+1)
	}
	return v, nil
}

// abalone collects the rows of abalone.data: sex as 0, 1, 2, and seven measures; the
// response is whether there are ten rings or more.
type abalone struct{ rows vi.Rows }

const abaloneFields = 9

func (a *abalone) add(words []string) error {
	sex, ok := map[string]float64{"I": 0, "F": 1, "M": 2}[words[0]]
	if !ok {
		return fmt.Errorf("column 1 is none of I, F, M")
	}
	a.rows.X = append(a.rows.X, sex)
	for j := 1; j < abaloneFields; j++ {
		v, err := number(words, j)
		switch {
		case err != nil:
			return err
		case j < abaloneFields-1:
			a.rows.X = append(a.rows.X, v)
		case v >= 10:
			a.rows.Y = append(a.rows.Y, 1)
		default:
			a.rows.Y = append(a.rows.Y, 0)
		}
	}
	return nil
}

// readAbalone has the first 3341 rows to train.
func readAbalone(path string) (*parted, error) {
	a := abalone{vi.Rows{P: abaloneFields - 1}}
	if err := scanFile(path, abaloneFields, a.add); err != nil {
		return nil, err
	}
	if len(a.rows.Y) <= abaloneTrain {
		return nil, fmt.Errorf("%s has %d rows: UCI's abalone.data has 4177", path, len(a.rows.Y))
	}
	standardise(&a.rows, a.rows.P)
	return part(&a.rows, abaloneTrain), nil
}

// adult collects the rows of adult.data and adult.test (Becker & Kohavi 1996), coded as in
// Sharma et al. (2019): six numeric columns, then all levels of eight others ("?" is
// one), without an intercept; the response is 1 for an income above 50 000.
type adult struct{ records []adultRecord }

// Columns of the files; the last is the income, and others are not used.
var (
	adultNumeric = [...]int{0, 2, 4, 10, 11, 12}
	adultLevels  = [...]int{1, 3, 5, 6, 7, 8, 9, 13}
)

const adultFields = 15

type adultRecord struct {
	numbers [len(adultNumeric)]float64
	levels  [len(adultLevels)]string
	income  float64
}

func (a *adult) add(words []string) (err error) {
	var r adultRecord
	for i, at := range adultNumeric {
		if r.numbers[i], err = number(words, at); err != nil {
			return err
		}
	}
	for i, at := range adultLevels {
		r.levels[i] = words[at]
	}
	switch strings.TrimSuffix(words[adultFields-1], ".") {
	case "<=50K":
	case ">50K":
		r.income = 1
	default:
		return fmt.Errorf("column %d is neither <=50K nor >50K", adultFields)
	}
	a.records = append(a.records, r)
	return nil
}

// readAdult permutes the rows of both files as split, a seed, has it, and takes the first
// ⌈0.8 N⌉ to train.
func readAdult(directory string, split uint64) (*parted, error) {
	var a adult
	for _, name := range []string{"adult.data", "adult.test"} {
		if err := scanFile(filepath.Join(directory, name), adultFields, a.add); err != nil {
			return nil, err
		}
	}
	if len(a.records) < 2 {
		return nil, fmt.Errorf("%s: no rows", directory)
	}
	rng := rand.New(rand.NewPCG(split, 0))
	rng.Shuffle(len(a.records), func(i, j int) { a.records[i], a.records[j] = a.records[j], a.records[i] })
	return part(a.code(), (4*len(a.records)+4)/5), nil
}

// code standardises numbers and codes levels, in alphabetical order, by 0 and 1.
func (a *adult) code() *vi.Rows {
	rows := &vi.Rows{P: len(adultNumeric)}
	var places [len(adultLevels)]map[string]int
	for k := range places {
		places[k] = make(map[string]int)
		for _, r := range a.records {
			places[k][r.levels[k]] = 0
		}
		for _, level := range slices.Sorted(maps.Keys(places[k])) {
			places[k][level] = rows.P
			rows.P++
		}
	}
	rows.X = make([]float64, rows.P*len(a.records))
	for i, r := range a.records {
		copy(rows.X[i*rows.P:], r.numbers[:])
		for k, level := range r.levels {
			rows.X[i*rows.P+places[k][level]] = 1
		}
		rows.Y = append(rows.Y, r.income)
	}
	standardise(rows, len(adultNumeric))
	return rows
}

// partition deals records to ten clients, half of them small and half large, with classes
// in unequal shares. With N records, M clients and λ the share of negative records,
//
//	N_small = ⌊N/M (1 − ρ)⌋,  N_large = ⌊N/M (1 + ρ)⌋,
//
// and ⌊N_small (λ + (1 − λ)κ)⌋ of a small client's records are negative. ρ = κ = 0 makes
// all alike; κ = 1 makes small clients all negative, κ = −λ/(1 − λ) all positive.
type partition struct{ rho, kappa float64 }

const clients = 10

// partitions are the paper's.
var partitions = map[string]partition{"A": {}, "B": {0.9, 0.95}, "C": {0.7, -3}, "D": {0.6, -1.5}}

// deal returns the indices of each client's records, whose class y is 0 or 1, small
// clients first. What is left over is dealt to nobody. It is an error where there are too
// few of a class.
func (p partition) deal(y []float64, rng *rand.Rand) (dealt [][]int, err error) {
	const half = clients / 2
	var classes [2][]int
	for i, class := range y {
		classes[int(class)] = append(classes[int(class)], i)
	}
	each, share := float64(len(y))/clients, float64(len(classes[0]))/float64(len(y))
	small, large := int(each*(1-p.rho)), int(each*(1+p.rho))
	negatives := int(math.Floor(float64(small) * (share + (1-share)*p.kappa)))
	for class, wanted := range [2]int{negatives, small - negatives} {
		if small < 1 || wanted < 0 || wanted*half > len(classes[class]) {
			return nil, fmt.Errorf("%d records are too few for %d clients with ρ = %v, κ = %v", len(y), clients, p.rho, p.kappa)
		}
	}
	for range half {
		var records []int
		for class, n := range [2]int{negatives, small - negatives} {
			records = append(records, classes[class][:n]...)
			classes[class] = classes[class][n:]
		}
		dealt = append(dealt, records)
	}
	rest := append(append([]int{}, classes[0]...), classes[1]...)
	rng.Shuffle(len(rest), func(i, j int) { rest[i], rest[j] = rest[j], rest[i] })
	for range half {
		dealt = append(dealt, rest[:large:large])
		rest = rest[large:]
	}
	return dealt, nil
}

// predictor is xᵀθ at a fitted law, over √(1 + π xᵀVx/8): the logistic function of it is
// about the probability averaged over the law (MacKay, Neural Computation 4, 1992).
func predictor(x, mean, sd []float64) float64 {
	m, v := 0., 0.
	for j, u := range x {
		m += u * mean[j]
		v += u * u * sd[j] * sd[j]
	}
	return m / math.Sqrt(1+math.Pi*v/8)
}

// predict returns the share of responses on whose side the predictor is, and the mean log
// probability of the responses.
func predict(rows *vi.Rows, mean, sd []float64) (accuracy, logLik float64) {
	n := float64(len(rows.Y))
	for i, y := range rows.Y {
		a := predictor(rows.X[i*rows.P:(i+1)*rows.P], mean, sd)
		if a > 0 == (y == 1) {
			accuracy += 1 / n
		}
		if y == 0 {
			a = -a
		}
		logLik -= (math.Max(-a, 0) + math.Log1p(math.Exp(-math.Abs(a)))) / n // log σ(a)
	}
	return accuracy, logLik
}

// auc is the area under the receiver operating characteristic: the share of pairs of a
// response 1 and a response 0 in which the first has the larger score, ties counting
// half (Mann and Whitney's statistic).
func auc(score, y []float64) float64 {
	sorted, order := slices.Clone(score), make([]int, len(score))
	floats.Argsort(sorted, order)
	ones := make([]bool, len(order))
	for i, at := range order {
		ones[i] = y[at] == 1
	}
	tpr, fpr, _ := stat.ROC(nil, sorted, ones, nil)
	return integrate.Trapezoidal(fpr, tpr)
}
