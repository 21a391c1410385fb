// Package files writes files all or nothing, and knows beforehand whether it can.
package files

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// CheckWritable tells, before anything is read or spent, whether a file can be
// written: as all files here are, beside it and renamed.
func CheckWritable(path string) error {
	target, err := Resolve(path)
	var f *os.File
	if err == nil {
		f, err = createBeside(target, passing)
	}
	if err != nil {
		return fmt.Errorf("cannot write to %s: %w", path, Plain(err))
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// Resolve follows a link to the file that is to be written, which is regular or not there.
// A link that leads nowhere is refused: there may be a file on a disk that is not mounted.
func Resolve(path string) (string, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		if link, err := os.Lstat(path); err == nil && link.Mode()&fs.ModeSymlink != 0 {
			return "", errors.New("it is a link to a file that is not there, perhaps on a disk that is not mounted: mount it, or remove the link")
		}
		return path, nil
	}
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", errors.New("it is not a regular file")
	}
	return filepath.EvalSymlinks(path)
}

// What the name of a file has that will be renamed, before a number: nothing where it must
// not be forgotten.
const (
	counted = ""
	passing = "new-"
)

// temporary is what stands around the number.
func temporary(target, mark string) (before, after string) {
	return "." + filepath.Base(target) + "." + mark, ".tmp"
}

// createBeside creates the file that will be renamed to target.
func createBeside(target, mark string) (*os.File, error) {
	before, after := temporary(target, mark)
	return os.CreateTemp(filepath.Dir(target), before+"*"+after)
}

// Write writes a file all or nothing: beside the target, synced, and renamed over it, so
// that a crash leaves the old file or the new one, and a failure leaves nothing behind. A
// target that exists and is not a regular file is refused. Errors name the file.
func Write(path string, mode fs.FileMode, write func(io.Writer) error) error {
	return place(path, passing, mode, os.Rename, write)
}

// Place is Write of a file of which Leftovers finds what a process that was killed began.
// move puts it there: os.Rename, or MoveNew.
func Place(path string, mode fs.FileMode, move func(from, to string) error, write func(io.Writer) error) error {
	return place(path, counted, mode, move, write)
}

func place(path, mark string, mode fs.FileMode, move func(from, to string) error, write func(io.Writer) error) error {
	target, err := Resolve(path)
	if err == nil {
		var f *os.File
		if f, err = createBeside(target, mark); err == nil {
			if err = fill(f, mode, write); err == nil {
				err = move(f.Name(), target)
			}
			if err != nil {
				os.Remove(f.Name())
			}
		}
	}
	if err != nil {
		return fmt.Errorf("cannot write to %s: %w", path, Plain(err))
	}
	return settle(path, target)
}

// settle makes a file's name safe from a crash: target is where a path leads.
func settle(path, target string) error {
	if err := SyncDir(filepath.Dir(target)); err != nil {
		return fmt.Errorf("%s: written, but a crash may still undo it: %w", path, err)
	}
	return nil
}

// PlaceDir makes a folder, which must not exist, all or nothing: fill writes into one beside it, of which Leftovers
// finds what a process that was killed left. Of several at once one succeeds; the others wrap fs.ErrExist.
func PlaceDir(path string, fill func(dir string) error) error {
	before, after := temporary(path, counted)
	dir, err := os.MkdirTemp(filepath.Dir(path), before+"*"+after)
	if err == nil {
		if err = fill(dir); err == nil {
			err = errors.Join(os.Chmod(dir, 0o755), SyncDir(dir))
		}
		if err == nil {
			err = os.Rename(dir, path)
		}
		if err != nil {
			os.RemoveAll(dir)
		}
	}
	if err != nil {
		return fmt.Errorf("cannot write to %s: %w", path, Plain(err))
	}
	return settle(path, path)
}

// fill writes a file, with its final mode, on to the disk.
func fill(f *os.File, mode fs.FileMode, write func(io.Writer) error) error {
	out := bufio.NewWriter(f)
	err := write(out)
	if err == nil {
		err = out.Flush()
	}
	if err == nil {
		err = f.Chmod(mode)
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// WriteNew writes text, and a line's end, to a file that must not exist.
func WriteNew(path string, mode fs.FileMode, text []byte) error {
	return Place(path, mode, MoveNew, Text(append(text, '\n')))
}

// Text is what writes a text.
func Text(text []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	}
}

// WriteKey writes a secret key, for its owner alone, and what is public of it. Neither is overwritten,
// and no secret one stays alone.
func WriteKey(path string, secret []byte, public string, open []byte) error {
	for _, p := range []string{path, public} {
		if _, err := os.Lstat(p); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s exists: a key is never overwritten", p)
		}
	}
	if err := WriteNew(path, 0o600, secret); err != nil {
		return err
	}
	err := WriteNew(public, 0o644, open)
	if _, there := os.Lstat(public); errors.Is(there, fs.ErrNotExist) {
		os.Remove(path)
	}
	return err
}

// CheckSecret refuses the file of a secret key that its group or others may read or write. Windows has
// no such modes.
func CheckSecret(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 && runtime.GOOS != "windows" {
		return fmt.Errorf("%s: others than its owner may use this secret key (mode %04o): if none has, chmod 600 %s", path, mode, Quoted(path))
	}
	return nil
}

// SyncDir makes the renaming itself durable. Windows cannot sync a directory.
func SyncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// MoveNew renames from to to, which must not exist: unlike renaming, linking
// never replaces a file. Of several at once one succeeds; the others wrap fs.ErrExist.
func MoveNew(from, to string) error {
	err := os.Link(from, to)
	if err == nil {
		os.Remove(from) // only a second name of the same file
		return nil
	}
	if errors.Is(err, fs.ErrExist) {
		return err
	}
	return ClaimNew(from, to)
}

// ClaimNew is MoveNew where the file system has no hard links (FAT, some network
// disks): an empty file claims the name, and it is the claim that is replaced.
func ClaimNew(from, to string) error {
	claim, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(claim.Close(), os.Rename(from, to)); err != nil {
		os.Remove(to)
		return err
	}
	return nil
}

// Leftovers lists what Place left beside a file because its process was killed, or writes
// at this moment.
func Leftovers(path string) ([]string, error) {
	target, err := Resolve(path)
	if err != nil {
		return nil, err
	}
	dir := filepath.Dir(target)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	before, after := temporary(target, counted)
	var left []string
	for _, e := range entries {
		unique, ok := strings.CutPrefix(e.Name(), before)
		unique, suffixed := strings.CutSuffix(unique, after)
		if ok && suffixed && strings.Trim(unique, "0123456789") == "" {
			left = append(left, filepath.Join(dir, e.Name()))
		}
	}
	return left, nil
}

// Plain takes the temporary file's name, which means nothing to a user, out of an error.
func Plain(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	var l *os.LinkError
	if errors.As(err, &l) {
		return l.Err
	}
	return err
}

// Same reports whether two paths lead to one file, which need not exist yet.
func Same(a, b string) bool {
	x, errA := os.Stat(a)
	y, errB := os.Stat(b)
	if errA == nil && errB == nil {
		return os.SameFile(x, y)
	}
	if filepath.Base(a) != filepath.Base(b) {
		return false
	}
	x, errA = os.Stat(filepath.Dir(a))
	y, errB = os.Stat(filepath.Dir(b))
	return errA == nil && errB == nil && os.SameFile(x, y)
}

// MakeDir makes a directory of files of a mode, unless it is there.
func MakeDir(dir string, mode fs.FileMode) error {
	if err := os.Mkdir(dir, mode|mode&0o444>>2); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// Line is a command line of a POSIX shell.
func Line(words ...string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = Quoted(word)
	}
	return strings.Join(quoted, " ")
}

// Quoted quotes a word for a POSIX shell where that is needed.
func Quoted(word string) string {
	const harmless = "_./:=-,+%@"
	special := func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(harmless, r))
	}
	if word != "" && strings.IndexFunc(word, special) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
