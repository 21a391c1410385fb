package model

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/floats"

	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

// standardised is what releases tell of all columns, response last, in a design's scaled units; 0, 1 and 1 without a
// release. With m̂ and v̂ a column's mean and variance by the noisy sums, v̂ of noise r, its spread is taken to be
//
//	ŝ² = max(v̂, r), at most that of the box:
//
// where noise hides the spread, the noise's level stands for it. The spread may be far smaller then, as in bounds that
// are far too wide, and slopes larger. The least that the sums can be read to say is taken to be
//
//	š² = max(v̂ − r, min(r, d²)/(1 + 15(1 − r²))), at most ŝ²,
//
// v̂ and r at most 1 here: a quarter of what little noise hides, and the box where noise hides that. d is the distance of
// m̂ to the nearer end of the box and its noise: rows near one end mostly have an sd of d at most. A column of 0 and 1 has
// the variance d(2 − d), whatever v̂ is, in place of the last. Slopes are priced by max(ŝ_y/ŝ_x, š_y/š_x): where noise
// hides both columns the first is as likely too large as too small.
//
// Without an intercept columns have no centre: ŝ is a root mean square, and d = 1. A response whose sum of squares is
// withheld has ŝ = 1, and without noise š = ŝ. Means and variances of several releases are pooled, weighed by the noise
// in common units.
type standardised struct{ centre, sd, least []float64 }

// hiddenTimes is how many times less than the noise that hides it a column is taken to spread, see standardised.
const hiddenTimes = 4

// ofSlope is the sd of covariate j that its slope is priced by, that of y being ŝ_y.
func (s standardised) ofSlope(j int) float64 {
	y := len(s.sd) - 1
	return min(s.sd[j], s.least[j]*s.sd[y]/s.least[y])
}

func standard(d *schema.Design, releases []*release.Release) (all standardised, err error) {
	sites, err := sitesOf(d, releases)
	for j, c := range append(slices.Clone(d.Covariates), d.Response) {
		of := pool(sites, j, d.Intercept)
		all.centre, all.sd, all.least = append(all.centre, of.mean), append(all.sd, of.sd()), append(all.least, of.least(c.Binary()))
	}
	return all, err
}

func sitesOf(d *schema.Design, releases []*release.Release) ([]site, error) {
	sites := make([]site, len(releases))
	for i, r := range releases {
		frame := r.Schema.Frame()
		if len(frame.Half) != len(d.Covariates)+1 {
			return nil, fmt.Errorf("default prior: release %d has %d columns, the design has %d", i+1, len(frame.Half), len(d.Covariates)+1)
		}
		sites[i] = newSite(r, UnitsBetween(d.Frame(), frame), d.Intercept)
	}
	return sites, nil
}

// HiddenWarnings name the numeric covariates of a design whose spread noise hides: v̂ is within 2r of 0.
func HiddenWarnings(d *schema.Design, releases []*release.Release) []string {
	var names []string
	sites, err := sitesOf(d, releases)
	for j, c := range d.Covariates {
		if of := pool(sites, j, d.Intercept); err == nil && !c.Binary() && !of.exact && of.variance < 2*of.noise {
			names = append(names, strconv.Quote(c.Name))
		}
	}
	if names == nil {
		return nil
	}
	looks := ""
	if slices.ContainsFunc(releases, func(r *release.Release) bool { return r.Frame == nil }) {
		looks = " or several looks (--steps 3)"
	}
	return []string{fmt.Sprintf("noise hides how far values of %s spread within their bounds: slopes hang on the prior. More rows, a larger ε, bounds that are not far too wide%s tell more; what is known of a slope, --prior-sd states", Listed(names), looks)}
}

// maxListed is how many columns a warning names.
const maxListed = 5

// Listed names columns in a warning, the first of many.
func Listed(names []string) string {
	if more := len(names) - maxListed; more > 0 {
		names = append(names[:maxListed:maxListed], fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

// site is what a release tells of each column in its scaled units: mean, in the box, and
// variance, without an intercept the mean square, and the sd of the noise of each. Without
// noise, in studies, that of 1/n of a row stands for it.
type site struct {
	units          *Units // from the design's to its own
	mean, variance []float64
	meanSD, sd     []float64 // of the noise
	exact          bool      // there is none
}

// newSite reads a release. In the box noise of a variance is that of a square and of twice the
// mean; in a frame, where v = c + Lu, noise is isotropic, so that of L_jEL_jᵀ has ‖L_j‖² of its
// sd, and no mean is in it.
func newSite(r *release.Release, units *Units, intercept bool) site {
	m, z := r.Dim(), r.Statistics.Vector()
	n := max(float64(r.N), float64(m+1))
	noise := max(r.Noise.SD(), 1/n) / n
	s := site{units: units, exact: r.Noise.SD() == 0}
	for j := range m {
		mean, sd := max(-1, min(1, z[j]/n)), noise
		variance := 1.0 // of one that is withheld
		if at := release.Index(m, j, j); at < len(z) {
			variance = z[at]/n - mean*mean
		}
		if intercept {
			sd *= math.Sqrt(1 + 4*mean*mean)
		} else {
			variance += mean * mean
		}
		s.mean, s.variance = append(s.mean, mean), append(s.variance, variance)
		s.meanSD, s.sd = append(s.meanSD, noise), append(s.sd, sd)
	}
	if r.Levels != nil {
		s.byLevels(r, n)
	}
	if r.Frame != nil {
		s.inFrame(r, n, intercept)
	}
	return s
}

// byLevels takes the noise that sums over levels have, of which some are known: then that of a row.
func (s *site) byLevels(r *release.Release, n float64) {
	noise := r.ScaledSD()
	for j, mean := range s.mean {
		s.meanSD[j] = max(noise[j], 1) / n
		s.sd[j] = math.Hypot(max(noise[release.Index(r.Dim(), j, j)], 1), 2*mean*noise[j]) / n
	}
}

// inFrame takes the columns that a frame is of.
func (s *site) inFrame(r *release.Release, n float64, intercept bool) {
	look, first := r.Numbers()
	if r.LevelsAreOfResponse() {
		first = 0
	}
	m, z, l := len(look.Frame.Centre), look.Statistics.Vector(), look.Frame.Inverse()
	scatter := make([]float64, m*m)
	Scatter(scatter, z, m, n)
	noise := r.Noise.SD() / n
	for j, mean := range look.Frame.Centre {
		row := l[j*m : j*m+j+1]
		variance, square := 0.0, floats.Dot(row, row)
		for i, a := range row {
			mean += a * z[i] / n
			for k, b := range row {
				variance += a * b * scatter[i*m+k] / n
			}
		}
		mean = max(-1, min(1, mean))
		if !intercept {
			variance += mean * mean
		}
		at := first + j
		s.mean[at], s.variance[at] = mean, variance
		s.meanSD[at], s.sd[at] = noise*math.Sqrt(square)*look.Noise.Linear/look.Noise.Scale, noise*square
	}
}

// column is what releases tell of one column together, see standardised: m̂, d, v̂, r, and the variance of the widest box.
type column struct {
	mean, distance, variance, noise, most float64
	exact                                 bool
}

func pool(sites []site, j int, intercept bool) column {
	if len(sites) == 0 {
		return column{variance: 1, most: 1, exact: true}
	}
	of, weight := column{distance: math.Inf(1)}, 0.0
	for _, s := range sites {
		a := s.units.Scale(j)
		w := a * a / (s.meanSD[j] * s.meanSD[j])
		of.mean += w * (s.mean[j] - s.units.Shift(j)) / a
		weight += w
		of.distance = min(of.distance, min(1, 1-math.Abs(s.mean[j])+s.meanSD[j])/a)
		of.most, of.exact = max(of.most, 1/(a*a)), s.exact
	}
	of.mean /= weight
	weight = 0
	for _, s := range sites {
		a := s.units.Scale(j)
		v := s.variance[j] / (a * a)
		if intercept {
			between := (s.mean[j]-s.units.Shift(j))/a - of.mean
			v += between * between
		}
		w := a * a * a * a / (s.sd[j] * s.sd[j])
		of.variance += w * v
		weight += w
	}
	of.variance /= weight
	of.noise = 1 / math.Sqrt(weight)
	if !intercept {
		of.distance = math.Sqrt(of.most)
	}
	return of
}

func (c column) sd() float64 { return math.Sqrt(min(c.most, max(c.variance, c.noise))) }

func (c column) least(binary bool) float64 {
	if c.exact {
		return c.sd()
	}
	noise := min(c.noise, c.most)
	share := noise / c.most // of the box, that noise hides
	least := min(noise, c.distance*c.distance) / (1 + (hiddenTimes*hiddenTimes-1)*(1-share*share))
	if binary {
		least = c.distance * (2 - c.distance)
	}
	return min(c.sd(), math.Sqrt(max(least, min(c.variance, c.most)-noise)))
}
