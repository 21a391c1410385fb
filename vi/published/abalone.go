package published

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/dpreg/dpreg/mechanisms/accounting"
	"github.com/dpreg/dpreg/vi"
)

// Abalone is the logistic regression of Jälkö, Dikmen & Honkela (UAI 2017; in the form of
// their poster's code, 2016): has an abalone ten rings or more? Eight covariates, sex as
// 0, 1, 2 and seven measures, z-scored; no intercept; the first rows train.
type Abalone struct{ Train, Test *vi.Rows }

const (
	abaloneTrain  = 3341
	abaloneRate   = 0.01
	abaloneSteps  = 2000
	abaloneDelta  = 1e-3
	abaloneFields = 9
	// AbaloneMoments is how many moments the authors' accountant takes.
	AbaloneMoments = 99
)

// ReadAbalone reads UCI's abalone.data, which name calls in errors. All rows give the
// means and standard deviations of the z-scores, as in the paper: a leak, which no ε here
// covers.
func ReadAbalone(r io.Reader, name string) (*Abalone, error) {
	reader := csv.NewReader(r)
	reader.FieldsPerRecord = abaloneFields
	rows := &vi.Rows{P: abaloneFields - 1}
	for {
		fields, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if err := addAbalone(rows, fields); err != nil {
			line, _ := reader.FieldPos(0)
			return nil, fmt.Errorf("%s, line %d: %w", name, line, err)
		}
	}
	if len(rows.Y) <= abaloneTrain {
		return nil, fmt.Errorf("%s has %d rows: UCI's abalone.data has 4177", name, len(rows.Y))
	}
	standardise(rows)
	cut := abaloneTrain * rows.P
	return &Abalone{
		Train: &vi.Rows{P: rows.P, X: rows.X[:cut], Y: rows.Y[:abaloneTrain]},
		Test:  &vi.Rows{P: rows.P, X: rows.X[cut:], Y: rows.Y[abaloneTrain:]},
	}, nil
}

func addAbalone(rows *vi.Rows, fields []string) error {
	sex, ok := map[string]float64{"I": 0, "F": 1, "M": 2}[fields[0]]
	if !ok {
		return errors.New("the first field is none of I, F, M")
	}
	rows.X = append(rows.X, sex)
	for j, field := range fields[1:] {
		v, err := strconv.ParseFloat(field, 64)
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("field %d is no finite number", j+2)
		}
		if j+2 < abaloneFields {
			rows.X = append(rows.X, v)
			continue
		}
		y := 0.
		if v >= 10 {
			y = 1
		}
		rows.Y = append(rows.Y, y)
	}
	return nil
}

// standardise z-scores columns in place.
func standardise(rows *vi.Rows) {
	n := float64(len(rows.Y))
	for j := range rows.P {
		mean, square := 0., 0.
		for i := j; i < len(rows.X); i += rows.P {
			mean += rows.X[i] / n
		}
		for i := j; i < len(rows.X); i += rows.P {
			rows.X[i] -= mean
			square += rows.X[i] * rows.X[i] / n
		}
		for i := j; i < len(rows.X); i += rows.P {
			rows.X[i] /= math.Sqrt(square)
		}
	}
}

// AbaloneRun is a setting: Sigma is the paper's σ, 0 without privacy, of noise with the
// standard deviation 2σ·Clip on gradients scaled by N/B and clipped at Clip.
type AbaloneRun struct{ Sigma, Clip float64 }

// Epsilon is what the authors' accountant gives for σ: moments λ ≤ 99 of Poisson's
// sampling, δ = 1e-3.
func (a AbaloneRun) Epsilon() (float64, error) {
	var c accounting.Composition
	if err := c.Sampled(accounting.Training{Multiplier: a.Sigma, Rate: abaloneRate, Steps: abaloneSteps}); err != nil {
		return 0, err
	}
	return c.Moments(abaloneDelta, AbaloneMoments)
}

// Tight is the ε that the noise, of 2σ, proves for data sets that differ in one row's
// values, by privacy-loss distributions.
func (a AbaloneRun) Tight() (float64, error) {
	return a.training().Epsilon(accounting.PLD, abaloneDelta)
}

func (a AbaloneRun) training() accounting.Training {
	return accounting.Training{Multiplier: 2 * a.Sigma, Rate: abaloneRate, Steps: abaloneSteps, Scheme: accounting.PoissonReplaceOne}
}

// Run returns the accuracy on the test rows: as in the paper, gradients are clipped
// jointly, with each record's share of prior and entropy.
func (a AbaloneRun) Run(ctx context.Context, data *Abalone, seed uint64) (float64, error) {
	o := vi.Options{
		Rate: abaloneRate, Steps: abaloneSteps, Seed: seed, Joint: true, Records: abaloneTrain,
		Optimiser: &vi.Adagrad{Rate: 0.1, Window: 10}, Scheme: accounting.PoissonReplaceOne,
	}
	if a.Sigma > 0 {
		o.Clip = a.Clip * abaloneRate // per record, before the scaling by N/B
		o.Privacy = &vi.Privacy{Epsilon: math.MaxFloat64, Delta: abaloneDelta, Multiplier: 2 * a.Sigma, Entropy: simulated(seed)}
	}
	fit, err := vi.Run(ctx, vi.Logistic(data.Train, 1), o)
	if err != nil {
		return 0, err
	}
	mean, sd := fit.Moments()
	return accuracy(data.Test, mean, sd), nil
}
