package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/dpreg/dpreg/mechanisms/accounting"
	"github.com/dpreg/dpreg/report"
)

const accountLaplaceHelp = `Account for Laplace noise on statistics of an L1 sensitivity of 1, or --sensitivity.

Give all but one of --scale, --count, --eps and --delta, and the one that is left out
is found by every accountant. One release of scale b is (1/b, 0)-differentially
private; so many are much better than the sum says where a δ is allowed. Vectors
count as one number: the bounds hold for noise on all their entries.`

type accountLaplace struct {
	accountFlags
	scale, count string
}

func newAccountLaplace() *cobra.Command {
	var c accountLaplace
	cmd := &cobra.Command{
		Use:   "laplace",
		Short: "Account for Laplace noise",
		Long:  accountLaplaceHelp,
		Example: `  dpreg account laplace --scale 10 --count 100 --delta 1e-5
  dpreg account laplace --eps 1 --count 20 --delta 1e-6 --sensitivity 5.4`,
		Args: noFile,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.run(cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	c.register(cmd)
	fs := cmd.Flags()
	fs.StringVar(&c.scale, "scale", "", "scale b of the noise, a `NUMBER`")
	fs.StringVar(&c.count, "count", "", "`NUMBER` of releases")
	fs.StringVar(&c.sensitivity, "sensitivity", "1", "L1 sensitivity, a `NUMBER`")
	return cmd
}

// laplaceInputs are what was given, and the member "inputs" of the JSON.
type laplaceInputs struct {
	Mechanism   string   `json:"mechanism"`
	Scale       *float64 `json:"scale,omitempty"`
	Count       *int     `json:"count,omitempty"`
	Epsilon     *float64 `json:"epsilon,omitempty"`
	Delta       *float64 `json:"delta,omitempty"`
	Sensitivity float64  `json:"sensitivity"`
}

// parse reads the numbers, and says which one is asked for.
func (c *accountLaplace) parse() (in laplaceInputs, asked string, err error) {
	in.Mechanism = "laplace"
	var count *float64
	missing := 0
	for _, p := range []struct {
		flag, name, text string
		to               **float64
		accept           func(float64) bool
		want             string
	}{
		{"scale", "scale", c.scale, &in.Scale, isPositive, "a number above 0"},
		{"count", "count", c.count, &count, isCount, fmt.Sprintf("a whole number from 1 to %d", accounting.MaxCount)},
		{"eps", "epsilon", c.eps, &in.Epsilon, isPositive, "a number above 0"},
		{"delta", "delta", c.delta, &in.Delta, isDelta, fmt.Sprintf("a number from %v to below 1, as in --delta 1e-6", accounting.MinSampledDelta)},
	} {
		v, ok, err := parseFlag(p.flag, p.text, p.accept, p.want)
		if err != nil {
			return in, "", err
		}
		if ok {
			*p.to = &v
		} else {
			asked = p.name
			missing++
		}
	}
	if in.Sensitivity, _, err = parseFlag("sensitivity", c.sensitivity, isPositive, "a number above 0"); err != nil {
		return in, "", err
	}
	if missing != 1 {
		return in, "", usagef("three of --scale, --count, --eps and --delta are needed, as in --scale 10 --count 100 --delta 1e-5, and the fourth is found")
	}
	if count != nil {
		whole := int(*count)
		in.Count = &whole
	}
	return in, asked, nil
}

func (c *accountLaplace) run(stdout, stderr io.Writer) error {
	if err := c.checkOutput(); err != nil {
		return err
	}
	in, asked, err := c.parse()
	if err != nil {
		return err
	}
	var r accounting.Repeated
	if in.Scale != nil {
		r.Multiplier = *in.Scale / in.Sensitivity
	}
	if in.Count != nil {
		r.Count = *in.Count
	}
	a := &account{Account: report.Account{Subject: in.subject(), Quantity: asked}, inputs: in}
	if err := a.ask(in.question(r, asked)); err != nil {
		return err
	}
	first := a.Answers[0].Value
	switch asked {
	case "scale":
		r.Multiplier = first / in.Sensitivity
	case "count":
		r.Count = int(first)
	case "delta":
		in.Delta = &first
	}
	a.Delta, a.count = *orZero(in.Delta), r.Count
	a.epsilon = func(by accounting.Accountant, count int) (float64, error) {
		r.Count = count
		return r.Epsilon(by, a.Delta)
	}
	return c.conclude(stdout, stderr, a)
}

func (in *laplaceInputs) question(r accounting.Repeated, asked string) func(accounting.Accountant) (float64, error) {
	return func(a accounting.Accountant) (float64, error) {
		switch asked {
		case "epsilon":
			return r.Epsilon(a, *in.Delta)
		case "delta":
			return r.Delta(a, *in.Epsilon)
		case "scale":
			multiplier, err := r.FindMultiplier(a, *in.Epsilon, *in.Delta)
			return multiplier * in.Sensitivity, err
		}
		count, err := r.FindCount(a, *in.Epsilon, *in.Delta)
		return float64(count), err
	}
}

func (in *laplaceInputs) subject() string {
	text := "releases"
	if in.Count != nil {
		text = counted(*in.Count, "release")
	}
	text += " with Laplace noise"
	if in.Scale != nil {
		text += " of scale " + short(*in.Scale)
	}
	return text + ", L1 sensitivity " + short(in.Sensitivity) + budget(in.Epsilon, in.Delta)
}
