package main

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
)

// columns are those of the file: a name, bounds within which values are uniform, and the
// digits after the point. Bounds that clamp are narrower.
var columns = []struct {
	name         string
	lower, upper float64
	digits       int
}{
	{"age", 0, 100, 0}, {"income", 0, 250000, 2}, {"educ", 1, 16, 0}, {"weight", 40, 140, 1}, {"height", 1.4, 2.1, 2},
	{"a", -1, 1, 6}, {"b", 0, 1, 4}, {"c", -50, 50, 3}, {"d", 0, 10000, 0}, {"y", -3, 3, 5},
}

// bounds are the public ones of column j: a tenth of the values lies outside.
func bounds(j int) (lower, upper float64) {
	c := columns[j]
	margin := (c.upper - c.lower) / 20
	return c.lower + margin, c.upper - margin
}

// generate writes rows of comma-separated values, the same ones at every call, until the
// file has so many bytes. In full precision numbers have 16 or 17 digits.
func generate(path string, size int64, full bool) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	out := bufio.NewWriterSize(f, 1<<20)
	if err := writeRows(out, size, full); err != nil {
		return err
	}
	if err := out.Flush(); err != nil {
		return err
	}
	return f.Close()
}

func writeRows(out io.Writer, size int64, full bool) error {
	rng := rand.New(rand.NewPCG(1, 2))
	line := []byte{}
	for j, c := range columns {
		if j > 0 {
			line = append(line, ',')
		}
		line = append(line, c.name...)
	}
	line = append(line, '\n')
	for written := int64(0); written < size; {
		n, err := out.Write(line)
		if err != nil {
			return fmt.Errorf("generate: %w", err)
		}
		written += int64(n)
		line = line[:0]
		for j, c := range columns {
			if j > 0 {
				line = append(line, ',')
			}
			digits := c.digits
			if full {
				digits = -1
			}
			line = strconv.AppendFloat(line, c.lower+rng.Float64()*(c.upper-c.lower), 'f', digits, 64)
		}
		line = append(line, '\n')
	}
	return nil
}
