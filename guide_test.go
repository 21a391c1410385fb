package dpreg_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
)

const guidePage = "docs/guide.md"

// typed is a command of the guide, or a file that it has the reader write.
type typed struct {
	line    int
	command string
	printed []string // what the guide shows of its output
	file    string   // the contents of people.schema.json
}

// guide reads what the guide has its reader do, in order: commands of console blocks with what they
// print, commands in the text that name a file, and JSON.
func guide(t *testing.T) (all []typed) {
	t.Helper()
	inline := regexp.MustCompile("`(dpreg [^`]*\\.(?:csv|json)[^`]*)`")
	language := "" // of the block
	for i, line := range strings.Split(read(t, guidePage), "\n") {
		last := func() *typed { return &all[len(all)-1] }
		switch fence, command := strings.CutPrefix(line, "```"); {
		case command && language == "":
			if language = fence; fence == "json" {
				all = append(all, typed{line: i + 1})
			}
		case command:
			language = ""
		case language == "console" && strings.HasPrefix(line, "$ "):
			all = append(all, typed{line: i + 1, command: line[2:]})
		case language == "console" && unfinished(last().command):
			last().command += "\n" + line
		case language == "console":
			last().printed = append(last().printed, line)
		case language == "json":
			last().file += line + "\n"
		case language == "":
			for _, m := range inline.FindAllStringSubmatch(line, -1) {
				all = append(all, typed{line: i + 1, command: m[1]})
			}
		}
	}
	return all
}

// unfinished tells whether a command goes on in the next line.
func unfinished(command string) bool {
	return strings.HasSuffix(command, "\\") || strings.HasPrefix(command, "for ") && !strings.HasSuffix(command, "done")
}

// smaller makes of commands some that simulate less.
var smaller = strings.NewReplacer("--trials 100", "--trials 4", "dpreg plan ", "dpreg plan --releases 2 ", "dpreg check ", "dpreg check --calibrate 2 ",
	"--pooling partial", "--pooling partial --warmup 200 --draws 100")

// until calls found when what is written to it has a text.
type until struct {
	text  string
	found func()
	all   strings.Builder
}

func (u *until) Write(b []byte) (int, error) {
	u.all.Write(b)
	if strings.Contains(u.all.String(), u.text) {
		u.found()
	}
	return len(b), nil
}

// Every command of the guide runs in a folder where nothing is but what the guide has put there and
// the data of the repository, and prints tables with the columns that the guide shows.
func TestGuideRuns(t *testing.T) {
	testsize.Full(t, "an hour of a reader, in half a minute")
	shell, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not here")
	}
	root := must.Get(os.Getwd())(t)
	home, dir := t.TempDir(), t.TempDir()
	must.Do(t, os.Mkdir(filepath.Join(home, "bin"), 0o755))
	must.Do(t, os.Symlink(must.Get(program())(t), filepath.Join(home, "bin", "dpreg")))
	for _, name := range []string{"testdata", "contrib"} {
		must.Do(t, os.Symlink(filepath.Join(root, name), filepath.Join(dir, name)))
	}
	environment := append(os.Environ(), "HOME="+home, "PATH="+filepath.Join(home, "bin")+":"+os.Getenv("PATH"), "PYTHONPATH=contrib")
	commands := 0
	for _, step := range guide(t) {
		switch {
		case step.file != "":
			must.Do(t, os.WriteFile(filepath.Join(dir, "people.schema.json"), []byte(step.file), 0o644))
			continue
		case strings.HasPrefix(step.command, "go build"): // built is that, with another name
			continue
		}
		commands++
		few := smaller.Replace(step.command)
		serves := strings.HasPrefix(few, "dpreg serve") // until it is interrupted
		ctx, stop := context.WithCancel(t.Context())
		run := exec.CommandContext(ctx, shell, "-euc", few)
		run.Dir = dir
		run.Env = environment
		if serves {
			run.Cancel = func() error { return run.Process.Signal(os.Interrupt) }
			seen := &until{text: "http://127.0.0.1:", found: stop}
			run.Stdout, run.Stderr = seen, seen
			giveUp := time.AfterFunc(time.Minute, stop)
			run.Run()
			if giveUp.Stop(); !strings.Contains(seen.all.String(), seen.text) {
				t.Errorf("%s:%d: %s says no address but\n%s", guidePage, step.line, step.command, seen.all.String())
			}
			continue
		}
		out, err := run.CombinedOutput()
		stop()
		var exit *exec.ExitError
		if err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 4) { // done, but a diagnostic failed, as chance may have it
			t.Fatalf("%s:%d: %s\n%v\n%s", guidePage, step.line, step.command, err, out)
		}
		if shown, _, _ := strings.Cut(strings.Join(step.printed, "\n"), "\n…"); strings.Contains(step.command, "dpreg ask testdata/") && !strings.HasPrefix(string(out), shown) {
			t.Errorf("%s:%d: %s prints\n%s", guidePage, step.line, step.command, out) // one release, one seed
		}
		words := strings.Join(strings.Fields(string(out)), " ")
		for _, line := range step.printed {
			if header := strings.Join(strings.Fields(line), " "); strings.Contains(header, "Est.Error") && !strings.Contains(words, header) {
				t.Errorf("%s:%d: %s prints no columns %s:\n%s", guidePage, step.line, step.command, header, out)
			}
		}
	}
	if commands < 15 {
		t.Errorf("%d commands were found in %s", commands, guidePage)
	}
	for _, l := range []struct{ language, program, flag, needs string }{
		{"r", "Rscript", "-e", `find.package(c("posterior", "jsonlite"))`},
		{"python", "python3", "-c", "import pandas, arviz"},
	} {
		t.Run(l.language, func(t *testing.T) {
			if err := exec.Command(l.program, l.flag, l.needs).Run(); err != nil {
				t.Skipf("%s %s: %v", l.program, l.needs, err)
			}
			block := regexp.MustCompile("(?s)```" + l.language + "\n(.*?)```").FindStringSubmatch(read(t, guidePage))
			code := strings.ReplaceAll(block[1], "\nbayesplot::", "\nif (requireNamespace('bayesplot', quietly = TRUE)) bayesplot::")
			run := exec.CommandContext(t.Context(), l.program, l.flag, code)
			run.Dir, run.Env = dir, environment
			out, err := run.CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
			if text := regexp.MustCompile("(?s)```text\n(1 educ .*?)```").FindStringSubmatch(read(t, guidePage)); l.language == "r" && !strings.Contains(string(out), text[1]) {
				t.Errorf("R prints no longer\n%s\nbut\n%s", text[1], out)
			}
		})
	}
}
