package ssp

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"

	"github.com/dpreg/dpreg/internal/number"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

// leveled is what a Pass makes of rows of a factor: of their columns the first are its dummies, ±1, of which
// at most one is 1, and the others are added to what their level has.
type leveled struct {
	withheld
	dummies, columns int // of a row, the columns behind the dummies
	parts            []Summand
}

var errNoLevel = errors.New("a row is in no level of the factor, or in several: sums by its levels cannot be private")

func newLeveled(dummies, columns int, part func() Summand) *leveled {
	l := &leveled{dummies: dummies, columns: columns}
	for range dummies + 1 {
		l.parts = append(l.parts, part())
	}
	return l
}

// AddRows adds rows as the parts do. A row in no level, or in several, is an error: it tells of the row.
func (l *leveled) AddRows(rows []float64) error {
	for m := l.dummies + l.columns; len(rows) > 0; rows = rows[m:] {
		level := 0
		for j, v := range rows[:l.dummies] {
			switch {
			case v == 1 && level == 0:
				level = j + 1
			case v != -1:
				return errNoLevel
			}
		}
		if err := l.parts[level].AddRows(rows[l.dummies:m]); err != nil {
			return fmt.Errorf("behind %d columns of the factor: %w", l.dummies, err)
		}
	}
	return nil
}

// Merge adds the rows of other, of the same Pass.
func (l *leveled) Merge(other Summand) error {
	o, ok := other.(*leveled)
	if !ok || len(o.parts) != len(l.parts) {
		return errOthers
	}
	for i, part := range l.parts {
		if err := part.Merge(o.parts[i]); err != nil {
			return err
		}
	}
	return nil
}

// MarshalBinary encodes one part after another, all of one length.
func (l *leveled) MarshalBinary() (all []byte, err error) {
	for _, part := range l.parts {
		data, err := part.MarshalBinary()
		if err != nil {
			return nil, err
		}
		all = append(all, data...)
	}
	return all, nil
}

// UnmarshalBinary makes l what was encoded in the same Pass.
func (l *leveled) UnmarshalBinary(data []byte) error {
	each := len(data) / len(l.parts)
	if each*len(l.parts) != len(data) {
		return fmt.Errorf("%d bytes are not encoded by %d levels", len(data), len(l.parts))
	}
	for i, part := range l.parts {
		if err := part.UnmarshalBinary(data[i*each : (i+1)*each]); err != nil {
			return err
		}
	}
	return nil
}

// Parts are what a Pass made of rows in a frame, one or one a level, and the digest of all.
func Parts[T interface{ Digest() Digest }](s Summand) (parts []T, all Digest) {
	each := []Summand{s}
	if l, ok := s.(*leveled); ok {
		each = l.parts
	}
	for level, part := range each {
		parts = append(parts, part.(T))
		for i, sum := range parts[level].Digest().sums {
			all.sums[i] += uint64(2*level+1) * sum
		}
	}
	return parts, all
}

// LevelNoise is Noise of sums by levels of d columns in a frame: on products, and beside it on counts and sums. Each
// has half of the share, at its sensitivity (release.Frame.LevelSensitivity).
func (b Budget) LevelNoise(d int, f *release.Frame, share float64) (noise release.Noise, levels *release.LevelNoise, err error) {
	if noise, err = b.Noise(d, f, share/2); err != nil {
		return noise, nil, err
	}
	ofLevels, products := f.LevelSensitivity(b.Kind, b.Neighbours)
	levels = &release.LevelNoise{}
	noise.Linear, noise.Sensitivity = 0, rootUp(products)
	if noise.Scale, err = b.scale(square(noise.Sensitivity), share/2, all); err == nil {
		levels.Scale, err = b.scale(ofLevels, share/2, all)
	}
	if err != nil {
		return noise, nil, err
	}
	noise.Cross = rootUp(new(big.Rat).Quo(square(noise.Scale), big.NewRat(2, 1)))
	levels.Count = roundUp(new(big.Rat).Quo(number.Exactly(levels.Scale), number.Exactly(f.Weight)))
	if b.Kind == release.Ball {
		noise.Freedom, levels.Freedom = float64(release.Length(d)-d+1), float64(d+2)
	}
	return noise, levels, nil
}

// LevelWeight is κ over R: of Gaussian noise to replace-one neighbours 1, up to which counts have less at no cost.
func (b Budget) LevelWeight() float64 {
	if b.Kind == release.Gaussian && b.Neighbours == release.ReplaceOne {
		return 1
	}
	return 0.5
}

// PublishLevelLook is PublishLook of sums by the levels of a factor, of which s has those of each: what has noise are
// the rows of each level, sums of u within it, and products over all rows. The look's statistics are left to
// release.TakeLevels, which measured is for.
func (b Budget) PublishLevelLook(s []*BallAccumulator, f *release.Frame, share float64, e *mechanisms.Entropy) (look release.Look, levels *release.LevelNoise, measured []float64, err error) {
	d, digits := s[0].Dim(), 2*radiusLattice(f.Radius)
	for _, level := range s {
		if !sameFrame(f, &level.ball.frame) {
			return look, nil, nil, errors.New("the sums are of another frame")
		}
	}
	noise, levels, err := b.LevelNoise(d, f, share)
	if err != nil {
		return look, nil, nil, err
	}
	var counts, sums []*big.Int
	products := make([]*big.Int, release.Length(d))
	for i := range products {
		products[i] = new(big.Int)
	}
	for _, level := range s {
		z := level.integers()
		count := new(big.Int).Lsh(big.NewInt(level.n), 2*LatticeBits)
		for i, x := range z[d:] {
			products[d+i].Add(products[d+i], x)
		}
		if err := addNoise(b.Kind, []part{{[]*big.Int{count}, levels.Count, 2 * LatticeBits}, {z[:d], levels.Scale, digits}}, e); err != nil {
			return look, nil, nil, err
		}
		counts, sums = append(counts, count), append(sums, z[:d]...)
	}
	if err := addNoise(b.Kind, byScale(d, products, noise, digits)[1:], e); err != nil {
		return look, nil, nil, err
	}
	measured = slices.Concat(toScaled(counts, 2*LatticeBits), toScaled(sums, digits), toScaled(products[d:], digits))
	return release.Look{Frame: RoundFrame(f), Noise: noise}, levels, measured, nil
}

// CalibrateLevels is Calibrate of sums by the levels of a factor.
func CalibrateLevels(l release.Leveled, pr release.Privacy, noise release.Kind) (release.Noise, error) {
	if err := checkPrivacy(pr, noise); err != nil {
		return release.Noise{}, err
	}
	l1, squared := l.Sensitivity(pr.Neighbours)
	if noise == release.Gaussian {
		return gaussianNoise(squared, pr)
	}
	return laplaceNoise(l1, number.Decimal(pr.Epsilon)), nil
}

// PublishLevels is Publish, with the exact sensitivity, of sums by the levels of a factor, whose
// columns are the first of d: noise is on release.Levels and on products, and the statistics follow.
//
// Its sensitivity is of rows in one level each. Sums of others, which no table has, are an error:
// it tells of the rows, as that of a value outside the box does.
func PublishLevels(ctx context.Context, s *Statistics, d *schema.Design, factor string, pr release.Privacy, noise release.Kind, e *mechanisms.Entropy) (*release.Release, error) {
	simulated := e.IsSimulated()
	if err := checkPublishable(s, d, pr.Neighbours); err != nil {
		return nil, err
	}
	d, k, err := release.LevelsFirst(d, factor)
	if err != nil {
		return nil, err
	}
	known := d.Response.Binary()
	stated, err := CalibrateLevels(release.Leveled{M: s.m, Dummies: k, Known: known}, pr, noise)
	if err != nil {
		return nil, err
	}
	z, err := s.byLevels(k, known, pr.Neighbours)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := addNoise(noise, []part{{z, stated.Scale, 2 * LatticeBits}}, e); err != nil {
		return nil, err
	}
	r := &release.Release{Format: release.FormatLevels, Simulated: simulated, Schema: copyDesign(d), Privacy: &pr, Noise: stated}
	if pr.Neighbours == release.ReplaceOne {
		r.N = s.N
	}
	like, measured := release.NewLevels(factor, k, nil), toScaled(z, 2*LatticeBits)
	if known {
		like.Known, measured = int64(s.m-k), append(measured, 0) // which follows
	}
	r.TakeLevels(like, measured)
	return valid(ctx, r)
}

// PerLevel are the sums in the box that a Pass of dummies made of the rows of each level.
func PerLevel(all Summand) (levels []*Statistics) {
	for _, part := range all.(*leveled).parts {
		levels = append(levels, part.(*Accumulator).Statistics())
	}
	return levels
}

// PublishPerLevel is PublishLevels of products per level: noise is on the rows of each level, and on sums and products
// within it of the columns of d that release.WithinLevels names, which levels are of.
func PublishPerLevel(ctx context.Context, levels []*Statistics, d *schema.Design, factor string, pr release.Privacy, noise release.Kind, e *mechanisms.Entropy) (*release.Release, error) {
	simulated := e.IsSimulated()
	d, k, err := release.LevelsFirst(d, factor)
	if err == nil {
		_, _, err = release.WithinLevels(d, factor, k)
	}
	if err != nil {
		return nil, err
	}
	r := &release.Release{Format: release.FormatLevels, Simulated: simulated, Schema: copyDesign(d), Privacy: &pr}
	if r.Noise, err = CalibrateLevels(release.Leveled{M: k + levels[0].m, Dummies: k, PerLevel: true}, pr, noise); err != nil {
		return nil, err
	}
	var counts, sums, products []*big.Int
	for _, s := range levels {
		z := s.BigInts()
		counts, sums, products = append(counts, s.rows()), append(sums, z[:s.m]...), append(products, z[s.m:]...)
		if pr.Neighbours == release.ReplaceOne {
			r.N += s.N
		}
	}
	if r.N < 1 && pr.Neighbours == release.ReplaceOne {
		return nil, errors.New("there are no rows: nothing can be published")
	}
	z := slices.Concat(counts[len(counts)-release.LevelCounts(k, pr.Neighbours):], sums, products)
	if err := addNoise(noise, []part{{z, r.Noise.Scale, 2 * LatticeBits}}, e); err != nil {
		return nil, err
	}
	like := release.NewLevels(factor, k, nil)
	like.Products = make([][]float64, k+1)
	r.TakeLevels(like, toScaled(z, 2*LatticeBits))
	return valid(ctx, r)
}

// byLevels are the sums of release.Combinations of a factor whose k dummies are the first columns, as
// multiples of 2^-40. Twice each is a whole combination of the statistics, and even, where all rows
// are in one level. Where the response's square is known, which is the last and left out, it must be ±1 throughout.
func (s *Statistics) byLevels(k int, known bool, nb release.Neighbours) ([]*big.Int, error) {
	if err := s.CheckLevels(k); err != nil {
		return nil, err
	}
	if known && s.BigInts()[release.Index(s.m, s.m-1, s.m-1)].Cmp(s.rows()) != 0 {
		return nil, errors.New("a response of 0 and 1 is between them in a row: sums by levels cannot be private")
	}
	sums, n := s.BigInts(), s.rows()
	var all []*big.Int
	combinations := release.Combinations(s.m, k, release.LevelCounts(k, nb))
	if known {
		combinations = combinations[:len(combinations)-1]
	}
	for _, c := range combinations {
		twice := multiple(n, 2*c.Rows)
		for i, at := range c.At {
			twice.Add(twice, multiple(sums[at], 2*c.Weight[i]))
		}
		all = append(all, twice.Rsh(twice, 1))
	}
	return all, nil
}

func multiple(x *big.Int, by float64) *big.Int {
	return new(big.Int).Mul(x, big.NewInt(int64(by)))
}

// rows is the number of rows in units of the lattice.
func (s *Statistics) rows() *big.Int { return new(big.Int).Lsh(big.NewInt(s.N), 2*LatticeBits) }

// CheckLevels refuses sums of rows that are not in one level each of a factor whose k dummies are the
// first columns: all dummies must be ±1 and one at most 1. u² ≤ 1 throughout, so that Σu² = n tells
// the first, and no row has u_l = u_k = 1 where Σu_lu_k = −n − Σu_l − Σu_k.
func (s *Statistics) CheckLevels(k int) error {
	sums, n := s.BigInts(), s.rows()
	for i := range k {
		for h := range i + 1 {
			want := n
			if h < i {
				want = new(big.Int).Add(n, sums[i])
				want.Neg(want.Add(want, sums[h]))
			}
			if want.Cmp(sums[release.Index(s.m, h, i)]) != 0 {
				return errNoLevel
			}
		}
	}
	return nil
}
