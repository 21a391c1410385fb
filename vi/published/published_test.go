package published

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/mechanisms/accounting"
)

// The vectors of the authors' moments accountant, to five digits.
func TestMomentsOfAbalone(t *testing.T) {
	const rounding = 5.0001e-6
	for sigma, want := range map[float64]float64{2: .93577, 4: .43312, 6: .28375, 8: .21126, 10: .16834} {
		if got, err := (AbaloneRun{Sigma: sigma}).Epsilon(); err != nil || math.Abs(got-want) > rounding {
			t.Errorf("sigma %v: %v, want %v (%v)", sigma, got, want, err)
		}
	}
	for sigma, want := range map[float64]float64{.4: 7.94151, .8: 1.02224, 1.2: .40371, 1.6: .22565, 2: .14594} {
		var c accounting.Composition
		err := c.Sampled(accounting.Training{Multiplier: sigma, Rate: 0.001, Steps: abaloneSteps})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := c.Moments(abaloneDelta, AbaloneMoments); err != nil || math.Abs(got-want) > rounding {
			t.Errorf("rate 0.001, sigma %v: %v, want %v (%v)", sigma, got, want, err)
		}
	}
}

func TestReadAbalone(t *testing.T) {
	for text, want := range map[string]string{
		"M,1,1,1\n":                              "line 1",
		"X,1,1,1,1,1,1,1,9\n":                    "none of I, F, M",
		"M,1,1,1,1,1,1,1,NaN\n":                  "field 9",
		"M,1,1,1,1,1,1,1,9\n":                    "1 rows",
		"M,1,1,1,1,1,1,1,9\nM,x,1,1,1,1,1,1,9\n": "line 2: field 2",
	} {
		if _, err := ReadAbalone(strings.NewReader(text), "abalone.data"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// By hand: of the four pairs of a 1 and a 0, scores order three, one of them a tie.
func TestAUC(t *testing.T) {
	if got := auc([]float64{3, 1, 1, 2}, []float64{1, 1, 0, 0}); got != 2.5/4 {
		t.Errorf("%v", got)
	}
}

// A short run is far from chance and from the truth's own value: −3.64 is the mixture's,
// −4.3 one normal law's; 0.9 the groups'.
func TestShortRuns(t *testing.T) {
	g := NewGroups(1000, 1)
	if a, err := (GroupsRun{Steps: 2000}).Run(context.Background(), g, 1); err != nil || a < 0.85 {
		t.Errorf("groups: AUC %v (%v)", a, err)
	}
	if l, err := (ClustersRun{}).Run(context.Background(), NewClusters(1), 1); err != nil || l < -3.7 {
		t.Errorf("clusters: %v (%v)", l, err)
	}
}

// Whatever a file holds, it is read whole or refused with its name.
func FuzzReadAbalone(f *testing.F) {
	f.Add("M,1,1,1,1,1,1,1,9\n")
	f.Add("\"M,1")
	f.Add("I,.4,\"1\",1e3,-1,1,1,1,29\nF,1\n")
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := ReadAbalone(strings.NewReader(text), "abalone.data"); err != nil && !strings.Contains(err.Error(), "abalone.data") {
			t.Errorf("%q: %v", text, err)
		}
	})
}
