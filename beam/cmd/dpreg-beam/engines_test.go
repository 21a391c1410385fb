//go:build unix

package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/log"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"

	"github.com/dpreg/dpreg/beam/job"
	"github.com/dpreg/dpreg/internal/must"
)

// asProgram makes the test binary the program: as the launcher, the job service and the
// workers that this starts.
const asProgram = "DPREG_BEAM_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	switch {
	case os.Getenv(asProgram) == "":
	case os.Args[1] == "prism":
		log.SetupLogging("error", "text")
		port, _ := strconv.Atoi(os.Args[2])
		if _, err := prism.CreateJobServer(context.Background(), prism.Options{Port: port}); err != nil {
			panic(err)
		}
		select {}
	default:
		main()
	}
	quiet()
	os.Exit(m.Run())
}

// serve starts a job service, which is gone with all its workers when the test ends.
func serve(t *testing.T) (endpoint string, process *os.Process) {
	t.Helper()
	free := must.Get(net.Listen("tcp", "localhost:0"))(t)
	endpoint = free.Addr().String()
	free.Close()
	_, port, _ := net.SplitHostPort(endpoint)
	cmd := exec.Command(os.Args[0], "prism", port)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	must.Do(t, cmd.Start())
	t.Cleanup(func() {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		cmd.Wait()
	})
	for deadline := time.Now().Add(time.Minute); ; {
		conn, err := net.Dial("tcp", endpoint)
		if err == nil {
			conn.Close()
			return endpoint, cmd.Process
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// engine is a way to run jobs.
type engine struct {
	name, environment string
	endpoint          string // empty: in this process
	service           *os.Process
}

// inProcess is what there is where no engine is named.
var inProcess = engine{name: "in process"}

// engines are all that are tested.
func engines(t *testing.T) []engine {
	endpoint, service := serve(t)
	return []engine{
		inProcess,
		{"loopback", "LOOPBACK", endpoint, service},
		{"processes", "PROCESS", endpoint, service},
	}
}

// start sets the flags of Beam as the command line does, and gives the engine and the place
// to meet its workers.
func (e engine) start(t *testing.T) (*spoken, job.Engine, job.Dir) {
	t.Helper()
	*jobopts.Endpoint, *jobopts.EnvironmentType, *jobopts.EnvironmentConfig, *jobopts.WorkerBinary = e.endpoint, e.environment, "", ""
	s := &spoken{}
	j := job.Engine{Attempts: 5, Patience: 15 * time.Second, Say: s.say}
	must.Do(t, j.Settle())
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv(asProgram, "1") // for workers
	dir := must.Get(job.NewDir(t.TempDir()))(t)
	t.Cleanup(func() { dir.Remove(context.Background()) })
	return s, j, dir
}

// spoken is what an engine said.
type spoken struct {
	mu   sync.Mutex
	text []string
}

func (s *spoken) say(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text = append(s.text, text)
}

// killWorker kills, with no chance to say anything, the first worker of the job service
// that has worked for a fifth of a second, and tells when it is done.
func (e engine) killWorker(t *testing.T) (killed <-chan struct{}) {
	done := make(chan struct{})
	ctx := t.Context()
	go func() {
		for ctx.Err() == nil {
			for _, pid := range children(e.service.Pid) {
				if ticks(pid) > 20 {
					syscall.Kill(pid, syscall.SIGKILL)
					close(done)
					return
				}
			}
			time.Sleep(time.Millisecond)
		}
	}()
	return done
}

// children are those of a process that is alive, by Linux's /proc.
func children(parent int) (pids []int) {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", parent))
	for _, list := range lists {
		text, _ := os.ReadFile(list)
		for word := range strings.FieldsSeq(string(text)) {
			if pid, err := strconv.Atoi(word); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	slices.Sort(pids)
	return pids
}

// ticks are those of processor time that a process and its children that ended have used,
// each a hundredth of a second.
func ticks(pid int) (sum int) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 15 {
		return 0
	}
	for _, field := range fields[11:15] {
		n, _ := strconv.Atoi(field)
		sum += n
	}
	return sum
}
