package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"sort"
	"strconv"

	"gonum.org/v1/gonum/stat/distuv"
)

// Wanted is a width that the interval of a slope is to have at most, the median over releases,
// in the data's units.
type Wanted struct {
	Name  string  `json:"name"`
	Width float64 `json:"width"`
	// Failed are the given numbers of rows, or ε, for which it cannot be had.
	Failed []Failure `json:"failed"`
}

// Failure is a given n or ε, the other one being 0.
type Failure struct {
	N       int64   `json:"n,omitzero"`
	Epsilon float64 `json:"epsilon,omitzero"`
	// Noiseless is the width given the same rows without noise, where that is too wide already;
	// else 0, and any ε or n that was tried leaves too much noise.
	Noiseless float64 `json:"noiseless_width,omitzero"`
}

// seek answers the reverse question: for each of the Ns the smallest ε, or for each of the
// Epsilons the smallest n, at which the median width of the slope's interval is at most Width.
// The points of the forecast are the answers; what is sought has two digits. It bisects on
// simulated releases. These share their random numbers, so that the median falls with ε and n
// but for the little that chains leave to chance.
func (o Options) seek(ctx context.Context) (*Forecast, error) {
	f, err := o.sought()
	if err != nil {
		return nil, err
	}
	s := &seeker{Options: o}
	for _, n := range o.Ns {
		if err := s.seek(ctx, f, Failure{N: n}, epsilons); err != nil {
			return nil, err
		}
	}
	for _, epsilon := range o.Epsilons {
		if err := s.seek(ctx, f, Failure{Epsilon: epsilon}, counts); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// sought checks the options, and returns a forecast that has no answers yet.
func (o Options) sought() (*Forecast, error) {
	switch {
	case len(o.Ns) > 0 && len(o.Epsilons) > 0:
		return nil, errors.New("a width is sought for numbers of rows or for ε, and both are given")
	case len(o.Ns) == 0 && len(o.Epsilons) == 0:
		return nil, errors.New("a width is sought for numbers of rows or for ε, and neither is given")
	case !(o.Width > 0 && o.Width <= math.MaxFloat64):
		return nil, fmt.Errorf("a width of %v: it must be a positive number", o.Width)
	}
	if len(o.Ns) == 0 {
		o.Ns = []int64{int64(nth(counts.first))}
	} else {
		o.Epsilons = []float64{nth(epsilons.first)}
	}
	f, err := o.forecast()
	if err != nil {
		return nil, err
	}
	f.Alone = newSimulation(f, o).alone()
	if o.Slope < 0 || o.Slope >= len(f.Alone) {
		return nil, fmt.Errorf("slope %d: there are %d", o.Slope, len(f.Alone))
	}
	f.Points, f.Wanted = []Point{}, &Wanted{Name: f.Alone[o.Slope].Name, Width: o.Width, Failed: []Failure{}}
	return f, nil
}

// seeker seeks one answer after another.
type seeker struct {
	Options
	done int // evaluations
}

// nth is number i of those of two digits, 1.0 being number 0: there are 90 from one power of ten
// to the next.
func nth(i int) float64 {
	power := int(math.Floor(float64(i) / decade))
	v, _ := strconv.ParseFloat(fmt.Sprintf("%de%d", 10+i-decade*power, power-1), 64)
	return v
}

const decade = 90

// span is what is sought: numbers from the least to the most, and first one of them.
type span struct{ least, first, most int }

// MostEpsilon is the largest ε that is sought: beyond it nothing is promised.
const MostEpsilon = 1000

var (
	epsilons = span{-12 * decade, 0, 3 * decade}     // ssp.MinEpsilon to MostEpsilon
	counts   = span{decade, 3 * decade, 12 * decade} // 10 to ssp.MaxRows
)

// evaluations are about as many as an answer takes.
const evaluations = 10

// seek adds to f the point that is sought for what is given, or that there is none.
func (s *seeker) seek(ctx context.Context, f *Forecast, given Failure, in span) (err error) {
	tried, columns := make(map[int]*Forecast), float64(len(f.Design.Covariates)+1)
	enough := func(i int) bool {
		if given.N == 0 && nth(i) <= columns {
			return false
		}
		if err == nil && tried[i] == nil {
			tried[i], err = s.try(ctx, given, i)
		}
		return err != nil || tried[i].Points[0].Slopes[s.Slope].median <= s.Width
	}
	high := in.first
	for ; !enough(high); high += decade {
		if given.N > 0 {
			noiseless := 2 * distuv.UnitNormal.Quantile((1+f.Level)/2) * tried[high].Points[0].Slopes[s.Slope].NoiselessSD
			if noiseless > s.Width {
				given.Noiseless = noiseless
			}
		}
		if given.Noiseless > 0 || high == in.most {
			f.Wanted.Failed = append(f.Wanted.Failed, given)
			return nil
		}
	}
	low := high - decade
	for low > in.least && enough(low) {
		high, low = low, low-decade
	}
	low = max(low, in.least-1) + 1
	found := low + sort.Search(high-low, func(i int) bool { return enough(low + i) })
	if !enough(found) || err != nil {
		return err
	}
	f.Points, f.Warnings = append(f.Points, tried[found].Points...), append(f.Warnings, tried[found].Warnings...)
	return nil
}

// try foresees releases with number i in place of what is sought.
func (s *seeker) try(ctx context.Context, given Failure, i int) (*Forecast, error) {
	o := s.Options
	o.Width = 0
	o.Ns, o.Epsilons = []int64{given.N}, []float64{given.Epsilon}
	if given.N > 0 {
		o.Epsilons[0] = nth(i)
	} else {
		o.Ns[0] = int64(nth(i))
	}
	if s.Progress != nil {
		before, releases := s.done, cmp.Or(o.Releases, DefaultReleases)
		total := max((len(s.Ns)+len(s.Epsilons))*evaluations, before+1) * releases
		o.Progress = func(done, _ int) { s.Progress(before*releases+done, total) }
	}
	s.done++
	return Foresee(ctx, o)
}
