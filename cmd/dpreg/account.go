package main

import (
	"bufio"
	"bytes"
	"encoding/json"
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

All accountants are set side by side. Privacy-loss distributions (PLD) give a proven
upper and a proven lower bound, between which the truth lies; the others are upper
bounds that came before (docs/accounting.md).`

func newAccount() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "account",
		Short: "Account for the privacy of repeated noise, by every accountant",
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
	RDP      *float64 `json:"rdp"`
	ZCDP     *float64 `json:"zcdp"`
	Moments  *float64 `json:"moments"`
	Advanced *float64 `json:"advanced"`
	Basic    *float64 `json:"basic"`
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
		accounting.PLD: &j.PLD.Upper, accounting.Optimistic: &j.PLD.Lower, accounting.RDP: &j.RDP, accounting.ZCDP: &j.ZCDP,
		accounting.Moments: &j.Moments, accounting.Advanced: &j.Advanced, accounting.Basic: &j.Basic,
	}[a]
}
