package release

import (
	"fmt"
	"math"
	"math/big"
	"slices"

	"github.com/dpreg/dpreg/schema"
)

// FormatLevels is the version of a release of sums by the levels of a factor.
const FormatLevels = "dpreg-release/3"

// MaxLevels is how many levels there may be.
const MaxLevels = 50

// Levels are what noise was put on where a release has sums by the levels of one factor: a column
// of categories, or of truth values, of which false is the first level. With L levels and q other
// columns v, the response the last,
//
//	the rows n_l of each level (of two the second alone where n is public),
//	Σv_j within each level, L·q sums, and Σv_jv_k over all rows, q(q+1)/2,
//
// each have noise. All other statistics follow: with the dummy of level l scaled to u_l = ±1
//
//	Σu_l = 2n_l − n,   Σu_l² = n,   Σu_lu_k = n − 2n_l − 2n_k,   Σv_j = Σ_l Σ_(l)v_j,   Σu_lv_j = 2Σ_(l)v_j − Σv_j,
//
// and Statistics have them so. The factor's dummies are the first covariates.
//
// In a frame, which is of v alone, v is ũ, and all L counts have noise. So they have where n is not public: it is
// then their sum, rounded.
//
// Several factors are one, whose levels are cells (schema.Cells), and indicators of these are the first covariates. A
// model has columns of the factors in their place, of which Coding tells.
type Levels struct {
	Factor string      `json:"factor"`
	Counts []float64   `json:"counts"`
	Sums   [][]float64 `json:"sums"`           // a row a level
	Noise  *LevelNoise `json:"noise,omitzero"` // on counts and sums in a frame; nil: that on products

	Products [][]float64 `json:"products,omitempty"` // a row a level, see WithinLevels; nil: they are over all rows

	Known  int64       `json:"known,omitzero"`  // of the columns that sums are of, from 1, the one that is −1 or 1: its Σv² = n has no noise; 0: none
	Merged int64       `json:"merged,omitzero"` // how many cells each level is the sum of, with their noise, in a model of fewer factors; 0: one
	Coding [][]float64 `json:"-"`               // ±1, what the first covariates are in each level; nil: each but the first has a dummy
}

// LevelNoise has the law of the noise on products, and scales of its own. Ball noise is that of a ball a
// level, of its count and sums.
type LevelNoise struct {
	Scale   float64 `json:"scale"`            // on sums
	Count   float64 `json:"count"`            // on counts
	Freedom float64 `json:"freedom,omitzero"` // of a level's ball
}

// LevelsFirst returns the design with the columns of a factor first, of several the indicators of their cells, and how
// many there are. It is
// an error if the factor is none of the design's, has not a dummy for each level but the first, or
// there is no intercept. Where the factor is the response, the last covariate takes its place. No factor has no column.
func LevelsFirst(d *schema.Design, factor string) (*schema.Design, int, error) {
	if factor == "" { // of one level, see merged
		return d, 0, nil
	}
	if cells, err := cellsOf(d, factor); err != nil {
		return nil, 0, err
	} else if cells != nil {
		return cellsFirst(d, factor, cells)
	}
	if Responds(d, factor) {
		d = responseFirst(d)
	}
	var own, others []schema.Column
	for _, c := range d.Covariates {
		if c.FactorName() == factor {
			own = append(own, c)
		} else {
			others = append(others, c)
		}
	}
	levels := max(2, len(levelsOf(d, factor)))
	switch {
	case len(own) == 0:
		return nil, 0, fmt.Errorf("%q is no column of categories or truth values in %s: --formula has to have it, and a schema says what it is, by levels, the type boolean, or the type integer with bounds 0 and 1; several columns have \":\" between them", factor, d.Formula())
	case levels > MaxLevels:
		return nil, 0, fmt.Errorf("%q has %d levels: sums by levels are of at most %d, so merge some", factor, levels, MaxLevels)
	case !d.Intercept || len(own) != levels-1:
		return nil, 0, fmt.Errorf("sums by the levels of %q need a model with an intercept and all levels of it", factor)
	}
	out := *d
	out.Covariates = slices.Concat(own, others)
	return &out, len(own), nil
}

// Dummies are how many columns the factor has; 0 where there is none.
func (l *Levels) Dummies() int {
	switch {
	case l == nil:
		return 0
	case l.Coding != nil:
		return len(l.Coding[0])
	}
	return max(0, len(l.Sums)-1)
}

// inFrame are a row's columns that a frame is of.
func (r *Release) inFrame() int { return max(1, r.Dim()-r.Levels.Dummies()) }

// NewLevels are those of a factor of k dummies, for TakeLevels.
func NewLevels(factor string, k int, noise *LevelNoise) *Levels {
	return &Levels{Factor: factor, Sums: make([][]float64, k+1), Noise: noise}
}

// KnownAt is the place in Measured of what is Known, −1 where nothing is.
func (l *Levels) KnownAt() int {
	if l.Known == 0 {
		return -1
	}
	q := len(l.Sums[0])
	return len(l.Counts) + len(l.Sums)*q + Index(q, int(l.Known)-1, int(l.Known)-1) - q
}

// filled are levels like l of what has noise, in the order of Combinations, or products per level, of q columns; and products.
func (l *Levels) filled(q int, measured []float64) (out *Levels, products []float64) {
	take := func(rows, size int) (all [][]float64) {
		for range rows {
			all, measured = append(all, slices.Clone(measured[:size])), measured[size:]
		}
		return all
	}
	like := *l
	blocks, size := max(1, len(l.Products)), Length(q)-q
	like.Counts = take(1, len(measured)-len(l.Sums)*q-blocks*size)[0]
	like.Sums = take(len(l.Sums), q)
	if products = measured; l.Products != nil {
		like.Products = take(blocks, size)
	}
	return &like, products
}

// TakeLevels takes what has noise, in the order of Combinations, or of products per level where these levels have such, and
// all that follows from it: where n is not public, it does, too.
func (r *Release) TakeLevels(like *Levels, measured []float64) {
	m := r.Dim()
	q := m - like.Dummies()
	if like.PerLevel() {
		own, _, _ := WithinLevels(&r.Schema, like.Factor, like.Dummies()) // of a schema that was checked
		q = len(own)
	}
	var products []float64
	r.Levels, products = like.filled(q, measured)
	if r.Neighbours() == AddRemove {
		r.N, r.NNoise = r.sumOfCounts()
	}
	if !like.PerLevel() {
		r.Statistics = StatisticsFromVector(m, r.Levels.statistics(m, float64(r.N), products))
		return
	}
	r.Statistics = StatisticsFromVector(m, r.follow())
}

// sumOfCounts is n where that is not public, and the scale of noise, of Laplace's law beside a ball, that has its standard
// deviation.
func (r *Release) sumOfCounts() (n int64, noise float64) {
	_, sd := r.scales()
	sum, scale := 0.0, sd[0]
	for _, count := range r.Levels.Counts {
		sum += count
	}
	if r.Noise.Kind != Gaussian {
		scale /= math.Sqrt2
	}
	return int64(math.Round(sum)), math.Sqrt(float64(len(r.Levels.Counts))) * scale
}

// statistics are all that follow, of products of columns behind the dummies.
func (l *Levels) statistics(m int, n float64, products []float64) []float64 {
	if at := l.KnownAt(); at >= 0 {
		products = slices.Clone(products)
		products[at-len(l.Counts)-len(l.Sums)*len(l.Sums[0])] = n
	}
	if l.Coding != nil {
		return l.coded(m, n, products)
	}
	k, s := l.Dummies(), make([]float64, Length(m))
	counts := l.Counts[len(l.Counts)-k:]
	for i, count := range counts {
		s[i] = 2*count - n
		for h := i; h < k; h++ {
			s[Index(m, i, h)] = n - 2*count - 2*counts[h]
		}
		s[Index(m, i, i)] = n
	}
	for j := k; j < m; j++ {
		for _, row := range l.Sums {
			s[j] += row[j-k]
		}
		for i := range k {
			s[Index(m, i, j)] = 2*l.Sums[i+1][j-k] - s[j]
		}
	}
	copy(s[Index(m, k, k):], products)
	return s
}

// Measured are the sums that have noise, in the order of Combinations.
func (r *Release) Measured() []float64 {
	return slices.Concat(r.Levels.Counts, slices.Concat(r.Levels.Sums...), r.products())
}

func (r *Release) products() []float64 {
	if r.Levels.Products != nil {
		return slices.Concat(r.Levels.Products...)
	}
	r = r.FactorFirst()
	return r.Statistics.Vector()[Index(r.Dim(), r.Levels.Dummies(), r.Levels.Dummies()):]
}

// Leveled are sums by the levels of a factor of so many dummies among m columns, of products over all rows or per level.
// Known are those whose response is −1 or 1, the square of which is not measured.
type Leveled struct {
	M, Dummies      int
	PerLevel, Known bool
}

// Sensitivity is Vector.Sensitivity of them, of q columns behind the dummies (docs/sensitivity.md), K = 2, of two levels 1:
//
//	                           L1                               L2²
//	replace-one                K + 2q + q²/2 − [q odd]/(q+3)    (q+1)² + [q even and K = 2]
//	the same of one Known      K + 2                            4
//	replace-one, per level     K + q(q+3)                       the same
//	add-remove                 1 + q + q(q+1)/2, less [Known]   the same
func (l Leveled) Sensitivity(nb Neighbours) (l1, l2Squared *big.Rat) {
	q, counts := int64(l.M-l.Dummies), int64(max(1, min(2, l.Dummies)))
	if nb == AddRemove { // the entries of a row: its count, its sums, its products
		entries := 1 + q + q*(q+1)/2
		if l.Known {
			entries--
		}
		return big.NewRat(entries, 1), big.NewRat(entries, 1)
	}
	if l.PerLevel {
		return big.NewRat(counts+q*(q+3), 1), big.NewRat(counts+q*(q+3), 1)
	}
	l1, l2 := big.NewRat(2*counts+4*q+q*q, 2), (q+1)*(q+1)
	switch {
	case q == 1 && l.Known:
		l1 = big.NewRat(counts+2, 1)
	case q%2 == 1:
		l1.Sub(l1, big.NewRat(1, q+3))
	case counts == 2:
		l2++
	}
	return l1, big.NewRat(l2, 1)
}

// LevelNames are those of the factor by whose levels sums are.
func (r *Release) LevelNames() []string {
	names := levelsOf(&r.Schema, r.Levels.Factor)
	switch {
	case r.Levels.Factor == "":
		return []string{"all rows"}
	case names == nil:
		return []string{"false", "true"}
	}
	return names
}

func levelsOf(d *schema.Design, factor string) []string {
	if cells, _ := cellsOf(d, factor); cells != nil {
		return cells.Names
	}
	if f := schema.FactorNamed(d.Factors, factor); f != nil {
		return f.Levels
	}
	return nil
}

// SameFactor reports why the sums of a release by levels, or of none, are not joined with those of the first: the
// columns of a factor stand first where it has the levels. Levels of the response are joined with none.
func (r *Release) SameFactor(first *Release) error {
	by := func(r *Release) string {
		if r.Levels == nil || r.Levels.Factor == "" || r.LevelsAreOfResponse() {
			return "are not by the levels of a covariate"
		}
		return fmt.Sprintf("are by the levels of %q", r.Levels.Factor)
	}
	if a, b := by(first), by(r); a != b {
		return fmt.Errorf("its sums %s, and those of the first release %s: publish all with the same --by-level, or infer from those that are alike", b, a)
	}
	return nil
}

// levelSD is ScaledSD: what noise on each sum is in all statistics.
func (r *Release) levelSD() []float64 {
	if r.Levels.PerLevel() {
		return r.perLevelSD()
	}
	wanted := r
	r = r.FactorFirst()
	m, k := r.Dim(), r.Levels.Dummies()
	_, sd := r.scales()
	z, square := make([]float64, len(sd)), make([]float64, Length(m))
	for i := range z {
		clear(z)
		z[i] = sd[i] / r.Noise.SD()
		l, products := r.Levels.filled(m-k, z)
		n := 0.0
		if r.Neighbours() == AddRemove && i < len(l.Counts) {
			n = z[i]
		}
		for e, v := range r.scaled(l.statistics(m, n, products), n) {
			square[e] += v * v
		}
	}
	for e, v := range square {
		square[e] = r.Noise.SD() * math.Sqrt(v)
	}
	return wanted.asWanted(square)
}

// wholly is why a model is refused that has some of the columns of the factor, or no intercept.
func (r *Release) wholly() error {
	return fmt.Errorf("this release has its sums by the levels of %q: a model of it has an intercept and %[1]q, as a whole or not at all, among its covariates, or as its response where that is a truth value", r.Levels.Factor)
}

// pickLevels gives the levels' part of a model of a design whose columns are at these places; an error where
// the model has not all columns of the factor.
func (r *Release) pickLevels(d *schema.Design, at []int) (*Levels, error) {
	l := r.Levels
	if l == nil {
		return nil, nil
	}
	k := l.Dummies()
	for i := range k {
		if len(at) <= k || at[i] != i {
			return nil, r.wholly()
		}
	}
	places := make([]int, len(at)-k)
	for i, a := range at[k:] {
		places[i] = a - k
	}
	if l.PerLevel() {
		var err error
		if places, err = r.ownPlaces(d, at); err != nil {
			return nil, err
		}
	}
	out, q := *l, len(l.Sums[0])
	out.Counts, out.Sums, out.Products, out.Known = slices.Clone(l.Counts), nil, nil, int64(1+slices.Index(places, int(l.Known)-1))
	for _, row := range l.Sums {
		var sums []float64
		for _, a := range places {
			sums = append(sums, row[a])
		}
		out.Sums = append(out.Sums, sums)
	}
	for _, row := range l.Products {
		var products []float64
		for i, a := range places {
			for _, b := range places[i:] {
				products = append(products, row[Index(q, a, b)-q])
			}
		}
		out.Products = append(out.Products, products)
	}
	return &out, nil
}
