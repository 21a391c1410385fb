package calibration

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/ssp"
	"github.com/dpreg/dpreg/table"
)

// Table says which rows of which table are meant, and how they are read.
type Table struct {
	Name    string        `json:"name"` // of the file, without its directory
	Columns schema.Design `json:"columns"`
	Missing table.Missing `json:"missing,omitempty"`
	NA      []string      `json:"na,omitempty"`
	Rows    int64         `json:"rows"`
	Digest  string        `json:"digest"` // Rows.Digest
	// Test is the share of Split rows that is predicted.
	Test float64 `json:"test,omitempty"`
}

// train is how many rows are inferred from.
func (t *Table) train() int64 { return t.Rows - int64(float64(t.Rows)*t.Test+0.5) }

// Rows are those of a table, in scaled units, one after another.
type Rows struct {
	m int
	v []float64
}

// ReadRows keeps rows of m values, as table.Options.Rows yields them. Errors: what rows yields.
func ReadRows(rows iter.Seq2[[]float64, error], m int) (*Rows, error) {
	r := &Rows{m: m}
	for row, err := range rows {
		if err != nil {
			return nil, err
		}
		r.v = append(r.v, row...)
	}
	return r, nil
}

// Len is the number of rows.
func (r *Rows) Len() int64 { return int64(len(r.v) / r.m) }

// At is row i, counted from 0; it is not to be changed.
func (r *Rows) At(i int) []float64 { return r.v[i*r.m : (i+1)*r.m] }

// Digest is a checksum of the values, by which a table is known again.
func (r *Rows) Digest() string {
	buffer := make([]byte, 0, 8*len(r.v))
	for _, v := range r.v {
		buffer = binary.LittleEndian.AppendUint64(buffer, math.Float64bits(v))
	}
	return fmt.Sprintf("%x", sha256.Sum256(buffer))
}

// rows draws rows v = (x, y), x with mean μ_x and covariance T = LLᵀ by one of the
// laws, y ~ N(θᵀ(1, x), σ²), or of a family given θᵀ(1, x), of counts up to most.
type rows struct {
	params *model.Params
	shape  model.Shape
	law    XLaw
	chol   []float64 // L
	sigma  float64
	e      []float64
	rng    *rand.Rand
	family model.Family
	most   float64
}

func newRows(params *model.Params, shape model.Shape, law XLaw, rng *rand.Rand) (*rows, error) {
	r := &rows{params: params, shape: shape, law: law, chol: slices.Clone(params.Tau), sigma: math.Sqrt(params.Sigma2), e: make([]float64, shape.P), rng: rng}
	if !dense.Cholesky(r.chol, shape.P) {
		return nil, errors.New("the prior gives a covariance of the covariates that is singular in float64")
	}
	return r, nil
}

// next writes a row to v, of length m.
func (r *rows) next(v []float64) {
	p := r.shape.P
	for j := range r.e {
		r.e[j] = r.standard()
	}
	dense.MulLowerVec(v[:p], r.chol, p, r.e)
	slopes := r.params.Theta[r.shape.Q()-p:]
	y := 0.0
	if r.family == model.Normal {
		y = r.sigma * r.rng.NormFloat64()
	}
	if r.shape.Intercept {
		y += r.params.Theta[0]
	}
	for j := range p {
		v[j] += r.params.MuX[j]
		y += float64(slopes[j] * v[j])
	}
	if r.family != model.Normal {
		y = 2*r.family.Draw(y, r.most, r.rng)/r.most - 1
	}
	v[p] = y
}

// standard has mean 0 and variance 1.
func (r *rows) standard() float64 {
	switch r.law {
	case BinaryX:
		return float64(2*r.rng.IntN(2) - 1)
	case SkewedX:
		return r.rng.ExpFloat64() - 1
	}
	return r.rng.NormFloat64()
}

// simulate draws parameters from the prior, and then n rows of theirs.
func simulate(f *fitter, law XLaw, n int64, rng *rand.Rand) (*rows, error) {
	shape := model.DesignShape(f.columns)
	params := model.NewParams(shape)
	model.NewConditionals(shape, f.prior, true).DrawPrior(params, rng)
	f.prior.OfRows(float64(n)).Kurtosis.Apply(params, rng)
	r, err := newRows(params, shape, law, rng)
	if err == nil {
		r.family, r.most = f.family, f.columns.Response.Upper
	}
	return r, err
}

// summed is what is summed over the rows of a trial.
type summed struct {
	rows       []float64 // one after another; nil unless asked for
	statistics *ssp.Statistics
	moments    *ssp.MomentAccumulator // of the covariates, clamped; nil unless the method takes them
	outside    float64                // the share of values outside [-1, 1], clamped or not
}

// sum sums n rows, each of which next writes down, for what the arm infers from. They are clamped to
// [-1, 1], or left as they are, and kept where that is asked for, or releases look at them again.
func (f *fitter) sum(next func([]float64), n int64, clamp, keep bool) (s *summed, err error) {
	s, keep = new(summed), keep || f.again()
	p := len(f.columns.Covariates)
	if f.arm.Method == noisyMoments && p > 0 && p <= release.MaxMomentCovariates {
		s.moments = ssp.NewMomentAccumulator(p)
	}
	m := p + 1
	exact, plain := ssp.NewAccumulator(m), make([]float64, release.Length(m))
	v, inside, outside := make([]float64, m), make([]float64, m), 0
	for range n {
		next(v)
		copy(inside, v)
		outside += clampRow(inside)
		row := v
		if clamp {
			row = inside
			err = exact.AddRows(row)
		} else {
			AddSums(plain, row)
		}
		if keep {
			s.rows = append(s.rows, row...)
		}
		if err == nil && s.moments != nil {
			err = s.moments.AddRows(inside)
		}
		if err != nil {
			return nil, err
		}
	}
	s.outside = float64(outside) / float64(n*int64(m))
	if clamp {
		s.statistics = exact.Statistics()
	} else {
		s.statistics, err = ssp.FromVector(m, n, plain)
	}
	return s, err
}

// AddSums adds v_j and v_j v_k, j ≤ k, in canonical order.
func AddSums(sums, v []float64) {
	m := len(v)
	for j, a := range v {
		sums[j] += a
		first := release.Index(m, j, j)
		for k, b := range v[j:] {
			sums[first+k] += float64(a * b)
		}
	}
}

// clampRow clamps values to [-1, 1] and counts those outside.
func clampRow(v []float64) (outside int) {
	for j, a := range v {
		if a < -1 || a > 1 {
			v[j] = math.Copysign(1, a)
			outside++
		}
	}
	return outside
}

// cirrhosis is wine consumed per head and the death rate from cirrhosis in 46
// American states: columns of testdata/cirrhosis.csv, whose SOURCE.md has the source.
var cirrhosis = [...][2]float64{
	{5, 41.2}, {4, 31.7}, {3, 39.4}, {7, 57.5}, {11, 74.8}, {9, 59.8}, {6, 54.3}, {3, 47.9},
	{12, 77.2}, {7, 56.6}, {14, 80.9}, {12, 34.3}, {10, 53.1}, {10, 55.4}, {14, 57.8}, {9, 62.8},
	{7, 67.3}, {18, 56.7}, {6, 37.6}, {31, 129.9}, {13, 70.3}, {20, 104.2}, {19, 83.6}, {10, 66.0},
	{4, 52.3}, {16, 86.9}, {9, 66.6}, {6, 40.1}, {6, 55.7}, {21, 58.1}, {15, 74.3}, {17, 98.1},
	{7, 40.7}, {13, 66.7}, {8, 48.0}, {28, 122.5}, {23, 92.1}, {22, 76.0}, {23, 97.5}, {7, 33.8},
	{16, 90.5}, {2, 29.7}, {6, 28.0}, {3, 51.6}, {8, 55.7}, {13, 55.5},
}

// cirrhosisTrain of the 46 rows are inferred from, the others predicted.
const cirrhosisTrain = 36

// cirrhosisColumns has both columns on [0, 1].
func cirrhosisColumns() *schema.Design {
	return &schema.Design{
		Response:   schema.Column{Name: "cirrhosis", Lower: 0, Upper: 1},
		Covariates: []schema.Column{{Name: "wine", Lower: 0, Upper: 1}},
		Intercept:  true,
	}
}

// cirrhosisOnUnit is the data with each column's extremes at 0 and 1.
func cirrhosisOnUnit() [][2]float64 {
	low, high := cirrhosis[0], cirrhosis[0]
	for _, row := range cirrhosis {
		for j, v := range row {
			low[j], high[j] = min(low[j], v), max(high[j], v)
		}
	}
	rows := make([][2]float64, len(cirrhosis))
	for i, row := range cirrhosis {
		for j, v := range row {
			rows[i][j] = (v - low[j]) / (high[j] - low[j])
		}
	}
	return rows
}
