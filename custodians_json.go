package dpreg

import (
	"encoding/json"

	"github.com/dpreg/dpreg/release"
)

// joint is what a summary's JSON says of several releases.
type joint struct {
	SameRows   bool               `json:"same_rows,omitempty"`
	Pooling    string             `json:"pooling"`
	Covariates string             `json:"covariates"`
	Releases   []jointRelease     `json:"releases"`
	Shrinkage  map[string]float64 `json:"shrinkage,omitempty"` // by coefficient; see Fit.Shrinkage
	// Contradicting are the names of releases that complete pooling does not fit.
	Contradicting []string `json:"contradicting,omitempty"`
}

type jointRelease struct {
	Name    string           `json:"name"`
	N       int64            `json:"n"`
	Privacy *release.Privacy `json:"privacy"`
	NoiseSD float64          `json:"noise_sd"`
}

// MarshalJSON implements json.Marshaler.
func (j *joint) MarshalJSON() ([]byte, error) {
	type plain joint
	return json.Marshal((*plain)(j))
}

func (f *Fit) joint(u Units) *joint {
	j := &joint{SameRows: f.sameRows, Contradicting: f.contradicting}
	j.Covariates, j.Pooling = f.Sharing()
	for _, c := range f.Custodians {
		j.Releases = append(j.Releases, jointRelease{c.Name, c.Release.N, c.Release.Privacy, c.Release.Noise.SD()})
	}
	if f.partial {
		j.Shrinkage = make(map[string]float64)
		labels := f.coefficients()
		for k, share := range f.Shrinkage(u) {
			j.Shrinkage[labels[k]] = share
		}
	}
	return j
}
