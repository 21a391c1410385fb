package compare

import (
	"context"
	"math/rand/v2"

	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/ssp/adassp"
)

// adaSSP is a point estimate.
type adaSSP struct{ budget release.Privacy }

func (m adaSSP) run() string { return "" }

func (m adaSSP) ready() error { return nil }

func (m adaSSP) fit(_ context.Context, e *example, noise *mechanisms.Entropy, _ *rand.Rand) (*fitted, error) {
	estimate, err := adassp.Run(e.statistics, e.shape.Intercept, m.budget, noise)
	if err != nil {
		return nil, err
	}
	return &fitted{theta: estimate.Theta, epsilon: m.budget.Epsilon}, nil
}
