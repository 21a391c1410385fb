package main

import (
	"context"
	"errors"
	"flag"
	"os"
	"strings"

	"github.com/apache/beam/sdks/v2/go/container/tools"
	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/util/grpcx"
)

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
