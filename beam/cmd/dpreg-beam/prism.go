package main

import (
	"github.com/apache/beam/sdks/v2/go/pkg/beam/log"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"
	"github.com/spf13/cobra"
)

const prismHelp = `Serve jobs by Beam's runner Prism until interrupted, as Beam's own command prism does.

Whoever reaches the port can have commands run as you, and Prism listens on all
of the machine's networks: keep it behind a firewall.`

func newPrism() *cobra.Command {
	var port int
	var level string
	cmd := &cobra.Command{
		Use:   "prism --port NUMBER",
		Short: "Serve jobs by Beam's runner Prism",
		Long:  prismHelp,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log.SetupLogging(level, "text")
			if _, err := prism.CreateJobServer(cmd.Context(), prism.Options{Port: port}); err != nil {
				return err
			}
			<-cmd.Context().Done()
			return nil
		},
	}
	cmd.Flags().IntVar(&port, "port", 8073, "`NUMBER` of the port")
	cmd.Flags().StringVar(&level, "log", "error", "`LEVEL` of what Prism says on stderr: error, warn, info or debug")
	return cmd
}
