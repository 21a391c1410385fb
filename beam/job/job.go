// Package job runs a pipeline on the engine that the flags of the Beam SDK name.
package job

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"
	jobpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/jobmanagement_v1"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/util/grpcx"
	"google.golang.org/protobuf/proto"
)

// Engine runs jobs. A job of this program can be run again: it reads rows or simulates
// trials, always with the same result, draws no noise and spends nothing.
type Engine struct {
	Runner   string // empty: Prism where there is an endpoint, and else Direct
	Attempts int    // times that a job is submitted before its failure is final, at least 1
	// Patience is how long worker processes of Prism may say nothing before a job has failed.
	Patience time.Duration
	// Say, if not nil, is told of failures that are not final, and of warnings.
	Say func(text string)
}

// The runners that this program knows by name.
const (
	Direct = "direct" // in this process, with no socket
	Prism  = "prism"  // Beam's own, a job service
)

// DefaultPatience is twice the longest time between two questions of Prism to a worker.
const DefaultPatience = time.Minute

// Environments of workers that this program knows by name (--environment_type).
const (
	loopback = "loopback" // in this process
	process  = "process"  // processes that the engine starts, of a program on its machines
)

// Settle chooses the runner and fills in the flags of the SDK that were left out. Where no
// engine is named all is done in this process, and nothing listens: an embedded Prism would,
// on all networks, and run what anybody sends. Prism's workers are processes that it starts,
// of this program: for workers in this one, this one would have to listen.
func (e *Engine) Settle() error {
	kind := jobopts.EnvironmentType
	if *jobopts.Endpoint == "" {
		e.Runner = cmp.Or(e.Runner, Direct)
		if e.Runner == Direct && *kind != "" || strings.HasPrefix(strings.ToLower(e.Runner), Prism) {
			return errors.New("name the job service of an engine by --endpoint, such as that of Apache Beam's own Prism; or leave out --runner and --environment_type, and all is done in this process")
		}
	} else if e.Runner = cmp.Or(e.Runner, Prism); e.Runner == Prism {
		*kind = cmp.Or(*kind, process)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	switch {
	case e.Runner == Direct:
		*kind = loopback
	case strings.EqualFold(*kind, process):
		if *jobopts.EnvironmentConfig == "" {
			config, err := json.Marshal(map[string]string{"command": self})
			if err != nil {
				return err
			}
			*jobopts.EnvironmentConfig = string(config)
		}
		if *jobopts.WorkerBinary == "" {
			*jobopts.WorkerBinary = os.DevNull // the command is there: nothing is to be sent
		}
	case !strings.EqualFold(*kind, loopback) && *jobopts.WorkerBinary == "":
		*jobopts.WorkerBinary = self
	}
	return nil
}

// Here tells whether workers are on this machine, so that its disk will do to meet them.
func Here() bool {
	return strings.EqualFold(*jobopts.EnvironmentType, loopback) || strings.EqualFold(*jobopts.EnvironmentType, process)
}

// Run runs a job until it succeeds, at most Attempts times. build makes its pipeline anew.
// Where ctx is done the job is cancelled, and the error is ctx's.
func (e Engine) Run(ctx context.Context, build func() *beam.Pipeline) error {
	for attempt := 1; ; attempt++ {
		err := e.once(ctx, attempt, build())
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
			return nil
		case attempt >= e.Attempts:
			return fmt.Errorf("the job failed: %s", brief(err))
		}
		e.say("the job failed (%s); it is run again, which changes nothing in its result", brief(err))
	}
}

func (e Engine) say(format string, args ...any) {
	if e.Say != nil {
		e.Say(fmt.Sprintf(format, args...))
	}
}

var errStuck = errors.New("no worker says anything any more: did it end, or does --environment_config name no program that is one?")

// once submits a job and waits for its end.
func (e Engine) once(ctx context.Context, attempt int, p *beam.Pipeline) error {
	name := fmt.Sprintf("dpreg-%d-%d", time.Now().UnixNano(), attempt)
	*jobopts.JobName = name
	watched, end := context.WithCancel(ctx)
	var watching sync.WaitGroup
	var stuck bool
	if e.Runner == Prism && strings.EqualFold(*jobopts.EnvironmentType, process) {
		watching.Go(func() { stuck = watch(watched, name, e.Patience) })
	}
	_, err := beam.Run(ctx, e.Runner, p)
	end()
	watching.Wait()
	if stuck {
		return errStuck
	}
	if ctx.Err() != nil && *jobopts.Endpoint != "" {
		if err := cancel(context.WithoutCancel(ctx), name); err != nil {
			e.say("the job %s could not be cancelled and may still run: %s", name, brief(err))
		}
	}
	return err
}

// brief is an error of the engine without its stack traces.
func brief(err error) string {
	const most = 300
	var lines []string
	for line := range strings.SplitSeq(err.Error(), "\n") {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "goroutine ") || strings.Contains(line, "Full error:") || strings.Contains(line, "stackTrace:") {
			break
		}
		lines = append(lines, line)
	}
	text := strings.ToValidUTF8(strings.Join(lines, " "), "")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + " …"
	}
	return text
}

// watch cancels a job of Prism whose workers have shown no sign for the time of patience,
// and tells so; it returns where ctx is done, at the latest. Prism waits for ever for a
// process that ended before it had connected, and now and then for one that ended later.
// It asks workers at least every 30 seconds how far they are, and their answers tell, among
// else, of time, so that they change.
func watch(ctx context.Context, name string, patience time.Duration) (stuck bool) {
	var last [sha256.Size]byte
	moved := time.Now()
	tick := time.NewTicker(patience / 20)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
		now, err := pulse(ctx, name)
		switch {
		case err != nil:
			moved = time.Now() // it is not there yet, or the launcher will see what is wrong
		case now != last:
			last, moved = now, time.Now()
		case time.Since(moved) > patience:
			return cancel(ctx, name) == nil
		}
	}
}

// pulse is a digest of what the workers of a job last said, in whatever order it comes.
func pulse(ctx context.Context, name string) (digest [sha256.Size]byte, err error) {
	err = ask(ctx, name, func(service jobpb.JobServiceClient, id string) error {
		said, err := service.GetJobMetrics(ctx, &jobpb.GetJobMetricsRequest{JobId: id})
		if err != nil {
			return err
		}
		for _, info := range said.GetMetrics().GetAttempted() {
			text, err := proto.MarshalOptions{Deterministic: true}.Marshal(info)
			if err != nil {
				return err
			}
			for i, b := range sha256.Sum256(text) {
				digest[i] ^= b
			}
		}
		return nil
	})
	return digest, err
}

func cancel(ctx context.Context, name string) error {
	return ask(ctx, name, func(service jobpb.JobServiceClient, id string) error {
		_, err := service.Cancel(ctx, &jobpb.CancelJobRequest{JobId: id})
		return err
	})
}

// ask asks the job service something about the job of a name, if it has it.
func ask(ctx context.Context, name string, do func(jobpb.JobServiceClient, string) error) error {
	const timeout = 10 * time.Second
	ctx, stop := context.WithTimeout(ctx, timeout)
	defer stop()
	conn, err := grpcx.Dial(ctx, *jobopts.Endpoint, timeout)
	if err != nil {
		return err
	}
	defer conn.Close()
	service := jobpb.NewJobServiceClient(conn)
	jobs, err := service.GetJobs(ctx, &jobpb.GetJobsRequest{})
	if err != nil {
		return err
	}
	for _, j := range jobs.GetJobInfo() {
		if j.GetJobName() == name {
			return do(service, j.GetJobId())
		}
	}
	return nil
}

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
