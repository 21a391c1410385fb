// Command dpreg-beam does what dpreg does where one machine is not enough: it is a launcher
// of Apache Beam jobs, and their worker. Rows are summed by an engine; noise is drawn here,
// once, when the engine is done. Results go to stdout, everything else
// to stderr.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/apache/beam/sdks/v2/go/container/tools"
	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/gcs"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/local"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/log"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/dataflow"

	//lint:ignore SA1019 Prism, which it is deprecated for, listens on all networks
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/direct"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/flink"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/spark"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/universal"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/util/grpcx"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/dpreg/dpreg/beam/job"
	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/pushdown"
)

func main() {
	if args := os.Args[1:]; isWorker(args) { // an engine ends its workers
		os.Exit(custody.Exit(context.Background(), os.Stderr, "dpreg-beam", work(context.Background(), args)))
	}
	os.Exit(run(custody.UntilInterrupted(), os.Stdout, os.Stderr, os.Args[1:]))
}

const rootHelp = `dpreg-beam runs dpreg's large jobs on Apache Beam.

  release    rows in many files -> one release: spends ε, once

Without flags of an engine all runs in this process, which opens no port. Engines
are named as in any program of Beam's Go SDK: --runner, --endpoint,
--environment_type and so on (docs/beam.md).

Exit codes: 0 done; 1 failed; 2 wrong usage or input; 3 refused for privacy;
130 interrupted.`

// run is the launcher but for the process: it returns the exit code.
func run(ctx context.Context, stdout, stderr io.Writer, args []string) int {
	stderr = pushdown.Hide(stderr, pushdown.Secrets(args...))
	root := &cobra.Command{Use: "dpreg-beam", Short: "Large jobs of dpreg, on Apache Beam", Long: rootHelp, SilenceErrors: true, SilenceUsage: true}
	root.AddCommand(newRelease())
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return custody.Misusef("%w (`%s --help` lists the flags)", err, cmd.CommandPath())
	})
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	return custody.Exit(ctx, stderr, "dpreg-beam", root.ExecuteContext(ctx))
}

func note(stderr io.Writer, format string, args ...any) {
	fmt.Fprintln(stderr, "dpreg-beam: "+fmt.Sprintf(format, args...))
}

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

// isWorker tells whether the arguments of the program are those with which engines start
// a worker: as a command of --environment_type=PROCESS, by Beam's container contract
// (https://s.apache.org/beam-fn-api-container-contract), or as the staged binary of a
// container, by its boot program.
func isWorker(args []string) bool {
	for _, arg := range args {
		if name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "="); name == "provision_endpoint" || name == "worker" {
			return strings.HasPrefix(arg, "-")
		}
	}
	return false
}

// work works until the engine is done. It returns where it cannot begin.
func work(ctx context.Context, args []string) error {
	contract := flag.NewFlagSet("worker", flag.ContinueOnError)
	contract.Usage = func() {}
	id := contract.String("id", "", "")
	endpoint := contract.String("provision_endpoint", "", "")
	if contract.Parse(args) == nil && *endpoint != "" {
		var err error
		if args, err = provisioned(ctx, *id, *endpoint); err != nil {
			return err
		}
	}
	if err := flag.CommandLine.Parse(args); err != nil {
		return err
	}
	beam.Init() // begins to work, and does not return
	return errors.New("this is no way to start a worker")
}

// provisioned asks the engine for what its containers' boot program would hand on.
//
// Prism starts the command with --id='job-001_go', quotation marks and all, since no shell
// takes them off. A worker that says who it is by what it was told is then refused, and
// ends, and Prism waits for it for ever. So they are taken off here.
func provisioned(ctx context.Context, id, endpoint string) ([]string, error) {
	id = strings.Trim(id, "'")
	info, err := tools.ProvisionInfo(grpcx.WriteWorkerID(ctx, id), endpoint)
	if err != nil {
		return nil, err
	}
	options, err := tools.ProtoToJSON(info.GetPipelineOptions())
	if err != nil {
		return nil, err
	}
	if status := info.GetStatusEndpoint().GetUrl(); status != "" {
		os.Setenv("STATUS_ENDPOINT", status)
	}
	if can := info.GetRunnerCapabilities(); len(can) > 0 {
		os.Setenv("RUNNER_CAPABILITIES", strings.Join(can, " "))
	}
	return []string{
		"--worker",
		"--id=" + id,
		"--logging_endpoint=" + info.GetLoggingEndpoint().GetUrl(),
		"--control_endpoint=" + info.GetControlEndpoint().GetUrl(),
		"--options=" + options,
	}, nil
}
