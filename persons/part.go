package persons

import (
	"slices"
	"sync"
)

// part is what is known of persons of whom the hash begins alike. By mean and weight it is sums, to which
// records are added as they come. Else it is records, as they came: they are added up, so that equal ones
// are one, only where memory is short.
type part struct {
	sync.Mutex
	sums    *sums
	records [][]int64
	spilled spill
}

// take gives a part records, and returns what may be used again: none, if the part keeps them.
func (g *Group) take(at int, records []int64) (free []int64) {
	g.change(&g.parts[at], func(p *part) error {
		switch {
		case g.rule.Kind != Rows:
			g.fold(p.sums, records)
			free = records[:0]
		case len(records) > 0:
			p.records = append(p.records, records)
		}
		return nil
	})
	return free
}

// fold adds records to sums by person.
func (g *Group) fold(t *sums, records []int64) {
	row, width := make([]int64, g.m), g.record()
	for len(records) > 0 {
		some := records[:min(ahead*width, len(records))]
		records = records[len(some):]
		for t.fetch(some, width); len(some) > 0; some = some[width:] {
			s := t.at(some[:2])
			if s[0] >= mostRows {
				continue
			}
			s[0]++
			values(some, row)
			for j, k := range row {
				s[1+j] += k
			}
			if g.rule.Kind == Weight {
				products(s[1+len(row):], row)
			}
		}
	}
}

// products adds those of a row's values.
func products(to, row []int64) {
	for j, a := range row {
		for _, b := range row[j:] {
			product := a * b
			to[0] += product >> 32
			to[1] += product & (1<<32 - 1)
			to = to[2:]
		}
	}
}

// put gives a part entries that were its own, or another group's, and may keep them.
func (g *Group) put(p *part, entries []int64) {
	if g.rule.Kind == Rows {
		p.records = append(p.records, entries)
		return
	}
	for e := range slices.Chunk(entries, p.sums.width()) {
		p.sums.to(e)
	}
}

// entries are all that it has, each a key and its values.
func (p *part) entries() [][]int64 { return append(p.records, p.sums.words) }

// memory is what it has, in words.
func (p *part) memory() int64 {
	words := p.sums.memory()
	for _, r := range p.records {
		words += cap(r)
	}
	return int64(words)
}

// merge adds up records, so that equal ones are one entry.
func (p *part) merge() error {
	for _, records := range p.records {
		for r := range slices.Chunk(records, p.sums.width()) {
			p.sums.to(r)
		}
	}
	p.records = nil
	return nil
}

// spill writes all that it has to the disk.
func (p *part) spill() error {
	if err := p.spilled.put(p.entries()); err != nil {
		return err
	}
	p.records, p.sums = nil, newSums(p.sums.key, p.sums.value)
	return nil
}

// bound keeps what parts have within the limit: equal records become one and, where that does not
// halve what there is, all goes to the disk.
func (g *Group) bound() error {
	limit := int64(Memory / 8)
	for _, shorten := range []func(*part) error{(*part).merge, (*part).spill} {
		if g.words.Load() <= limit {
			return nil
		}
		for i := range g.parts {
			if err := g.change(&g.parts[i], shorten); err != nil {
				return err
			}
		}
		limit = int64(Memory / 16)
	}
	return nil
}

// change lets do change a part, and counts what it has.
func (g *Group) change(p *part, do func(*part) error) error {
	p.Lock()
	defer p.Unlock()
	before := p.memory()
	err := do(p)
	g.words.Add(p.memory() - before)
	return err
}

// whole puts a part together, of what workers have yet and of what was spilled; it can be had once.
func (g *Group) whole(at int) (*part, error) {
	for _, w := range g.workers {
		g.take(at, w.waiting[at])
		w.waiting[at] = nil
	}
	p := &g.parts[at]
	whole := &part{sums: p.sums, records: p.records}
	p.sums, p.records = g.table(), nil
	return whole, p.spilled.take(whole.sums.width(), func(entries []int64) { g.put(whole, entries) })
}
