package calibration

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// Merge puts the shards of a study together: all trials in order of cell and trial, as
// one run without shards has them. Errors: journals of different studies, of different
// numbers of shards, a shard that is missing, given twice or not finished.
func Merge(s *Study, parts []*Recorded) ([]*Trial, error) {
	if len(parts) == 0 {
		return nil, errors.New("there is nothing to merge")
	}
	count, from := parts[0].Shard.Count, make(map[int]string)
	for _, r := range parts {
		if r.Study != s.Fingerprint() {
			return nil, fmt.Errorf("%s holds no trials of this study", r.Name)
		}
		if r.Shard.Count != count {
			return nil, fmt.Errorf("%s is shard %v and %s is shard %v: they do not fit together", r.Name, r.Shard, parts[0].Name, parts[0].Shard)
		}
		if other, twice := from[r.Shard.Index]; twice {
			return nil, fmt.Errorf("%s and %s are both shard %v", other, r.Name, r.Shard)
		}
		from[r.Shard.Index] = r.Name
	}
	for i := 1; i <= count; i++ {
		if from[i] == "" {
			return nil, fmt.Errorf("shard %d/%d is missing", i, count)
		}
	}
	var all []*Trial
	for _, r := range parts {
		if missing := s.missing(r); missing > 0 {
			return nil, fmt.Errorf("%s: %d of its trials are not finished: run its command again first", r.Name, missing)
		}
		all = append(all, r.Trials...)
	}
	slices.SortFunc(all, func(a, b *Trial) int { return cmp.Or(cmp.Compare(a.Cell, b.Cell), cmp.Compare(a.Trial, b.Trial)) })
	return all, nil
}

// missing counts the trials of a shard that its journal does not hold.
func (s *Study) missing(r *Recorded) int {
	n := 0
	for k := range len(s.Cells) * s.Trials {
		if r.Shard.has(k) {
			n++
		}
	}
	return n - len(r.Trials)
}
