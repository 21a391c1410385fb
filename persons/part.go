package persons

import "sync"

// part is the rows of persons for whom the same number stands: records as they came, in memory and,
// where that is short, on the disk.
type part struct {
	sync.Mutex
	records [][]int64
	spilled spill
}

// partOf is that of a person, of whom this is the first number, below 2⁵².
func partOf(person int64) int { return int(person >> 46) }

// take gives a part records, which it keeps. Where all parts together have too many, all goes to the disk.
func (g *Group) take(at int, records []int64) error {
	if len(records) == 0 {
		return nil
	}
	p := &g.parts[at]
	p.Lock()
	p.records = append(p.records, records)
	p.Unlock()
	if g.words.Add(int64(cap(records))) <= int64(Memory/8) {
		return nil
	}
	for i := range g.parts {
		if err := g.spill(&g.parts[i]); err != nil {
			return err
		}
	}
	return nil
}

// spill writes what a part has in memory to the disk.
func (g *Group) spill(p *part) error {
	p.Lock()
	defer p.Unlock()
	for _, r := range p.records {
		g.words.Add(-int64(cap(r)))
	}
	records := p.records
	p.records = nil
	return p.spilled.put(records)
}

// whole is all that a part and workers have of its records; it can be had once.
func (g *Group) whole(at int) ([][]int64, error) {
	p := &g.parts[at]
	all := p.records
	p.records = nil
	for _, w := range g.workers {
		all = append(all, w.waiting[at])
		w.waiting[at] = nil
	}
	return all, p.spilled.take(g.width(), func(records []int64) { all = append(all, records) })
}
