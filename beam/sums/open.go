package sums

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"

	"github.com/dpreg/dpreg/beam/job"
	"github.com/dpreg/dpreg/table"
)

// Find gives the paths of the files that a user names, which are those of table.Find, or
// those that fit a URL with a pattern, such as gs://bucket/rows/part-*.csv.gz.
func Find(ctx context.Context, data string) (paths []string, err error) {
	switch {
	case data == table.Stdin:
		return nil, errors.New("standard input cannot be read by several workers: dpreg release reads it")
	case job.Remote(data):
		return list(ctx, data)
	}
	s, err := table.Find(data)
	if err != nil {
		return nil, err
	}
	for _, f := range s.Files {
		path, err := filepath.Abs(f.Path)
		if err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

func list(ctx context.Context, pattern string) ([]string, error) {
	fs, err := filesystem.New(ctx, pattern)
	if err != nil {
		return nil, err
	}
	defer fs.Close()
	paths, err := fs.List(ctx, pattern)
	if err == nil && len(paths) == 0 {
		err = errors.New(pattern + ": there is no such file, and none that this pattern fits")
	}
	slices.Sort(paths)
	return paths, err
}

// Header reads the names of the columns of a file, of which some may be known (table.Header).
func Header(ctx context.Context, path string, known ...string) ([]string, error) {
	s, remove, err := open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer remove()
	return s.Header(known...)
}

// open gives the rows of a file. One that is not on a disk is copied to one first, for the
// user's eyes alone, until remove is called.
func open(ctx context.Context, path string) (s *table.Source, remove func(), err error) {
	remove = func() {}
	if job.Remote(path) {
		folder, err := os.MkdirTemp("", "dpreg-rows-")
		if err != nil {
			return nil, nil, err
		}
		remove = func() { os.RemoveAll(folder) }
		copied := filepath.Join(folder, filepath.Base(path))
		if err := fetch(ctx, path, copied); err != nil {
			remove()
			return nil, nil, err
		}
		path = copied
	}
	if s, err = table.Find(path); err != nil {
		remove()
		return nil, nil, err
	}
	return s, remove, nil
}

func fetch(ctx context.Context, from, to string) error {
	fs, err := filesystem.New(ctx, from)
	if err != nil {
		return err
	}
	defer fs.Close()
	in, err := fs.OpenRead(ctx, from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// States gives of each file what changes when it does: its size, and when it was modified,
// where the file system tells.
func States(ctx context.Context, paths []string) (states []string, err error) {
	fs, err := filesystem.New(ctx, paths[0])
	if err != nil {
		return nil, err
	}
	defer fs.Close()
	for _, path := range paths {
		size, err := fs.Size(ctx, path)
		if err != nil {
			return nil, err
		}
		state := fmt.Sprint(size)
		if dated, ok := fs.(filesystem.LastModifiedGetter); ok {
			modified, err := dated.LastModified(ctx, path)
			if err != nil {
				return nil, err
			}
			state += modified.UTC().String()
		}
		states = append(states, state)
	}
	return states, nil
}
