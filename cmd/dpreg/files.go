package main

import (
	"io"
	"io/fs"

	"github.com/dpreg/dpreg/internal/files"
)

// Modes of files: what a release made known already, and what came from the rows
// without noise.
const (
	public  fs.FileMode = 0o644
	private fs.FileMode = 0o600
)

// checkWritable tells, before anything is read or spent, whether a file can be written.
func checkWritable(path string) error { return usage(files.CheckWritable(path)) }

// writeFile writes a file all or nothing.
func writeFile(path string, mode fs.FileMode, write func(io.Writer) error) error {
	return files.Write(path, mode, write)
}

// shellWord quotes a word for a POSIX shell where that is needed.
func shellWord(word string) string { return files.Quoted(word) }

// inputs are the files that a run reads or has paid for, none of which its
// results may overwrite.
type inputs []string

// spare refuses a path that names one of them, by whatever name.
func (in inputs) spare(path string) error {
	for _, name := range in {
		if name != "" && files.Same(path, name) {
			return usagef("%s would be overwritten: this run reads or makes it; choose another name or directory", name)
		}
	}
	return nil
}
