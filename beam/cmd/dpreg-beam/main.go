// Command dpreg-beam does what dpreg does where one machine is not enough: it is a launcher
// of Apache Beam jobs, and their worker. Rows are summed by an engine; noise is drawn here,
// once, when the engine is done. Results go to stdout, everything else
// to stderr.
package main

import (
	"context"
	"fmt"
	"io"
	"os"

	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/gcs"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/local"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/dataflow"
	//lint:ignore SA1019 Prism, which it is deprecated for, listens on all networks
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/direct"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/flink"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/spark"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/universal"
	"github.com/spf13/cobra"

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

// note writes one message to stderr.
func note(stderr io.Writer, format string, args ...any) {
	fmt.Fprintln(stderr, "dpreg-beam: "+fmt.Sprintf(format, args...))
}
