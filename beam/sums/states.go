package sums

import (
	"context"
	"slices"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"
)

// States are those of files, by which a change is seen.
type States []state

type state struct {
	size     int64
	modified time.Time // zero where the file system does not tell
}

// Same tells whether the files were the same.
func (s States) Same(other States) bool {
	return slices.EqualFunc(s, other, func(a, b state) bool { return a.size == b.size && a.modified.Equal(b.modified) })
}

// StatesOf looks at files.
func StatesOf(ctx context.Context, paths []string) (States, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	fs, err := filesystem.New(ctx, paths[0])
	if err != nil {
		return nil, err
	}
	defer fs.Close()
	var all States
	for _, path := range paths {
		var s state
		if s.size, err = fs.Size(ctx, path); err != nil {
			return nil, err
		}
		if dated, ok := fs.(filesystem.LastModifiedGetter); ok {
			if s.modified, err = dated.LastModified(ctx, path); err != nil {
				return nil, err
			}
		}
		all = append(all, s)
	}
	return all, nil
}
