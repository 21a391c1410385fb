//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dpreg/dpreg/internal/must"
)

// Where no engine is named the program opens no socket while it works: a job can be sent to
// nothing. What looks for sockets finds those of a job service.
func TestNothingListens(t *testing.T) {
	_, service := serve(t)
	if len(sockets(service.Pid)) == 0 {
		t.Fatal("a job service seems to have no socket")
	}
	folder := t.TempDir()
	s := generated(t, folder, 20_000)
	for i := range 40 { // so that there is work for a while
		for k, path := range s.paths {
			must.Do(t, os.Link(path, filepath.Join(folder, fmt.Sprintf("part-%d-%d.csv", i, k))))
		}
	}
	const line = "release --eps 1 --formula y~a+b --bounds a=-1:1 --bounds b=0:1 --bounds y=-3:3 --no-ledger -o r.json part-*.csv"
	cmd := exec.Command(os.Args[0], strings.Fields(line)...)
	cmd.Dir, cmd.Env = folder, append(os.Environ(), asProgram+"=1", "TMPDIR="+t.TempDir())
	must.Do(t, cmd.Start())
	ended := make(chan error)
	go func() { ended <- cmd.Wait() }()
	for looks, running := 0, true; running; looks++ {
		if found := sockets(cmd.Process.Pid); found != nil {
			t.Errorf("%s: it opened %v", line, found)
			cmd.Process.Kill()
		}
		select {
		case err := <-ended:
			if running = false; err != nil || looks < 10 {
				t.Errorf("%s: it ended with %v after %d looks", line, err, looks)
			}
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// sockets are those that a process has open.
func sockets(pid int) (found []string) {
	links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil && strings.HasPrefix(to, "socket:") {
			found = append(found, to)
		}
	}
	return found
}
