package main

import (
	"encoding/csv"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"

	"github.com/dpreg/dpreg/internal/number"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/schema"
)

// categories are the populations of tables of counts, and each again with responses that are drawn as the model has them.
func categories(looks bool) (all []population, err error) {
	for _, of := range []struct{ name, yes string }{{"titanic", "Yes"}, {"ucb", "Admitted"}} {
		p, rows, eta, err := counted("testdata/"+of.name+".counts.csv", of.yes)
		if err != nil {
			return nil, err
		}
		p.name, p.looks = of.name, looks
		drawn := p
		drawn.name += ", as the model has it"
		drawn.draw = func(row []float64, rng *rand.Rand) {
			i := rng.IntN(len(rows))
			copy(row, rows[i])
			row[len(row)-1] = model.Binomial.Draw(eta[i], 1, rng)
		}
		all = append(all, p, drawn)
	}
	return all, nil
}

// counted reads a table of factors, a response and counts, and returns the rows and η of each.
func counted(path, yes string) (p population, rows [][]float64, eta []float64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return p, nil, nil, err
	}
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return p, nil, nil, err
	}
	last := len(lines[0]) - 2
	var factors []schema.Factor
	for j, name := range lines[0][:last] {
		factor := schema.Factor{Name: name}
		for _, line := range lines[1:] {
			if !slices.Contains(factor.Levels, line[j]) {
				factor.Levels = append(factor.Levels, line[j])
			}
		}
		factors = append(factors, factor)
	}
	for _, line := range lines[1:] {
		row := []float64(nil)
		for j, factor := range factors {
			for _, level := range factor.Levels[1:] {
				row = append(row, number.Indicator[float64](line[j] == level))
			}
		}
		row = append(row, number.Indicator[float64](line[last] == yes))
		count, err := strconv.Atoi(line[last+1])
		if err != nil {
			return p, nil, nil, err
		}
		rows = append(rows, slices.Repeat([][]float64{row}, count)...)
	}
	p, eta, err = newRows(rows)
	p.factors = factors
	return p, rows, eta, err
}
