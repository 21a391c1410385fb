package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/spf13/cobra"

	"github.com/dpreg/dpreg/mechanisms/accounting"
	"github.com/dpreg/dpreg/report"
	"github.com/dpreg/dpreg/schema"
)

const accountHelp = `Account for the privacy of repeated noise: ε from the noise, how often it is used and
δ; or δ, or how much noise, or how often, from the others. No data are read.

Privacy-loss distributions (PLD) give a proven upper and a proven lower bound, between
which the truth lies; Rényi divergences (RDP) give an upper bound that is looser
(docs/accounting.md).`

func newAccount() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "account",
		Short: "Account for the privacy of repeated noise, ",
		Long:  accountHelp,
		Example: `  dpreg account gaussian --sigma 4 --q 0.01 --steps 10000 --delta 1e-5
  dpreg account gaussian --eps 1 --q 0.01 --steps 10000 --delta 1e-5
  dpreg account laplace --scale 10 --count 100 --delta 1e-5`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("account %q: gaussian or laplace", args[0])
			}
			return cmd.Help()
		},
	}
	cmd.AddCommand(newAccountGaussian(), newAccountLaplace())
	return cmd
}

// accountFlags are those of both kinds of noise.
type accountFlags struct {
	eps, delta, sensitivity, format, plot string
}

func (f *accountFlags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.eps, "eps", "", "ε, a `NUMBER`")
	fs.StringVar(&f.delta, "delta", "", "δ, a `NUMBER` between 0 and 1")
	fs.StringVar(&f.plot, "plot", "", "draw ε against the number of releases into this `FILE`, .svg or .png")
	fs.StringVar(&f.format, "format", "table", "`NAME` of the format on stdout: table or json")
	oneOf(cmd, "format", "table", "json")
}

// parseFlag parses the value of a flag; ok is false where it is not given.
func parseFlag(flag, text string, accept func(float64) bool, want string) (v float64, ok bool, err error) {
	if text == "" {
		return 0, false, nil
	}
	v, err = schema.ParseNumber(text)
	if err != nil || !accept(v) {
		return 0, true, usagef("--%s %q: it must be %s", flag, text, want)
	}
	return v, true, nil
}

func isPositive(v float64) bool { return v > 0 }
func isDelta(v float64) bool    { return v >= accounting.MinSampledDelta && v < 1 }
func isRate(v float64) bool     { return v >= accounting.MinRate && v <= 1 }
func isCount(v float64) bool {
	return v >= 1 && v <= accounting.MaxCount && v == math.Trunc(v)
}

// checkOutput checks --format and --plot.
func (f *accountFlags) checkOutput() error {
	if err := choose("format", f.format, []string{"table", "json"}); err != nil {
		return err
	}
	if f.plot == "" {
		return nil
	}
	if !slices.Contains(report.PlotFormats, plotFormat(f.plot)) {
		return usagef("--plot %s: the name has to end in .svg or .png", f.plot)
	}
	return within("--plot", checkWritable(f.plot))
}

// account is a question and what each accountant answers.
type account struct {
	report.Account
	inputs any
	// epsilon is an accountant's ε of so many releases, for the picture.
	epsilon func(a accounting.Accountant, count int) (float64, error)
	count   int
}

// ask asks all accountants. What the first cannot answer is an error; one of the others
// is left out.
func (c *account) ask(answer func(accounting.Accountant) (float64, error)) error {
	for _, a := range accounting.Accountants() {
		v, err := answer(a)
		if err != nil && a == accounting.PLD {
			return usage(err)
		}
		if err == nil && !math.IsInf(v, 0) {
			c.Answers = append(c.Answers, report.Answer{Accountant: a, Value: v})
		}
	}
	return nil
}

func (f *accountFlags) conclude(stdout, stderr io.Writer, c *account) error {
	if f.plot != "" {
		var picture bytes.Buffer
		if err := report.PlotAccount(&picture, c.Account, c.count, c.epsilon, plotFormat(f.plot)); err != nil {
			return err
		}
		err := writeFile(f.plot, public, func(w io.Writer) error {
			_, err := picture.WriteTo(w)
			return err
		})
		if err != nil {
			return err
		}
		note(stderr, "plot written to %s", f.plot)
	}
	out := bufio.NewWriter(stdout)
	write := func() error { return report.WriteAccount(out, c.Account) }
	if f.format == "json" {
		write = func() error { return c.writeJSON(out) }
	}
	if err := write(); err != nil {
		return err
	}
	return out.Flush()
}

// accountJSON is dpreg-account/1: the inputs, and under the name of what was asked for
// each accountant's answer.
type accountJSON struct {
	Format  string       `json:"format"`
	Inputs  any          `json:"inputs"`
	Epsilon *answersJSON `json:"epsilon,omitempty"`
	Delta   *answersJSON `json:"delta,omitempty"`
	Sigma   *answersJSON `json:"sigma,omitempty"`
	Scale   *answersJSON `json:"scale,omitempty"`
	Q       *answersJSON `json:"q,omitempty"`
	Steps   *answersJSON `json:"steps,omitempty"`
	Count   *answersJSON `json:"count,omitempty"`
}

// answersJSON has null where an accountant has no answer. "upper" and "lower" come
// from the upper and the lower bound on ε or δ.
type answersJSON struct {
	PLD struct {
		Upper *float64 `json:"upper"`
		Lower *float64 `json:"lower"`
	} `json:"pld"`
	RDP *float64 `json:"rdp"`
}

func (c *account) writeJSON(w io.Writer) error {
	var answers answersJSON
	for i := range c.Answers {
		*answers.of(c.Answers[i].Accountant) = &c.Answers[i].Value
	}
	out := accountJSON{Format: "dpreg-account/1", Inputs: c.inputs}
	*map[string]**answersJSON{
		"epsilon": &out.Epsilon, "delta": &out.Delta, "sigma": &out.Sigma, "scale": &out.Scale, "q": &out.Q, "steps": &out.Steps, "count": &out.Count,
	}[c.Quantity] = &answers
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(out)
}

// of is the member of an accountant.
func (j *answersJSON) of(a accounting.Accountant) **float64 {
	return map[accounting.Accountant]**float64{
		accounting.PLD: &j.PLD.Upper, accounting.Optimistic: &j.PLD.Lower, accounting.RDP: &j.RDP,
	}[a]
}

const accountLaplaceHelp = `Account for Laplace noise on statistics of an L1 sensitivity of 1, or --sensitivity.

Give all but one of --scale, --count, --eps and --delta, and the one that is left out
is found. One release of scale b is (1/b, 0)-differentially
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
	r := accounting.Training{Rate: 1, Scheme: accounting.LaplaceNoise}
	if in.Scale != nil {
		r.Multiplier = *in.Scale / in.Sensitivity
	}
	if in.Count != nil {
		r.Steps = *in.Count
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
		r.Steps = int(first)
	case "delta":
		in.Delta = &first
	}
	a.Delta, a.count = *orZero(in.Delta), r.Steps
	a.epsilon = func(by accounting.Accountant, count int) (float64, error) {
		r.Steps = count
		return r.Epsilon(by, a.Delta)
	}
	return c.conclude(stdout, stderr, a)
}

func (in *laplaceInputs) question(r accounting.Training, asked string) func(accounting.Accountant) (float64, error) {
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
		count, err := r.FindSteps(a, *in.Epsilon, *in.Delta)
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
