package exact

import "github.com/dpreg/dpreg/model"

// alone is a site in common units.
func alone(obs *model.Observation) *model.Site {
	return &model.Site{Observation: obs, Units: model.Identity(obs.Shape.M()).In(obs.Frame)}
}
