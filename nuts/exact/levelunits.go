package exact

import (
	"math"
	"slices"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/release"
)

// levelUnits are those of levelSums. Of d columns v in common units u = W(v − c) are those of a release, and
// coordinates are of v′ = (v − c)/|L_j|, L = W⁻¹, for what byColumns says: the noise of a square is that of u. The
// prior sees v = Bv′ + c, and noise is on sums of u = Av′, A = WB. About c, sums within levels do not depend on counts.
// Of one release in the box all three are the same.
type levelUnits struct {
	d       int
	b, c, a []float64
	same    bool
	p, pa   []float64 // d×d
}

func newLevelUnits(of *model.Units, m, d int) *levelUnits {
	u := &levelUnits{d: d, b: vec(d), c: vec(d), a: vec(d * d), same: true,
		p: vec(d * d), pa: vec(d * d)}
	back := of.Inverse()
	for j := range d {
		row, c := back.Row(m - d + j)
		own := row[len(row)-1-j:]
		u.b[j], u.c[j] = math.Sqrt(dot(own, own)), c
	}
	for j := range d {
		row, _ := of.Row(m - d + j)
		for i, v := range row[len(row)-1-j:] {
			u.a[j*d+i] = v * u.b[i]
			u.same = u.same && (v == 0 || i == j && v == 1) && u.c[j] == 0
		}
	}
	return u
}

// readTold takes the noise's parts, and z to own units.
func (f *levelSums) readTold() {
	t, d, first := f.obs.Told, f.d, len(f.obs.Told.Counts)
	if f.toldOwn = slices.Clone(t.Z[first:]); f.units.same {
		f.own, f.byOwn = f.told[first:], f.byTold[first:]
	} else {
		f.own, f.byOwn = vec(len(f.toldOwn)), vec(len(f.toldOwn))
		f.units.fromNoise(f.toldOwn, f.toldOwn)
	}
	f.parts = make([][]int, f.levels)
	for i, part := range t.Parts {
		switch at := part.At[0]; {
		case at >= first+f.levels*d:
			f.ofProducts = append(f.ofProducts, i)
		case at >= first:
			l := (at - first) / d
			f.parts[l] = append(f.parts[l], i)
		default:
			l := at + f.levels - first
			f.parts[l] = append(f.parts[l], i)
		}
	}
}

// square writes products, in canonical order, to u.p.
func (u *levelUnits) square(products []float64) {
	for j := range u.d {
		for h := range u.d {
			u.p[j*u.d+h] = products[release.Index(u.d, j, h)-u.d]
		}
	}
}

// toNoise writes sums within levels and products of v′ as those of u.
func (u *levelUnits) toNoise(told, own []float64) {
	d, products := u.d, len(own)-release.Length(u.d)+u.d
	for at := 0; at < products; at += d {
		for j := range d {
			told[at+j] = dot(u.a[j*d:j*d+j+1], own[at:])
		}
	}
	u.square(own[products:])
	dense.MulABt(u.pa, u.p, u.a, d, d, d)
	for j := range d {
		row := told[products+release.Index(d, j, j)-d:][:d-j]
		clear(row)
		for i, v := range u.a[j*d : j*d+j+1] {
			addScaled(row, v, u.pa[i*d+j:])
		}
	}
}

// fromNoise is toNoise the other way.
func (u *levelUnits) fromNoise(own, told []float64) {
	d, products := u.d, len(own)-release.Length(u.d)+u.d
	for at := 0; at < products; at += d {
		copy(own[at:at+d], told[at:at+d])
		dense.SolveLower(u.a, d, own[at:at+d])
	}
	s := append(vec(d), told[products:]...)
	model.NewUnits(u.a, vec(d)).Common(s, s, 0)
	copy(own[products:], s[d:])
}

// pullNoise writes the gradient in sums and products of v′, given that in those of u.
func (u *levelUnits) pullNoise(byOwn, byTold []float64) {
	d, products := u.d, len(byOwn)-release.Length(u.d)+u.d
	clear(byOwn)
	for at := 0; at < products; at += d {
		for j := range d {
			addScaled(byOwn[at:at+j+1], byTold[at+j], u.a[j*d:])
		}
	}
	u.square(byTold[products:]) // E of off-diagonal entries is half of the slope in a product
	for j := range d {
		u.p[j*d+j] *= 2
	}
	clear(u.pa)
	for j := range d {
		for i, v := range u.a[j*d : j*d+j+1] {
			addScaled(u.pa[i*d:(i+1)*d], v, u.p[j*d:])
		}
	}
	for i := range d {
		row := byOwn[products+release.Index(d, i, i)-d:]
		for j := i; j < d; j++ {
			addScaled(row[:j-i+1], u.pa[i*d+j], u.a[j*d+i:])
		}
		row[0] *= 0.5
	}
}

// byPrior is what the prior sees of F and D, and its gradient there.
type byPrior struct {
	*statistics
	units *levelUnits
	sums  []float64
	gSums []float64
}

func newByPrior(u *levelUnits, own *levelSums) *byPrior {
	if u.same {
		return &byPrior{own.within, u, own.sums, own.gSums}
	}
	d := u.d
	return &byPrior{newStatistics(d), u, vec(len(own.sums)), vec(len(own.sums))}
}

// see takes D and F.
func (p *byPrior) see(own *statistics, sums, roots []float64) {
	if p.units.same {
		return
	}
	d, b := p.units.d, p.units.b
	for i := range d {
		for j := range i + 1 {
			p.d[i*d+j] = b[i] * own.d[i*d+j]
		}
	}
	p.spread()
	for l, root := range roots {
		for j := range d {
			p.sums[l*d+j] = b[j]*sums[l*d+j] + root*p.units.c[j]
		}
	}
}

// clear makes the gradient 0, and pull adds it to that of F, D and W.
func (p *byPrior) clear() {
	clear(p.gSums)
	p.statistics.clear()
}

func (p *byPrior) pull(gSums []float64, own *statistics) {
	if p.units.same {
		return
	}
	d, b := p.units.d, p.units.b
	for at := range gSums {
		gSums[at] += b[at%d] * p.gSums[at]
	}
	for i := range d {
		for j := range i + 1 {
			own.gD[i*d+j] += b[i] * p.gD[i*d+j]
			own.e[i*d+j] += b[i] * b[j] * p.e[i*d+j]
		}
	}
}
