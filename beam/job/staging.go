package job

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"
)

// Dir is the way of a job's results from its workers to the process that launched it: a
// directory that both can reach, a path, or a URL of a file system that the program
// knows, such as gs://bucket/dpreg. What is in it may be as sensitive as the rows.
type Dir string

// NewDir makes a directory within parent, for the user's own eyes: on a disk with mode 0700,
// in a bucket as the bucket has it. It has a name that nobody can guess.
func NewDir(parent string) (Dir, error) {
	d := Dir(strings.TrimSuffix(parent, "/") + "/dpreg-" + rand.Text())
	if Remote(string(d)) {
		return d, nil
	}
	path, err := filepath.Abs(string(d))
	if err != nil {
		return "", err
	}
	return Dir(path), os.Mkdir(path, 0o700)
}

// Remote tells whether a path is a URL.
func Remote(path string) bool { return strings.Contains(path, "://") }

// Write writes a file, with its SHA-256 behind it, under a name of its own: what
// a worker writes that is thought dead harms nobody's file. On a disk the file is for the
// user alone, and is not written where the directory is gone.
func (d Dir) Write(ctx context.Context, content []byte) error {
	sum := sha256.Sum256(content)
	content = slices.Concat(content, sum[:])
	path := string(d) + "/sums-" + rand.Text()
	if !Remote(path) {
		return os.WriteFile(path, content, 0o600)
	}
	fs, err := filesystem.New(ctx, path)
	if err != nil {
		return err
	}
	defer fs.Close()
	return filesystem.Write(ctx, fs, path, content)
}

// Read gives the files that are whole.
func (d Dir) Read(ctx context.Context) ([][]byte, error) {
	fs, err := filesystem.New(ctx, string(d))
	if err != nil {
		return nil, err
	}
	defer fs.Close()
	paths, err := fs.List(ctx, string(d)+"/sums-*")
	if err != nil {
		return nil, err
	}
	var all [][]byte
	for _, path := range paths {
		content, err := filesystem.Read(ctx, fs, path)
		if err != nil {
			return nil, err
		}
		end := len(content) - sha256.Size
		if end < 0 {
			continue
		}
		if sum := sha256.Sum256(content[:end]); bytes.Equal(sum[:], content[end:]) {
			all = append(all, content[:end])
		}
	}
	return all, nil
}

// Remove removes the directory with all that is in it.
func (d Dir) Remove(ctx context.Context) error {
	if !Remote(string(d)) {
		return os.RemoveAll(string(d))
	}
	fs, err := filesystem.New(ctx, string(d))
	if err != nil {
		return err
	}
	defer fs.Close()
	remover, ok := fs.(filesystem.Remover)
	if !ok {
		return fmt.Errorf("files cannot be removed from %s by this program: remove them by hand", d)
	}
	paths, err := fs.List(ctx, string(d)+"/*")
	for _, path := range paths {
		err = errors.Join(err, remover.Remove(ctx, path))
	}
	return err
}
