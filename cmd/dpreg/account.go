package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/dpreg/dpreg/internal/number"
	"github.com/dpreg/dpreg/mechanisms/accounting"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/report"
)

// The mechanisms.
const (
	gaussian = "gaussian"
	laplace  = "laplace"
)

// accountInputs are what is given, and the member "inputs" of the JSON; 0 is what is not.
type accountInputs struct {
	Mechanism   string  `json:"mechanism"`
	Sigma       float64 `json:"sigma,omitzero"`
	Q           float64 `json:"q,omitzero"`
	Steps       float64 `json:"steps,omitzero"`
	Scale       float64 `json:"scale,omitzero"`
	Count       float64 `json:"count,omitzero"`
	Epsilon     float64 `json:"epsilon,omitzero"`
	AtDelta     float64 `json:"delta,omitzero"`
	Sensitivity float64 `json:"sensitivity"`
	Neighbours  string  `json:"neighbours,omitempty"`
	Sampling    string  `json:"sampling,omitempty"`
}

// missing lists which quantities of some are to be found.
func (in *accountInputs) missing(names ...string) []string {
	return slices.DeleteFunc(names, func(name string) bool { return *in.quantity(name) != 0 })
}

// quantity is the one of a name.
func (in *accountInputs) quantity(name string) *float64 {
	return map[string]*float64{"sigma": &in.Sigma, "scale": &in.Scale, "q": &in.Q, "steps": &in.Steps, "count": &in.Count, "epsilon": &in.Epsilon, "delta": &in.AtDelta}[name]
}

// account is a question and what each accountant answers.
type account struct {
	report.Account
	accountInputs
	scheme accounting.Scheme
}

func accountGaussian(f *flags, _ []string) error { return f.accountOf(gaussian) }
func accountLaplace(f *flags, _ []string) error  { return f.accountOf(laplace) }

func (f *flags) accountOf(mechanism string) error {
	if err := f.checkPlot(); err != nil {
		return err
	}
	c := &account{accountInputs: f.account}
	c.Mechanism, c.Neighbours = mechanism, f.neighbours
	if err := c.find(); err != nil {
		return err
	}
	c.Subject = c.subject()
	if err := c.ask(); err != nil {
		return err
	}
	if err := c.draw(f); err != nil {
		return err
	}
	return buffered(f.stdout(), func(w io.Writer) error {
		if f.format == "json" {
			return c.writeJSON(w)
		}
		return report.WriteAccount(w, c.Account)
	})
}

func (c *account) find() error {
	if c.Mechanism == laplace {
		left := c.missing("scale", "count", "epsilon", "delta")
		if len(left) != 1 {
			return usagef("three of --scale, --count, --eps and --delta are needed, as in --scale 10 --count 100 --delta 1e-5, and the fourth is found")
		}
		c.Quantity, c.scheme = left[0], accounting.LaplaceNoise
		return nil
	}
	if err := c.gaussianAsked(); err != nil {
		return err
	}
	return c.findScheme()
}

// gaussianAsked finds out what is asked for of Gaussian noise.
func (c *account) gaussianAsked() error {
	left, rest := c.missing("epsilon", "delta", "sigma"), c.missing("q", "steps")
	switch {
	case len(left) > 1:
		return usagef("two of --sigma, --eps and --delta are needed, as in --sigma 4 --delta 1e-5, and the third is found")
	case len(left) == 1:
		c.Quantity, c.Steps = left[0], max(c.Steps, 1)
	case len(rest) == 0:
		return usagef("--sigma, --q, --steps, --eps and --delta are all given: leave out the one that is to be found")
	case len(rest) == 2:
		return usagef("--sigma, --eps and --delta are all given: leave out the one that is to be found, or add --q to find the number of steps, or --steps to find q")
	default:
		c.Quantity = rest[0]
	}
	return nil
}

// findScheme checks --neighbours, which is of sampling only.
func (c *account) findScheme() error {
	replace := c.Neighbours == string(release.ReplaceOne)
	switch sampled := c.Q > 0 || c.Quantity == "q"; {
	case !sampled && replace:
		return usagef("--neighbours is of sampling, with --q; without it, --sensitivity says how far neighbours are apart")
	case !sampled:
		c.Neighbours = ""
	case replace:
		c.scheme, c.Sampling = accounting.PoissonReplaceOne, "poisson"
	default:
		c.Sampling = "poisson"
	}
	return nil
}

// training is the noise, of either mechanism: one of Steps and Count is 0, and one of Sigma and
// Scale.
func (c *account) training() accounting.Training {
	return accounting.Training{Multiplier: (c.Sigma + c.Scale) / c.Sensitivity, Rate: cmp.Or(c.Q, 1), Steps: int(c.Steps + c.Count), Scheme: c.scheme}
}

func (c *account) answer(a accounting.Accountant) (float64, error) {
	epsilon, delta := c.Epsilon, c.AtDelta
	switch c.Quantity {
	case "epsilon":
		return c.training().Epsilon(a, delta)
	case "delta":
		return c.training().Delta(a, epsilon)
	case "q":
		return c.training().FindRate(a, epsilon, delta)
	case "steps", "count":
		steps, err := c.training().FindSteps(a, epsilon, delta)
		return float64(steps), err
	}
	multiplier, err := c.training().FindMultiplier(a, epsilon, delta)
	return multiplier * c.Sensitivity, err
}

// ask asks all accountants. What the first cannot answer is an error; one of the others
// is left out.
func (c *account) ask() error {
	for _, a := range accounting.Accountants() {
		v, err := c.answer(a)
		if err != nil && a == accounting.PLD {
			return usage(err)
		}
		if err == nil && !math.IsInf(v, 0) {
			c.Answers = append(c.Answers, report.Answer{Accountant: a, Value: v})
		}
	}
	return nil
}

// draw has the picture show the first answer: ε of as many releases and δ.
func (c account) draw(f *flags) error {
	*c.quantity(c.Quantity) = c.Answers[0].Value
	c.Delta = c.AtDelta
	times := &c.Steps
	if c.Mechanism == laplace {
		times = &c.Count
	}
	count := int(*times)
	epsilon := func(a accounting.Accountant, n int) (float64, error) {
		*times = float64(n)
		return c.training().Epsilon(a, c.Delta)
	}
	return f.writePlot(public, func(w io.Writer, format string) error {
		return report.PlotAccount(w, c.Account, count, epsilon, format)
	})
}

// subject says in words what is accounted for.
func (c *account) subject() string {
	times, noise, of := c.Steps, "Gaussian noise", " of standard deviation %v"
	gap := fmt.Sprintf(", L2 sensitivity %v", c.Sensitivity)
	switch {
	case c.Mechanism == laplace:
		times, noise, of = c.Count, "Laplace noise", " of scale %v"
		gap = fmt.Sprintf(", L1 sensitivity %v", c.Sensitivity)
	case c.Sampling != "":
		gap = " of Poisson samples"
		if c.Q > 0 {
			gap += fmt.Sprintf(" of rate %v", c.Q)
		}
		gap += fmt.Sprintf(", to which a record adds up to %v, %s neighbours", c.Sensitivity, c.Neighbours)
	}
	text := "releases with " + noise
	switch {
	case times == 1:
		text = "1 release with " + noise
	case times > 1:
		text = fmt.Sprintf("%.0f ", times) + text
	}
	if sd := cmp.Or(c.Sigma, c.Scale); sd > 0 {
		text += fmt.Sprintf(of, sd)
	}
	text += gap
	if c.Epsilon > 0 {
		text += fmt.Sprintf(", epsilon = %v", c.Epsilon)
	}
	if c.AtDelta > 0 {
		text += fmt.Sprintf(", delta = %v", c.AtDelta)
	}
	return text
}

// writeJSON writes dpreg-account/1: the inputs, and under the name of what was asked for each
// accountant's answer, null where it has none. "upper" and "lower" come from the upper and
// the lower bound on ε or δ.
func (c *account) writeJSON(w io.Writer) error {
	var answers struct {
		PLD struct {
			Upper *float64 `json:"upper"`
			Lower *float64 `json:"lower"`
		} `json:"pld"`
		RDP *float64 `json:"rdp"`
	}
	of := map[accounting.Accountant]**float64{
		accounting.PLD: &answers.PLD.Upper, accounting.Optimistic: &answers.PLD.Lower, accounting.RDP: &answers.RDP,
	}
	for i := range c.Answers {
		*of[c.Answers[i].Accountant] = &c.Answers[i].Value
	}
	return number.Lines(w, struct {
		Format  string         `json:"format"`
		Inputs  accountInputs  `json:"inputs"`
		Answers map[string]any `json:",embed"`
	}{"dpreg-account/1", c.accountInputs, map[string]any{c.Quantity: answers}})
}
