package main

import (
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/dpreg/dpreg/mechanisms/accounting"
	"github.com/dpreg/dpreg/report"
)

const accountGaussianHelp = `Account for Gaussian noise, of all records or, with --q, of random samples of them.

Give all but one of --sigma, --eps and --delta, and the one that is left out is found.
--steps is the number of releases, 1 unless given. With --q, or
where --sigma, --eps and --delta are all given, --steps or --q can be found likewise:
the most that the accountant allows.

Without --q the noise's standard deviation is --sigma, for a statistic of an L2
--sensitivity of 1, or what is given. With --q a release is a sum over a sample, as in
stochastic gradient descent, to which a record adds a vector of norm 1 at most (or
--sensitivity); a sample has each record with probability q.`

type accountGaussian struct {
	accountFlags
	sigma, q, steps, neighbours string
}

func newAccountGaussian() *cobra.Command {
	var c accountGaussian
	cmd := &cobra.Command{
		Use:   "gaussian",
		Short: "Account for Gaussian noise, with or without subsampling",
		Long:  accountGaussianHelp,
		Example: `  dpreg account gaussian --sigma 4 --q 0.01 --steps 10000 --delta 1e-5
  dpreg account gaussian --eps 1 --delta 1e-6 --sensitivity 2
  dpreg account gaussian --sigma 1 --q 0.01 --eps 3 --delta 1e-5 --format json`,
		Args: noFile,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.run(cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	c.register(cmd)
	fs := cmd.Flags()
	fs.StringVar(&c.sigma, "sigma", "", "standard deviation of the noise, a `NUMBER`")
	fs.StringVar(&c.q, "q", "", "rate of sampling, a `NUMBER` up to 1")
	fs.StringVar(&c.steps, "steps", "", "`NUMBER` of releases")
	fs.StringVar(&c.sensitivity, "sensitivity", "1", "L2 sensitivity, or what a record may add to a sum, a `NUMBER`")
	fs.StringVar(&c.neighbours, "neighbours", "add-remove", "`RELATION` of data sets, of sampling: add-remove or replace-one")
	oneOf(cmd, "neighbours", "add-remove", "replace-one")
	return cmd
}

func noFile(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("%s takes no file and reads no data: %q", cmd.CommandPath(), args[0])
	}
	return nil
}

// gaussianInputs are what was given, and the member "inputs" of the JSON.
type gaussianInputs struct {
	Mechanism   string   `json:"mechanism"`
	Sigma       *float64 `json:"sigma,omitempty"`
	Q           *float64 `json:"q,omitempty"`
	Steps       *int     `json:"steps,omitempty"`
	Epsilon     *float64 `json:"epsilon,omitempty"`
	Delta       *float64 `json:"delta,omitempty"`
	Sensitivity float64  `json:"sensitivity"`
	Neighbours  string   `json:"neighbours,omitempty"`
	Sampling    string   `json:"sampling,omitempty"`
}

// parse reads the numbers, and says which one is asked for.
func (c *accountGaussian) parse() (in gaussianInputs, asked string, err error) {
	in.Mechanism = "gaussian"
	var steps *float64
	for _, p := range []struct {
		flag, text string
		to         **float64
		accept     func(float64) bool
		want       string
	}{
		{"sigma", c.sigma, &in.Sigma, isPositive, "a number above 0"},
		{"q", c.q, &in.Q, isRate, fmt.Sprintf("a number from %v to 1", accounting.MinRate)},
		{"steps", c.steps, &steps, isCount, fmt.Sprintf("a whole number from 1 to %d", accounting.MaxCount)},
		{"eps", c.eps, &in.Epsilon, isPositive, "a number above 0"},
		{"delta", c.delta, &in.Delta, isDelta, fmt.Sprintf("a number from %v to below 1, and far below 1/n to mean anything, as in --delta 1e-6", accounting.MinSampledDelta)},
	} {
		v, ok, err := parseFlag(p.flag, p.text, p.accept, p.want)
		if err != nil {
			return in, "", err
		}
		if ok {
			*p.to = &v
		}
	}
	if in.Sensitivity, _, err = parseFlag("sensitivity", c.sensitivity, isPositive, "a number above 0"); err != nil {
		return in, "", err
	}
	if steps != nil {
		whole := int(*steps)
		in.Steps = &whole
	}
	asked, err = in.asked()
	return in, asked, err
}

// asked is what is left out and has to be found.
func (in *gaussianInputs) asked() (string, error) {
	var missing []string
	for _, p := range []struct {
		name  string
		given *float64
	}{{"epsilon", in.Epsilon}, {"delta", in.Delta}, {"sigma", in.Sigma}} {
		if p.given == nil {
			missing = append(missing, p.name)
		}
	}
	switch {
	case len(missing) > 1:
		return "", usagef("two of --sigma, --eps and --delta are needed, as in --sigma 4 --delta 1e-5, and the third is found")
	case len(missing) == 1 && in.Steps == nil:
		one := 1
		in.Steps = &one
		return missing[0], nil
	case len(missing) == 1:
		return missing[0], nil
	case in.Q != nil && in.Steps != nil:
		return "", usagef("--sigma, --q, --steps, --eps and --delta are all given: leave out the one that is to be found")
	case in.Steps != nil:
		return "q", nil
	case in.Q != nil:
		return "steps", nil
	}
	return "", usagef("--sigma, --eps and --delta are all given: leave out the one that is to be found, or add --q to find the number of steps, or --steps to find q")
}

// scheme checks --neighbours, which is of sampling only.
func (c *accountGaussian) scheme(in *gaussianInputs, asked string) (accounting.Scheme, error) {
	if err := choose("neighbours", c.neighbours, []string{"add-remove", "replace-one"}); err != nil {
		return 0, err
	}
	replace := c.neighbours == "replace-one"
	if in.Q == nil && asked != "q" {
		if replace {
			return 0, usagef("--neighbours is of sampling, with --q; without it, --sensitivity says how far neighbours are apart")
		}
		return accounting.PoissonAddRemove, nil
	}
	in.Neighbours, in.Sampling = c.neighbours, "poisson"
	if replace {
		return accounting.PoissonReplaceOne, nil
	}
	return accounting.PoissonAddRemove, nil
}

func (c *accountGaussian) run(stdout, stderr io.Writer) error {
	if err := c.checkOutput(); err != nil {
		return err
	}
	in, asked, err := c.parse()
	if err != nil {
		return err
	}
	scheme, err := c.scheme(&in, asked)
	if err != nil {
		return err
	}
	t := accounting.Training{Rate: 1, Scheme: scheme}
	if in.Sigma != nil {
		t.Multiplier = *in.Sigma / in.Sensitivity
	}
	if in.Q != nil {
		t.Rate = *in.Q
	}
	if in.Steps != nil {
		t.Steps = *in.Steps
	}
	a := &account{Account: report.Account{Subject: in.subject(), Quantity: asked}, inputs: in}
	if err := a.ask(in.question(t, asked)); err != nil {
		return err
	}
	a.draws(t, in, asked)
	return c.conclude(stdout, stderr, a)
}

// question is how an accountant finds what is asked for.
func (in *gaussianInputs) question(t accounting.Training, asked string) func(accounting.Accountant) (float64, error) {
	return func(a accounting.Accountant) (float64, error) {
		switch asked {
		case "epsilon":
			return t.Epsilon(a, *in.Delta)
		case "delta":
			return t.Delta(a, *in.Epsilon)
		case "sigma":
			multiplier, err := t.FindMultiplier(a, *in.Epsilon, *in.Delta)
			return multiplier * in.Sensitivity, err
		case "q":
			return t.FindRate(a, *in.Epsilon, *in.Delta)
		}
		steps, err := t.FindSteps(a, *in.Epsilon, *in.Delta)
		return float64(steps), err
	}
}

// draws has the picture show the first answer: ε of as many releases and δ.
func (c *account) draws(t accounting.Training, in gaussianInputs, asked string) {
	first := c.Answers[0].Value
	switch asked {
	case "sigma":
		t.Multiplier = first / in.Sensitivity
	case "q":
		t.Rate = first
	case "steps":
		t.Steps = int(first)
	case "delta":
		in.Delta = &first
	}
	c.Delta, c.count = *orZero(in.Delta), t.Steps
	c.epsilon = func(a accounting.Accountant, count int) (float64, error) {
		t.Steps = count
		return t.Epsilon(a, c.Delta)
	}
}

func orZero(v *float64) *float64 {
	if v == nil {
		return new(float64)
	}
	return v
}

// subject says in words what is accounted for.
func (in *gaussianInputs) subject() string {
	text := "releases"
	if in.Steps != nil {
		text = counted(*in.Steps, "release")
	}
	text += " with Gaussian noise"
	if in.Sigma != nil {
		text += " of standard deviation " + short(*in.Sigma)
	}
	switch {
	case in.Sampling == "":
		text += fmt.Sprintf(", L2 sensitivity %s", short(in.Sensitivity))
	case in.Q == nil:
		text += fmt.Sprintf(" of Poisson samples, to which a record adds up to %s, %s neighbours", short(in.Sensitivity), in.Neighbours)
	default:
		text += fmt.Sprintf(" of Poisson samples of rate %s, to which a record adds up to %s, %s neighbours", short(*in.Q), short(in.Sensitivity), in.Neighbours)
	}
	return text + budget(in.Epsilon, in.Delta)
}

// budget adds what ε and δ are given.
func budget(epsilon, delta *float64) (text string) {
	if epsilon != nil {
		text += ", epsilon = " + short(*epsilon)
	}
	if delta != nil {
		text += ", delta = " + short(*delta)
	}
	return text
}

func short(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
