package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"

	"github.com/dpreg/dpreg/mechanisms/accounting"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/report"
	"github.com/dpreg/dpreg/schema"
)

// The mechanisms, and kinds of sampling.
const (
	gaussian  = "gaussian"
	laplace   = "laplace"
	poisson   = "poisson"
	fixedSize = "fixed"
)

// accountInputs are what is given, and the member "inputs" of the JSON.
type accountInputs struct {
	Mechanism   string   `json:"mechanism"`
	Sigma       *float64 `json:"sigma,omitempty"`
	Q           *float64 `json:"q,omitempty"`
	Steps       *float64 `json:"steps,omitempty"`
	Scale       *float64 `json:"scale,omitempty"`
	Count       *float64 `json:"count,omitempty"`
	Epsilon     *float64 `json:"epsilon,omitempty"`
	Delta       *float64 `json:"delta,omitempty"`
	Sensitivity float64  `json:"sensitivity"`
	Neighbours  string   `json:"neighbours,omitempty"`
	Sampling    string   `json:"sampling,omitempty"`
}

// account is a question and what each accountant answers.
type account struct {
	report.Account
	accountInputs
	scheme accounting.Scheme
}

func accountGaussian(f *flags, _ []string) error { return f.account(gaussian) }
func accountLaplace(f *flags, _ []string) error  { return f.account(laplace) }

func (f *flags) account(mechanism string) error {
	if err := f.checkPlot(); err != nil {
		return err
	}
	c := &account{accountInputs: accountInputs{Mechanism: mechanism, Neighbours: f.neighbours, Sampling: f.sampled}}
	if err := c.parse(f); err != nil {
		return err
	}
	c.Subject = c.subject()
	if err := c.ask(); err != nil {
		return err
	}
	inputs := c.accountInputs
	if err := c.draw(f); err != nil {
		return err
	}
	return buffered(f.stdout(), func(w io.Writer) error {
		if f.format == "json" {
			return c.writeJSON(w, inputs)
		}
		return report.WriteAccount(w, c.Account)
	})
}

// parse reads the numbers, and finds out what is asked for.
func (c *account) parse(f *flags) (err error) {
	number := func(flag, text string, holds func(float64) bool, want string) *float64 {
		if text == "" || err != nil {
			return nil
		}
		v, e := schema.ParseNumber(text)
		if e != nil || !holds(v) {
			err = usagef("--%s %q: it must be %s", flag, text, want)
		}
		return &v
	}
	positive := func(v float64) bool { return v > 0 }
	isCount := func(v float64) bool { return v >= 1 && v <= accounting.MaxCount && v == math.Trunc(v) }
	isRate := func(v float64) bool { return v >= accounting.MinRate && v <= 1 }
	isDelta := func(v float64) bool { return v >= accounting.MinSampledDelta && v < 1 }
	const above, whole = "a number above 0", "a whole number from 1 to 1000000000"
	c.Sigma, c.Scale, c.Epsilon = number("sigma", f.sigma, positive, above), number("scale", f.scale, positive, above), number("eps", f.epsilon, positive, above)
	c.Q = number("q", f.rate, isRate, fmt.Sprintf("a number from %v to 1", accounting.MinRate))
	c.Steps, c.Count = number("steps", f.steps, isCount, whole), number("count", f.count, isCount, whole)
	c.accountInputs.Delta = number("delta", f.delta, isDelta, fmt.Sprintf("a number from %v to below 1, and far below 1/n to mean anything, as in --delta 1e-6", accounting.MinSampledDelta))
	c.Sensitivity = value(number("sensitivity", f.sensitivity, positive, above))
	if err != nil {
		return err
	}
	if c.Mechanism == laplace {
		return c.laplaceAsked()
	}
	if err := c.gaussianAsked(); err != nil {
		return err
	}
	return c.findScheme()
}

// value is 0 where there is none.
func value(v *float64) float64 {
	if v == nil {
		return 0
	}
	return *v
}

// missing lists which quantities of some are not given, and are to be found.
func missing(of ...any) (names []string) {
	for i := 0; i < len(of); i += 2 {
		if of[i+1].(*float64) == nil {
			names = append(names, of[i].(string))
		}
	}
	return names
}

func (c *account) laplaceAsked() error {
	left := missing("scale", c.Scale, "count", c.Count, "epsilon", c.Epsilon, "delta", c.accountInputs.Delta)
	if len(left) != 1 {
		return usagef("three of --scale, --count, --eps and --delta are needed, as in --scale 10 --count 100 --delta 1e-5, and the fourth is found")
	}
	c.Quantity = left[0]
	return nil
}

func (c *account) gaussianAsked() error {
	left := missing("epsilon", c.Epsilon, "delta", c.accountInputs.Delta, "sigma", c.Sigma)
	switch {
	case len(left) > 1:
		return usagef("two of --sigma, --eps and --delta are needed, as in --sigma 4 --delta 1e-5, and the third is found")
	case len(left) == 1:
		if c.Quantity = left[0]; c.Steps == nil {
			one := 1.
			c.Steps = &one
		}
		return nil
	}
	switch left = missing("q", c.Q, "steps", c.Steps); len(left) {
	case 0:
		return usagef("--sigma, --q, --steps, --eps and --delta are all given: leave out the one that is to be found")
	case 1:
		c.Quantity = left[0]
		return nil
	}
	return usagef("--sigma, --eps and --delta are all given: leave out the one that is to be found, or add --q to find the number of steps, or --steps to find q")
}

// findScheme checks --neighbours and --sampling, which are of sampling only.
func (c *account) findScheme() error {
	replace, fixed := c.Neighbours == string(release.ReplaceOne), c.Sampling == fixedSize
	switch {
	case c.Q == nil && c.Quantity != "q" && (replace || fixed):
		return usagef("--neighbours and --sampling are of sampling, with --q; without it, --sensitivity says how far neighbours are apart")
	case c.Q == nil && c.Quantity != "q":
		c.Neighbours, c.Sampling = "", ""
	case fixed && !replace:
		return usagef("--sampling fixed needs --neighbours replace-one: a record more or less would change the size of batches")
	case fixed:
		c.scheme, c.Loose = accounting.FixedReplaceOne, true
	case replace:
		c.scheme = accounting.PoissonReplaceOne
	}
	return nil
}

// noise is what an accountant can say of either mechanism.
type noise interface {
	Epsilon(a accounting.Accountant, delta float64) (float64, error)
	Delta(a accounting.Accountant, epsilon float64) (float64, error)
	FindMultiplier(a accounting.Accountant, epsilon, delta float64) (float64, error)
}

func (c *account) training() accounting.Training {
	t := accounting.Training{Multiplier: value(c.Sigma) / c.Sensitivity, Rate: 1, Steps: int(value(c.Steps)), Scheme: c.scheme}
	if c.Q != nil {
		t.Rate = *c.Q
	}
	return t
}

func (c *account) repeated() accounting.Repeated {
	return accounting.Repeated{Multiplier: value(c.Scale) / c.Sensitivity, Count: int(value(c.Count))}
}

func (c *account) noise() noise {
	if c.Mechanism == laplace {
		return c.repeated()
	}
	return c.training()
}

// answer is an accountant's.
func (c *account) answer(a accounting.Accountant) (float64, error) {
	epsilon, delta := value(c.Epsilon), value(c.accountInputs.Delta)
	switch c.Quantity {
	case "epsilon":
		return c.noise().Epsilon(a, delta)
	case "delta":
		return c.noise().Delta(a, epsilon)
	case "q":
		return c.training().FindRate(a, epsilon, delta)
	case "steps":
		steps, err := c.training().FindSteps(a, epsilon, delta)
		return float64(steps), err
	case "count":
		count, err := c.repeated().FindCount(a, epsilon, delta)
		return float64(count), err
	}
	multiplier, err := c.noise().FindMultiplier(a, epsilon, delta)
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
func (c *account) draw(f *flags) error {
	first, count := &c.Answers[0].Value, &c.Steps
	if c.Mechanism == laplace {
		count = &c.Count
	}
	if to := map[string]**float64{"sigma": &c.Sigma, "scale": &c.Scale, "q": &c.Q, "steps": &c.Steps, "count": &c.Count, "delta": &c.accountInputs.Delta}[c.Quantity]; to != nil {
		*to = first
	}
	c.Account.Delta = value(c.accountInputs.Delta)
	epsilon := func(a accounting.Accountant, n int) (float64, error) {
		of := float64(n)
		*count = &of
		return c.noise().Epsilon(a, c.Account.Delta)
	}
	times := int(value(*count))
	return f.writePlot(public, func(w io.Writer, format string) error {
		return report.PlotAccount(w, c.Account, times, epsilon, format)
	})
}

// subject says in words what is accounted for.
func (c *account) subject() string {
	gaussian := c.Mechanism != laplace
	text, kind, times, spread := "releases", "Laplace", c.Count, " of scale %v"
	if gaussian {
		kind, times, spread = "Gaussian", c.Steps, " of standard deviation %v"
	}
	switch n := value(times); {
	case n == 1:
		text = "1 release"
	case n > 1:
		text = fmt.Sprintf("%.0f releases", n)
	}
	text += " with " + kind + " noise"
	if sd := max(value(c.Sigma), value(c.Scale)); sd > 0 {
		text += fmt.Sprintf(spread, sd)
	}
	of := ""
	if c.Q != nil {
		of = fmt.Sprintf(" of rate %v", *c.Q)
	}
	switch {
	case !gaussian:
		text += fmt.Sprintf(", L1 sensitivity %v", c.Sensitivity)
	case c.Sampling == "":
		text += fmt.Sprintf(", L2 sensitivity %v", c.Sensitivity)
	default:
		how := map[string]string{poisson: "Poisson", fixedSize: "fixed-size"}[c.Sampling]
		text += fmt.Sprintf(" of %s samples%s, to which a record adds up to %v, %s neighbours", how, of, c.Sensitivity, c.Neighbours)
	}
	if c.Epsilon != nil {
		text += fmt.Sprintf(", epsilon = %v", *c.Epsilon)
	}
	if c.accountInputs.Delta != nil {
		text += fmt.Sprintf(", delta = %v", *c.accountInputs.Delta)
	}
	return text
}

// writeJSON writes dpreg-account/1: the inputs, and under the name of what was asked for each
// accountant's answer, null where it has none. "upper" and "lower" come from the upper and
// the lower bound on ε or δ.
func (c *account) writeJSON(w io.Writer, inputs accountInputs) error {
	var answers struct {
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
	of := map[accounting.Accountant]**float64{
		accounting.PLD: &answers.PLD.Upper, accounting.Optimistic: &answers.PLD.Lower, accounting.RDP: &answers.RDP, accounting.ZCDP: &answers.ZCDP,
		accounting.Moments: &answers.Moments, accounting.Advanced: &answers.Advanced, accounting.Basic: &answers.Basic,
	}
	for i := range c.Answers {
		*of[c.Answers[i].Accountant] = &c.Answers[i].Value
	}
	given, err := json.Marshal(inputs)
	if err != nil {
		return err
	}
	found, err := json.Marshal(answers)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := json.Indent(&text, fmt.Appendf(nil, "{\"format\":\"dpreg-account/1\",\"inputs\":%s,%q:%s}\n", given, c.Quantity, found), "", "  "); err != nil {
		return err
	}
	_, err = text.WriteTo(w)
	return err
}
