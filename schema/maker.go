package schema

// Maker makes a design's columns of what rows hold.
type Maker struct {
	Columns []Column // of rows: those of the design that are no terms, then those that terms are made of
	Factors []Factor

	make []func(base []float64) float64
}

// Maker returns what makes some columns of a design that Validate accepts. clamp tells whether
// what terms are made of is clamped to its bounds first, as that of rows which are released is.
func (d *Design) Maker(columns []Column, clamp bool) (*Maker, error) {
	own := Design{Covariates: columns, Factors: d.Factors, Sources: d.Sources, Response: unbounded("")}
	own.prune()
	m := &Maker{Factors: own.Factors}
	place := make(map[string]int)
	add := func(c Column) {
		if _, there := place[c.Name]; !there {
			place[c.Name] = len(m.Columns)
			m.Columns = append(m.Columns, c)
		}
	}
	for _, c := range columns {
		if c.Term == nil {
			add(c)
		}
	}
	for _, s := range own.Sources {
		add(s)
	}
	for _, c := range columns {
		if c.Term == nil {
			at := place[c.Name]
			m.make = append(m.make, func(base []float64) float64 { return base[at] })
			continue
		}
		all, err := d.factors(c)
		if err != nil {
			return nil, err
		}
		for _, p := range all {
			if p.of == nil {
				add(Factor{Name: p.factor}.dummy(p.level))
			}
		}
		m.make = append(m.make, func(base []float64) float64 {
			product := 1.0
			for _, p := range all {
				if p.of == nil {
					product *= base[place[p.text]]
					continue
				}
				product *= value(p.of, func(name string) float64 {
					v, s := base[place[name]], d.sourced(name)
					if clamp {
						v = max(s.Lower, min(s.Upper, v))
					}
					return v
				}, d.sourced)
			}
			return product
		})
	}
	return m, nil
}

// Width is the number of columns that are made.
func (m *Maker) Width() int { return len(m.make) }

// Row makes the columns of a row; base is of m.Columns, and has another memory.
func (m *Maker) Row(dst, base []float64) {
	for j, f := range m.make {
		dst[j] = f(base)
	}
}

// Outside tells whether a value of a row lies outside its bounds.
func (m *Maker) Outside(base []float64) bool {
	for i, c := range m.Columns {
		if base[i] < c.Lower || base[i] > c.Upper {
			return true
		}
	}
	return false
}
