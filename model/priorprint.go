package model

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/schema"
)

// Words returns the prior, in scaled units of a design, in data units, a line for each
// parameter: as ParseStatement reads it, or where words do not reach behind a '#'. Numbers
// have four digits.
func (p *Prior) Words(d *schema.Design) []string {
	w := &wording{Prior: p, d: d, frame: d.Frame(), law: p.apart(), n: len(d.Covariates)}
	w.intercept()
	w.slopes()
	w.sigma()
	w.covariates()
	return w.lines
}

type wording struct {
	*Prior
	d     *schema.Design
	frame schema.Frame
	law   *apart
	n     int
	lines []string
}

func (w *wording) add(format string, args ...any) {
	w.lines = append(w.lines, fmt.Sprintf(format, args...))
}

// name of covariate j.
func (w *wording) name(j int) string { return quoteName(w.d.Covariates[j].Name) }

// unit is that of coefficient j, by the scaled one.
func (w *wording) unit(j int) float64 { return w.frame.Half[w.n] / w.frame.Half[j] }

func (w *wording) intercept() {
	if !w.d.Intercept {
		return
	}
	var centre []string
	for j, c := range w.law.centre {
		if j == maxStatable {
			centre = append(centre, "and so on")
			break
		}
		half := w.frame.Half[j]
		centre = append(centre, fmt.Sprintf("%s = %s", w.name(j), meanDigits(w.frame.Centre[j]+half*c, half/10)))
	}
	if centre != nil {
		w.add("# (Intercept) stands for the line at %s", strings.Join(centre, ", "))
	}
	y := w.frame.Half[w.n]
	w.normal(string(ofIntercept), w.frame.Centre[w.n]+y*w.law.alpha, y*math.Sqrt(w.law.variance), "")
}

// normal writes a law of θ: to be typed where the sd has no factor, be it σ.
func (w *wording) normal(of string, mean, sd float64, factor string) {
	text := meanDigits(mean, sd)
	if !w.Unscaled {
		sd /= w.frame.Half[w.n]
		factor += " sigma"
	}
	if factor != "" {
		of = "# " + strings.TrimPrefix(of, "# ")
	}
	w.add("%s ~ normal(%s, %s%s)", of, text, digits(sd), factor)
}

func (w *wording) slopes() {
	n, s := w.n, w.law.precision
	for j := range n {
		in := slices.IndexFunc(w.Scales, func(s Scale) bool { return slices.Contains(s.Coefficients, w.law.first+j) })
		if in >= 0 {
			if slices.Min(w.Scales[in].Coefficients) == w.law.first+j { // the first of its slopes
				w.free(in)
			}
			continue
		}
		of, sd := w.name(j), 1/math.Sqrt(s[j*n+j])
		for k := range n {
			if k != j && math.Abs(s[j*n+k]) > roundingOf*math.Sqrt(s[j*n+j]*s[k*n+k]) {
				w.add("# not independent of other slopes, as in theta.precision of the prior file, and by itself")
				of, sd = "# "+of, math.Sqrt(inverseDiagonal(s, n)[j])
				break
			}
		}
		w.normal(of, w.law.beta[j]*w.unit(j), sd*w.unit(j), "")
	}
}

// roundingOf is what is left, of 1, where numbers that cancel were rounded.
const roundingOf = 1e-9

func inverseDiagonal(a []float64, n int) []float64 {
	root, inverse, diagonal := slices.Clone(a), make([]float64, n*n), make([]float64, n)
	if dense.Cholesky(root, n) {
		dense.InverseFromCholesky(inverse, root, n)
	}
	for i := range n {
		diagonal[i] = inverse[i*n+i]
	}
	return diagonal
}

// free writes the law of slopes that share free scale i, √a = (√2/A)/χ_ν.
func (w *wording) free(i int) {
	s := &w.Scales[i]
	for _, g := range groups(w.d) {
		scale, ok := w.exchanged(s, g)
		if !ok {
			continue
		}
		effects := "the effects of its levels"
		if g.reference {
			effects = "the effects of all its levels, of which coefficients are differences"
		}
		w.add("# factor %s: spread is the sd of %s", g.factor, effects)
		w.add("%s ~ inv_chi(1, %s)", (&Statement{target: ofSpread, name: g.factor}).of(), digits(scale*w.frame.Half[w.n]))
		return
	}
	if len(s.Coefficients) == 1 && w.Unscaled && s.Dof > 0 {
		w.student(s)
		return
	}
	w.add("# slopes that share a free spread: a%d ~ inv_chi(%s, %s)", i, digits(2*s.Shape()), digits(math.Sqrt2/s.SD))
	sd := inverseDiagonal(s.Precision, len(s.Coefficients))
	for at, k := range s.Coefficients {
		j := k - w.law.first
		w.normal(w.name(j), w.law.beta[j]*w.unit(j), math.Sqrt(sd[at])*w.unit(j), fmt.Sprintf(" a%d", i))
	}
}

// student writes the law of a slope that has a free scale for itself: with c = A²ν/2 times its precision,
// Student's t of scale 1/√c.
func (w *wording) student(s *Scale) {
	j := s.Coefficients[0] - w.law.first
	mean, scale := w.law.beta[j]*w.unit(j), w.unit(j)/math.Sqrt(s.Precision[0]*s.Shape()/s.Rate())
	w.add("%s ~ student_t(%s, %s, %s)", w.name(j), digits(2*s.Shape()), meanDigits(mean, scale), digits(scale))
}

// exchanged finds the scale of a factor's exchangeable law, in scaled units of y, if that is
// what a free scale is of, or what is left of it where some dummies have other laws.
func (w *wording) exchanged(s *Scale, g group) (scale float64, ok bool) {
	var left []int
	for _, k := range s.Coefficients {
		j := k - w.law.first
		if !slices.Contains(g.columns, j) || w.law.beta[j] != 0 {
			return 0, false
		}
		left = append(left, j)
	}
	g.columns = left
	one := g.exchangeable(w.d, 1)
	scale = math.Sqrt(one[0] / s.Precision[0])
	n := len(left)
	for r := range n {
		for c := range n {
			whole := w.law.precision[left[r]*w.n+left[c]]
			want, size := one[r*n+c]/(scale*scale), math.Sqrt(s.Precision[r*n+r]*s.Precision[c*n+c])
			if math.Abs(s.Precision[r*n+c]-want) > roundingOf*size || math.Abs(whole-want) > roundingOf*size {
				return 0, false
			}
		}
	}
	return scale * math.Sqrt2 / s.SD, w.Unscaled
}

func (w *wording) sigma() {
	if w.Linked {
		return
	}
	y := w.frame.Half[w.n]
	if i := slices.IndexFunc(w.Scales, func(s Scale) bool { return s.Sigma }); i >= 0 {
		w.add("sigma ~ half_t(%s, %s)", digits(2*w.Theta.Shape), digits(w.Scales[i].SD*math.Sqrt(w.Theta.Scale/(2*w.Theta.Shape))*y))
	} else {
		w.add("# sigma^2 ~ inv_gamma(%s, %s)", digits(w.Theta.Shape), digits(w.Theta.Scale*y*y))
	}
	least, most := w.Kurtosis.ends()
	w.add("kurtosis ~ log_uniform(%s, %s)", digits(least), digits(most))
}

func (w *wording) covariates() {
	x, n := w.Covariates, w.n
	words := 0
	for j := range n {
		i := slices.IndexFunc(w.Scales, func(s Scale) bool { return slices.Contains(s.Covariates, j) })
		if i >= 0 && len(w.Scales[i].Covariates) == 1 && x.Dof == float64(n+1) {
			words++
			w.add("sd(%s) ~ half_t(2, %s)", w.name(j), digits(w.Scales[i].SD*math.Sqrt(x.Scale[j*n+j]/4)*w.frame.Half[j]))
		}
	}
	if words < n {
		w.add("# the covariates' covariance ~ inv_wishart of %s degrees of freedom, as in covariates of the prior file", digits(x.Dof))
	}
	for j, mean := range x.Mean {
		half := w.frame.Half[j]
		sd := fmt.Sprintf("%s sd(%s)", digits(1/math.Sqrt(x.Kappa)), w.name(j))
		if w.MeanSD != nil {
			sd = digits(half * w.MeanSD[j])
		}
		w.add("# mean(%s) ~ normal(%s, %s)", w.name(j), meanDigits(w.frame.Centre[j]+half*mean, half/10), sd)
	}
	if law := xOf(w.X); law != nil {
		w.add("# for gibbs-ss-prior, x ~ %s, as in x of the prior file", law.Kind)
	}
}

// digits writes a number with four digits.
func digits(v float64) string {
	short, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 4, 64), 64)
	if err != nil || math.IsInf(v, 0) || math.Abs(v) >= 1e15 || v != 0 && math.Abs(v) < 1e-4 {
		return strconv.FormatFloat(v, 'g', 4, 64)
	}
	return strconv.FormatFloat(short, 'f', -1, 64)
}

// meanDigits writes a mean to a thousandth of its sd, or closer.
func meanDigits(mean, sd float64) string {
	unit := math.Pow(10, math.Floor(math.Log10(sd))-3)
	rounded := math.Round(mean/unit) * unit
	if math.IsInf(rounded, 0) || math.IsNaN(rounded) {
		return strconv.FormatFloat(mean, 'g', -1, 64)
	}
	if rounded == 0 {
		return "0"
	}
	decimals := max(0, -int(math.Floor(math.Log10(unit))))
	if decimals > 12 || math.Abs(rounded) >= 1e15 {
		return strconv.FormatFloat(rounded, 'g', -1, 64)
	}
	text := strconv.FormatFloat(rounded, 'f', decimals, 64)
	if decimals > 0 {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}
