package exact

import (
	"math"
	"math/rand/v2"

	"github.com/dpreg/dpreg/model"
)

// Of products per level (release.Levels.Products) each level is a spoke as a custodian with a noisy number of rows is:
// its rows n_l, sums and products have noise of their own, and covariates a normal law of their own, (μ_l, T_l), from the
// same prior. All levels share θ, and σ but for a factor, log σ_l ~ N(log σ, ¼): sums per level tell σ_l of each, and were
// it the same by law, noise would have to explain by how much they differ, and move slopes with it. Within level l a column c of the regression, a dummy or a product with one
// among them, is a_c + b_c x_j of one x_j that sums are of, and so the line there is
//
//	α_l = θ_0 + Σ_c a_cθ_c,   β_lj = Σ_c b_cθ_c over the c that are of x_j:
//
// a linear map of the hub's θ, whose interactions have the prior that they have as columns of products.
//
// Where n is public it is Σn_l: those of the second level and on have coordinates, the first has what they leave. A priori
// they are uniform over all that sum to n, each as large as its scatter has a density. The density of the first depends on
// all counts, which the map of arrow leaves out: it is linear, and any serves.

// levelsOf are the levels of a release as sites, and the prior of their covariates.
func levelsOf(t *model.Joint) *model.Joint {
	levels := t.Sites[0].Told.Levels
	own := &model.Joint{Shape: levels[0].Shape, Frame: t.Frame, Sites: levels}
	columns := make([]int, own.Shape.P)
	for c, of := range levels[0].Columns[:t.Shape.P] {
		if of.Slope == 1 && of.Constant == 0 {
			columns[of.At] = c
		}
	}
	own.Prior = t.Prior.Within(columns)
	return own
}

// levelSpread is the sd of log σ_l.
const levelSpread = 0.5

// takeWithin takes the line of a level, and its spread.
func (s *custodian) takeWithin(spread float64) {
	s.ratio = math.Exp(levelSpread * spread)
	theta := s.hub.Params.Theta
	clear(s.theta)
	s.theta[0] = theta[0]
	for c, v := range theta[1:] {
		of := s.Columns[c]
		s.theta[0] += of.Constant * v
		if of.Slope != 0 {
			s.theta[1+of.At] += of.Slope * v
		}
	}
}

// giveWithin adds the gradient in it to the hub's.
func (s *custodian) giveWithin() {
	to := s.hub.GTheta
	to[0] += s.gTheta[0]
	for c := range s.hub.Params.Theta[1:] {
		of := s.Columns[c]
		to[1+c] += of.Constant * s.gTheta[0]
		if of.Slope != 0 {
			to[1+c] += of.Slope * s.gTheta[1+of.At]
		}
	}
}

// takeRest takes what counts of a public n leave for the first level.
func (f *joint) takeRest(x []float64) {
	if f.n == 0 {
		return
	}
	left := f.n
	for j, s := range f.spokes[1:] {
		left -= s.(*spoke).rows.of(x[f.at[1+j]:f.at[2+j]])
	}
	f.spokes[0].(*spoke).rows.public = left
}

// giveRest takes the gradient in what they leave to theirs.
func (f *joint) giveRest(grad []float64) {
	if f.n == 0 {
		return
	}
	byN := f.spokes[0].(*spoke).rows.byN
	for j, part := range f.spokes[1:] {
		s := part.(*spoke)
		s.rows.add(grad[f.at[1+j]:f.at[2+j]], s.n, -byN)
	}
}

// startRows writes numbers of rows of levels to start from: of a public n such as add up to it.
func (f *joint) startRows(counts []float64, rng *rand.Rand) {
	more, room := 0.0, f.n
	for j, part := range f.spokes {
		s := part.common()
		counts[j] = s.StartRows(rng)
		room -= s.Count.Least
		if j > 0 {
			more += counts[j] - s.Count.Least
		}
	}
	if f.n > 0 {
		const spare = 0.5 // rows that the first level has beside the least
		shrink := min(1, (room-spare)/max(more, 1))
		counts[0] = f.n
		for j, part := range f.spokes[1:] {
			least := part.common().Count.Least
			counts[1+j] = least + max(0.5, counts[1+j]-least)*shrink
			counts[0] -= counts[1+j]
		}
	}
}

// writeLevels writes n where it is latent, and σ² of the rows of all levels.
func (f *joint) writeLevels(dst []float64, at int) {
	n, square := 0.0, 0.0
	for _, part := range f.spokes {
		s := part.(*spoke)
		n += s.n
		square += s.n * s.ratio * s.ratio
	}
	dst[f.hub.Shape.Q()] *= square / n
	if f.n == 0 {
		dst[at] = n
	}
}
