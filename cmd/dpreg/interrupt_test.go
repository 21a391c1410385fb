package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
)

const started = "started"

// TestProcess is no test but dpreg as a process of the next one.
func TestProcess(t *testing.T) {
	args := os.Getenv("DPREG_TEST_ARGS")
	if args == "" {
		t.Skip("a process of another test")
	}
	ctx := custody.UntilInterrupted()
	fmt.Println(started)
	os.Exit(run(ctx, os.Stdout, os.Stderr, strings.Fields(args)))
}

// Ctrl-C, once or twice, ends a run with code 130 and leaves nothing but what is complete. In
// short each command gets one of the two.
func TestInterrupted(t *testing.T) {
	program := must.Get(os.Executable())(t)
	const model = " pums.csv --eps 1 --formula married~educ "
	for i, args := range []string{
		"release - --eps 1 --schema pums.schema.json -o r.json", // waits for standard input
		"fit --draws 1000000" + model + "--release r.json",
		"infer --draws 1000000 --save draws pums.release.json",
		"predict --ess 1000000 -o predicted.csv pums.release.json pums.csv",
		"plan --p 3 --eps 1 --n 1000",
		"calibrate --n 200 --eps 0.5 --trials 10000",
		"compare --i-hold-the-data --trials 1000" + model,
		"vi --delta 1e-6 --model logistic --steps 20000 --save draws" + model,
	}[:testsize.Of(4, 8)] {
		for times, after := range map[int]time.Duration{1: 120 * time.Millisecond, 2: 30 * time.Millisecond} {
			if testing.Short() && times != 1+i%2 {
				continue
			}
			t.Run(args, func(t *testing.T) {
				workspace(t)
				if strings.Contains(args, "pums.release.json") {
					command("release", "pums.csv", "--eps", "1").ends(t, done)
				}
				before := tree(t)
				c := exec.Command(program, "-test.run=^TestProcess$")
				c.Env = append(os.Environ(), "DPREG_TEST_ARGS="+args)
				in, _ := c.StdinPipe()
				defer in.Close()
				out, _ := c.StdoutPipe()
				must.Do(t, c.Start())
				text := bufio.NewReader(out)
				if line, err := text.ReadString('\n'); line != started+"\n" {
					t.Fatalf("%q, %v", line, err)
				}
				time.Sleep(after)
				for range times {
					c.Process.Signal(syscall.SIGINT)
				}
				rest, _ := io.ReadAll(text)
				if c.Wait(); c.ProcessState.ExitCode() != interrupted || len(rest) != 0 {
					t.Errorf("%v, and it wrote %q", c.ProcessState, rest)
				}
				if r := command("show", "r.json"); r.code == done { // it is complete, and a second run uses it
					os.Remove("r.json")
				}
				if _, had := before["pums.ledger.db"]; !had { // what was charged stays
					os.Remove("pums.ledger.db")
				}
				unchanged(t, before)
			})
		}
	}
}
