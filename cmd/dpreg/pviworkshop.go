package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/vi/pvi"
)

const workshopIntro = `Adult, %d rows to train and %d to test; ten clients, rho = %v, kappa = %v. Means ± sd
over %d seeds. In brackets what the paper has.

The six numeric columns are z-scored by mean and sd of all rows, as in the paper: a
leak, which no ε here covers. Noise is simulated: a study on public data.`

const paperNote = `
Accounting of the paper: batches of fixed size are counted by the moments accountant as
if they were Poisson's, which proves nothing, and the last update passes ε.`

// workshop finds the settings of a workshop preset, and reads the data.
func (f *pviFlags) workshop(cmd *cobra.Command, distribution string, args []string) (*pviStudy, error) {
	partition, err := pvi.WorkshopPartition(distribution)
	if err != nil {
		return nil, err
	}
	other := cmd.Flags().Changed("rho") || cmd.Flags().Changed("kappa")
	if cmd.Flags().Changed("rho") {
		partition.Rho = f.rho
	}
	if cmd.Flags().Changed("kappa") {
		partition.Kappa = f.kappa
	}
	accounting := pvi.Tight
	if f.accounting == "paper" {
		accounting = pvi.Paper
	}
	runs, err := f.workshops(partition, accounting)
	if err != nil {
		return nil, err
	}
	if err := oneFile("the directory of adult.data and adult.test")(cmd, args); err != nil {
		return nil, err
	}
	data, err := pvi.ReadAdult(args[0], f.split)
	if err != nil {
		return nil, usage(err)
	}
	intro := fmt.Sprintf(workshopIntro, len(data.Train.Y), len(data.Test.Y), partition.Rho, partition.Kappa, f.seeds)
	if accounting == pvi.Paper {
		intro += paperNote
	}
	s := &pviStudy{
		intro:    intro,
		settings: []string{"method", "eps", "accounting"},
		measures: []string{"accuracy", "log_lik", "updates_small", "updates_large", "epsilon_small", "epsilon_large"},
		header:   []string{"accuracy %", "", "mean log-lik", "", "updates small/large", "most ε small/large"},
	}
	for _, w := range runs {
		s.arms = append(s.arms, workshopArm(w, data))
	}
	s.summary = func(arm int, measured [][]float64) []string {
		accuracy, logLik := "", ""
		if p, ok := publishedWorkshop[distribution][s.arms[arm].published()]; ok && !other {
			accuracy, logLik = fmt.Sprintf("(%.2f)", p[0]), fmt.Sprintf("(%.4f)", p[1])
		}
		return workshopRow(measured, accuracy, logLik)
	}
	return s, nil
}

// published is the paper's name of a setting.
func (a pviArm) published() string { return a.values[0] + a.values[1] }

// publishedWorkshop is accuracy in % and mean log-likelihood of Table 5.
var publishedWorkshop = map[string]map[string][2]float64{
	"A": {"pvi": {85.23, -.3181}, "global-vi": {85.21, -.3184}, "dp-pvi0.5": {84.57, -.3439}, "dp-pvi0.75": {84.78, -.3372}, "dp-pvi1": {85.02, -.3332}},
	"B": {"pvi": {85.15, -.3216}, "global-vi": {78.76, -.7006}, "dp-pvi0.5": {84.43, -.3379}, "dp-pvi0.75": {84.87, -.3332}, "dp-pvi1": {84.94, -.3323}},
	"C": {"pvi": {85.13, -.3193}, "global-vi": {53.96, -1.1997}, "dp-pvi0.5": {81.83, -.4218}, "dp-pvi0.75": {82.38, -.4130}, "dp-pvi1": {82.46, -.4070}},
}

// workshops lists the runs that --method and --eps ask for.
func (f *pviFlags) workshops(partition pvi.Partition, accounting pvi.Accounting) (runs []pvi.Workshop, err error) {
	budgets, err := parseList("eps", f.eps, func(text string) (float64, error) {
		v, err := schema.ParseNumber(text)
		if err == nil && !(v > 0 && v <= 1000) {
			err = fmt.Errorf("ε must lie above 0 and not above 1000")
		}
		return v, err
	})
	if err != nil {
		return nil, err
	}
	counts := new(pvi.Counts)
	for _, name := range strings.Split(f.methods, ",") {
		w := pvi.Workshop{Partition: partition, Accounting: accounting, Counts: counts}
		switch strings.TrimSpace(name) {
		case "pvi":
			w.Method = pvi.PVI
		case "global-vi":
			w.Method = pvi.GlobalVI
		case "dp-pvi":
			w.Method = pvi.DPPVI
			for _, w.Epsilon = range budgets {
				runs = append(runs, w)
			}
			continue
		default:
			return nil, usagef("--method %q: a list of pvi, global-vi and dp-pvi", f.methods)
		}
		runs = append(runs, w)
	}
	return runs, nil
}

func workshopArm(w pvi.Workshop, data *pvi.Adult) pviArm {
	arm := pviArm{values: []string{[]string{"pvi", "global-vi", "dp-pvi"}[w.Method], "", ""}}
	if w.Method == pvi.DPPVI {
		arm.values[1], arm.values[2] = fmt.Sprint(w.Epsilon), w.Accounting.String()
	}
	arm.run = func(ctx context.Context, seed uint64) ([]float64, error) {
		r, err := w.Run(ctx, data, seed)
		if err != nil {
			return nil, err
		}
		return []float64{r.Accuracy, r.LogLik, r.Small, r.Large, r.SmallSpent, r.LargeSpent}, nil
	}
	return arm
}

func workshopRow(runs [][]float64, accuracy, logLik string) []string {
	spread := func(measure, decimals int, scale float64) string {
		values := column(runs, measure)
		floats.Scale(scale, values)
		mean := stat.Mean(values, nil)
		if len(values) == 1 {
			return fmt.Sprintf("%.*f", decimals, mean)
		}
		return fmt.Sprintf("%.*f ± %.*f", decimals, mean, decimals, stat.StdDev(values, nil))
	}
	mean := func(measure int) float64 { return stat.Mean(column(runs, measure), nil) }
	row := []string{spread(0, 2, 100), accuracy, spread(1, 4, 1), logLik, fmt.Sprintf("%.0f / %.0f", mean(2), mean(3)), ""}
	if mean(4) > 0 {
		row[5] = fmt.Sprintf("%.3f / %.3f", floats.Max(column(runs, 4)), floats.Max(column(runs, 5)))
	}
	return row
}
