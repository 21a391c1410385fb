package main

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/dpreg/dpreg/schema"
)

// design is hours per week on the other numeric columns that describe a person, capital
// gains and losses by log(1 + x). The bounds are those of the census's codes, public.
var design = &schema.Design{
	Response: schema.Column{Name: "hours-per-week", Lower: 1, Upper: 99},
	Covariates: []schema.Column{{Name: "age", Lower: 17, Upper: 90}, {Name: "education-num", Lower: 1, Upper: 16},
		{Name: "log capital-gain", Lower: 0, Upper: 12}, {Name: "log capital-loss", Lower: 0, Upper: 9}},
	Intercept: true,
}

// fields are the places of the design's columns in the files.
var fields = []int{0, 4, 10, 11, 12}

// read returns the rows of a file in scaled units. Errors name file and line.
func read(directory, name string) (rows [][]float64, err error) {
	path := filepath.Join(directory, name)
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("UCI's Adult data: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	frame, lines := design.Frame(), bufio.NewScanner(file)
	for number := 1; lines.Scan(); number++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '|' {
			continue
		}
		row, err := parse(strings.Split(line, ","))
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, number, err)
		}
		frame.Scale(row, row)
		rows = append(rows, row)
	}
	return rows, lines.Err()
}

func parse(words []string) (row []float64, err error) {
	if len(words) != 15 {
		return nil, fmt.Errorf("%d columns, not 15", len(words))
	}
	for i, at := range fields {
		v, err := strconv.ParseFloat(strings.TrimSpace(words[at]), 64)
		if err != nil {
			return nil, fmt.Errorf("column %d: %w", at+1, err)
		}
		column := design.Columns()[i]
		if strings.HasPrefix(column.Name, "log ") {
			v = math.Log1p(v)
		}
		row = append(row, min(max(v, column.Lower), column.Upper))
	}
	return row, nil
}

// partition is how rows are dealt to clients: all alike, or where rho is not 0 half of
// them with N/M (1 − ρ) rows and half with N/M (1 + ρ).
type partition struct {
	name    string
	clients int
	rho     float64
}

// deal shuffles, and leaves what is over to nobody.
func (p partition) deal(rows [][]float64, rng *rand.Rand) (clients [][][]float64) {
	rows = slices.Clone(rows)
	rng.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	each := float64(len(rows)) / float64(p.clients)
	for m := range p.clients {
		n := int(each)
		if p.rho > 0 {
			n = int(each * (1 - p.rho))
			if m >= p.clients/2 {
				n = int(each * (1 + p.rho))
			}
		}
		clients = append(clients, rows[:n])
		rows = rows[n:]
	}
	return clients
}
