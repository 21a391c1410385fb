package main

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"os"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"

	"github.com/dpreg/dpreg/report"
)

// The table's place in a Markdown file.
var (
	begin = []byte("<!-- begin: go run ./bench/federated -->\n")
	end   = []byte("<!-- end: go run ./bench/federated -->\n")
)

// write puts table and picture where they are wanted.
func write(stdout io.Writer, all []result, markdown, picture string, seeds int) error {
	if picture != "" {
		var b bytes.Buffer
		if err := draw(&b, all); err != nil {
			return err
		}
		if err := os.WriteFile(picture, b.Bytes(), 0o644); err != nil {
			return err
		}
	}
	var b bytes.Buffer
	table(&b, all, seeds)
	if markdown == "" {
		_, err := stdout.Write(b.Bytes())
		return err
	}
	page, err := os.ReadFile(markdown)
	if err != nil {
		return err
	}
	from, to := bytes.Index(page, begin), bytes.Index(page, end)
	if from < 0 || to < from {
		return fmt.Errorf("%s has no place marked %q to %q", markdown, bytes.TrimSpace(begin), bytes.TrimSpace(end))
	}
	from += len(begin)
	return os.WriteFile(markdown, append(append(bytes.Clone(page[:from]), b.Bytes()...), page[to:]...), 0o644)
}

func table(w io.Writer, all []result, seeds int) {
	fmt.Fprintf(w, "\n%d seeds, mean ± sd, δ = %g.\n\n", seeds, delta)
	fmt.Fprintln(w, "| clients | ε | method | θ off by | θ held, % | test RMSE, h | test log score | test rows held, % | rounds | bytes | s |\n|---|---|---|---|---|---|---|---|---|---|---|")
	for _, r := range all {
		if r.partition == "" {
			fmt.Fprint(w, "| | ")
		} else {
			fmt.Fprintf(w, "| %s | %g ", r.partition, r.epsilon)
		}
		fmt.Fprintf(w, "| %s | %s | %.0f | %s | %s | %.1f |", r.method, r.spread("%.2g ± %.1g", theta), 100*r.mean(func(s score) float64 { return s.held }),
			r.spread("%.2f ± %.2f", func(s score) float64 { return s.rmse }), r.spread("%.3f ± %.3f", func(s score) float64 { return s.logScore }), 100*r.mean(func(s score) float64 { return s.covered }))
		if r.partition == "" {
			fmt.Fprintln(w, " | | |")
		} else {
			fmt.Fprintf(w, " %d | %d | %.2g |\n", r.rounds, r.bytes, r.seconds)
		}
	}
	fmt.Fprintln(w)
}

func theta(s score) float64 { return s.theta }

func (r *result) mean(of func(score) float64) (mean float64) {
	for _, s := range r.scores {
		mean += of(s) / float64(len(r.scores))
	}
	return mean
}

// spread is the mean and standard deviation over seeds, in this format; of one alone
// the mean.
func (r *result) spread(format string, of func(score) float64) string {
	mean := r.mean(of)
	square := r.mean(func(s score) float64 { return (of(s) - mean) * (of(s) - mean) })
	n := float64(len(r.scores))
	if n == 1 {
		return fmt.Sprintf("%.3f", mean)
	}
	return fmt.Sprintf(format, mean, math.Sqrt(square*n/(n-1)))
}

// draw draws the distance from the pooled fit above, and the test rows' log score below,
// a column for each partition.
func draw(w io.Writer, all []result) error {
	var names []string
	for _, m := range methods {
		names = append(names, m.name)
	}
	keys := report.SeriesKeys(names...)
	var distances, scores []*plot.Plot
	low, high, worst := math.Inf(1), 0.0, 0.0
	for _, r := range all[1:] {
		low, high, worst = min(low, r.mean(theta)), max(high, r.mean(theta)), min(worst, r.mean(loss))
	}
	low, high = math.Pow(10, math.Floor(math.Log10(low))), math.Pow(10, math.Ceil(math.Log10(high)))
	for _, p := range partitions {
		clients := "clients: " + p.name
		off, logs := report.Panel(clients, "ε", "θ off by"), report.Panel(clients, "ε", "log score less the pooled fit's")
		report.MarkX(off, epsilons)
		report.MarkX(logs, epsilons)
		for _, k := range keys {
			var above, below plotter.XYs
			for _, r := range all {
				if r.partition == p.name && r.method == k.Name {
					above = append(above, plotter.XY{X: r.epsilon, Y: r.mean(theta)})
					below = append(below, plotter.XY{X: r.epsilon, Y: r.mean(loss) - all[0].mean(loss)})
				}
			}
			k.Add(off, above)
			k.Add(logs, below)
		}
		report.LogY(off, low, high)
		logs.Y.Min, logs.Y.Max = worst-all[0].mean(loss), 0
		distances, scores = append(distances, off), append(scores, logs)
	}
	return report.Panels("federated", "Adult: hours per week on four columns, by ε of each client", keys, len(partitions), append(distances, scores...)).Write(w, "svg")
}

func loss(s score) float64 { return s.logScore }
