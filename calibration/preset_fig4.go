package calibration

import "encoding/json"

// Fig4 is the study of Bernstein & Sheldon's Figure 4: how often predictive intervals
// hold the responses of rows that were not inferred from, over 100 splits of 46
// rows into 36 and 10. Both columns are mapped to [0, 1] by their extremes, as theirs
// are; bounds that come from the rows give a release no guarantee. The prior is
// theirs, in that scale, and for the covariates the default.
func Fig4() *Design {
	return &Design{
		Format: DesignFormat, Preset: "fig4", Data: Cirrhosis, X: NormalX,
		Ns: []int64{cirrhosisTrain}, Epsilons: []float64{0.1, 1}, Ps: []int{1},
		Prior: PriorSpec{File: json.RawMessage(fig4Prior)}, Trials: 100, Arms: Arms(PaperMethods(), nil, nil),
	}
}

// fig4Prior is a slope of 1 and an intercept of 0, with a precision of .25 each.
const fig4Prior = `{"units":"original","theta":{"mean":[0,1],"precision":[[0.25,0],[0,0.25]]},"sigma2":{"shape":20,"scale":0.5}}`
