package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"io"
	"log/slog"
	"os"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/log"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/dpreg/dpreg/beam/job"
	"github.com/dpreg/dpreg/custody"
)

// engineFlags say where a job runs; the flags of Beam's SDK stand beside them.
type engineFlags struct {
	attempts     int
	staging, log string
}

func (f *engineFlags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.IntVar(&f.attempts, "attempts", 3, "submit a job that fails up to this `NUMBER` of times: runners that repeat the work of a worker that died need 1, Prism does not repeat it")
	fs.StringVar(&f.staging, "staging", "", "directory or bucket `URL` that launcher and workers reach, for exact sums until they are read; needed where workers are on other machines (default: one of this machine's temporary directories)")
	fs.StringVar(&f.log, "log", "", "`LEVEL` of what Beam says of itself on stderr: error, warn, info or debug (default: nothing)")
	sdk := pflag.NewFlagSet("", pflag.ContinueOnError)
	sdk.AddGoFlagSet(flag.CommandLine)
	sdk.VisitAll(func(flag *pflag.Flag) {
		flag.Hidden = !shown[flag.Name]
		if fs.Lookup(flag.Name) == nil {
			fs.AddFlag(flag)
		}
	})
}

// shown are the flags of the SDK in this program's help; it has about a hundred.
var shown = map[string]bool{"runner": true, "endpoint": true, "environment_type": true, "environment_config": true, "worker_binary": true}

// cluster is where the jobs of a release run.
type cluster struct {
	job.Engine
	parent    string // of the directories in which this process meets workers, one a job
	temporary string // for files of Beam, which leaves them
	stderr    io.Writer
}

// launch gives the cluster; its end is to be called when all is done.
func (f *engineFlags) launch(cmd *cobra.Command) (c *cluster, err error) {
	if f.attempts < 1 {
		return nil, custody.Misusef("--attempts %d: at least 1", f.attempts)
	}
	// Beam looks which of its flags were given, and tells the workers.
	cmd.Flags().Visit(func(given *pflag.Flag) {
		if flag.Lookup(given.Name) != nil {
			err = errors.Join(err, flag.Set(given.Name, given.Value.String()))
		}
	})
	if err != nil {
		return nil, custody.Misuse(err)
	}
	quiet()
	if f.log != "" {
		log.SetupLogging(f.log, "text")
	}
	c = &cluster{stderr: cmd.ErrOrStderr()}
	c.Engine = job.Engine{Runner: *runners.Runner, Attempts: f.attempts, Patience: job.DefaultPatience, Say: func(text string) { note(c.stderr, "%s", text) }}
	if err := c.Settle(); err != nil {
		return nil, custody.Misuse(err)
	}
	if f.staging == "" && !job.Here() {
		return nil, custody.Misusef("workers are on other machines: name a directory or a bucket that they and this process reach, by --staging gs://BUCKET/FOLDER or --staging /SHARED/FOLDER; exact sums will be there until they are read")
	}
	if c.temporary, err = os.MkdirTemp("", "dpreg-beam-"); err != nil {
		return nil, err
	}
	c.parent = cmp.Or(f.staging, c.temporary)
	return c, os.Setenv("TMPDIR", c.temporary)
}

// meet makes the directory of a job, and removes it when do is done.
func (c *cluster) meet(do func(job.Dir) error) error {
	dir, err := job.NewDir(c.parent)
	if err != nil {
		return custody.Misusef("--staging: %w", err)
	}
	err = do(dir)
	c.left(dir.Remove(context.Background()), string(dir))
	return err
}

func (c *cluster) end() { c.left(os.RemoveAll(c.temporary), c.temporary) }

// left says what could not be removed.
func (c *cluster) left(err error, path string) {
	if err != nil {
		note(c.stderr, "%s may hold exact sums, as sensitive as the rows, and could not be removed: %v", path, err)
	}
}

// quiet lets Beam say nothing, after it has set up itself.
func quiet() {
	if !beam.Initialized() {
		beam.Init()
	}
	slog.SetDefault(slog.New(slog.DiscardHandler))
}
