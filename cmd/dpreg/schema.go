package main

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
)

func writeTemplate(f *flags, args []string) error {
	d := &dataset{flags: f}
	data, err := d.locate(args, f.output)
	if err != nil {
		return err
	}
	defer d.close()
	columns, err := d.header(data)
	if err != nil {
		return err
	}
	if err := f.ctx().Err(); err != nil {
		return err
	}
	if f.output == "" {
		if err := columns.WriteTemplate(f.stdout()); err != nil {
			return err
		}
		f.note("fill in the bounds, from public knowledge, and save this as %s", cmp.Or(sidecar(data), "a file for --schema"))
		return nil
	}
	if err := checkNew(f.output); err != nil {
		return err
	}
	if err := writeFile(f.output, public, columns.WriteTemplate); err != nil {
		return err
	}
	f.note("%s written: fill in the bounds, from public knowledge", f.output)
	return nil
}

// checkNew refuses a file that exists: bounds that somebody thought about are
// not to be lost.
func checkNew(path string) error {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return checkWritable(path)
	}
	return usagef("%s exists already: choose another name, or remove it first", path)
}
