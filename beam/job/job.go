// Package job runs a pipeline on the engine that the flags of the Beam SDK name.
package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	jobpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/jobmanagement_v1"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/util/grpcx"
)

// Engine runs jobs. A job of this program can be run again: it reads rows or simulates
// trials, always with the same result, draws no noise and spends nothing.
type Engine struct {
	Runner   string
	Attempts int // times that a job is submitted before its failure is final, at least 1
	// Say, if not nil, is told of each failure that is not final.
	Say func(text string)
}

// Prism is the runner that is built in.
const Prism = "prism"

// Environments of workers that this program knows by name (--environment_type).
const (
	loopback = "loopback" // in this process
	process  = "process"  // processes that the engine starts, of a program on its machines
)

// Settle fills in the flags of the SDK that were left out: workers are in this process
// with Prism, and else, where they are processes of the engine, of this program.
func (e Engine) Settle() error {
	kind := jobopts.EnvironmentType
	if *kind == "" && e.Runner == Prism {
		*kind = loopback
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	switch {
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
		*jobopts.JobName = fmt.Sprintf("dpreg-%d-%d", time.Now().UnixNano(), attempt)
		_, err := beam.Run(ctx, e.Runner, build())
		switch {
		case ctx.Err() != nil:
			return errors.Join(ctx.Err(), cancel(context.WithoutCancel(ctx), *jobopts.JobName))
		case err == nil:
			return nil
		case attempt >= e.Attempts:
			return fmt.Errorf("the job failed: %s", brief(err))
		case e.Say != nil:
			e.Say(fmt.Sprintf("the job failed (%s); it is run again, which changes nothing in its result", brief(err)))
		}
	}
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

// cancel stops the job of a name, where there is a job service.
func cancel(ctx context.Context, name string) error {
	if *jobopts.Endpoint == "" {
		return nil
	}
	ctx, stop := context.WithTimeout(ctx, 10*time.Second)
	defer stop()
	conn, err := grpcx.Dial(ctx, *jobopts.Endpoint, 10*time.Second)
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
			_, err = service.Cancel(ctx, &jobpb.CancelJobRequest{JobId: j.GetJobId()})
		}
	}
	return err
}
