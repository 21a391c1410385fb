package main

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
)

// from reads a file in DuckDB's fastest way: it is told the types.
func from(path string) string {
	if filepath.Ext(path) == ".parquet" {
		return fmt.Sprintf("read_parquet('%s')", path)
	}
	types := make([]string, len(columns))
	for j, c := range columns {
		types[j] = fmt.Sprintf("'%s': 'DOUBLE'", c.name)
	}
	return fmt.Sprintf("read_csv('%s', header = true, delim = ',', quote = '', escape = '', auto_detect = false, columns = {%s})",
		path, strings.Join(types, ", "))
}

// query asks for the count, the sums and the sums of products, in dpreg's order.
func query(path string) string {
	var scaled, sums []string
	for j, c := range columns {
		lower, upper := bounds(j)
		centre, half := upper/2+lower/2, upper/2-lower/2
		scaled = append(scaled, fmt.Sprintf("(least(greatest(%s, %v), %v) - %v) / %v AS v%d", c.name, lower, upper, centre, half, j))
		sums = append(sums, fmt.Sprintf("sum(v%d)", j))
	}
	for j := range columns {
		for k := j; k < len(columns); k++ {
			sums = append(sums, fmt.Sprintf("sum(v%d * v%d)", j, k))
		}
	}
	return fmt.Sprintf("SELECT count(*)::DOUBLE, %s FROM (SELECT %s FROM %s)", strings.Join(sums, ", "), strings.Join(scaled, ", "), from(path))
}

func queried(ctx context.Context, db *sql.DB, path string) ([]float64, error) {
	sums := make([]float64, 1+len(columns)+len(columns)*(len(columns)+1)/2)
	places := make([]any, len(sums))
	for i := range sums {
		places[i] = &sums[i]
	}
	return sums, db.QueryRowContext(ctx, query(path)).Scan(places...)
}
