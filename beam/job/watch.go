package job

import (
	"context"
	"crypto/sha256"
	"time"

	jobpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/jobmanagement_v1"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/util/grpcx"
	"google.golang.org/protobuf/proto"
)

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

// cancel stops a job.
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
