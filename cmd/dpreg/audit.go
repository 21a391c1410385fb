package main

import (
	"bufio"
	"context"
	cryptorand "crypto/rand"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dpreg/dpreg/calibration/audit"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/report"
	"github.com/dpreg/dpreg/ssp"
)

const auditHelp = `Attack dpreg's own releases: publish the two neighbouring data sets that are furthest
apart over and over, by the path of ` + "`dpreg release`" + ` and with the operating system's
randomness, and guess from each release which of the two it was. Who guesses better
than ε and δ allow has found a fault.

What is certified is a lower bound on ε, by exact binomial confidence: it is above the
true ε with a probability of 1e-5 at most, whatever the mechanism. How near to the
claim it comes depends on the columns: ` + "`--m 2`" + ` and a million releases make 95 %. Noise
is also held against its exact law. No data are read, and none are needed.
See docs/audit.md.

Exit code 1: a fault was found.`

// auditFlags are the flags of audit.
type auditFlags struct {
	releaseFlags
	m, releases, format string
}

func newAudit() *cobra.Command {
	var f auditFlags
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Attack releases, and certify how much privacy they lose at least",
		Long:  auditHelp,
		Example: `  dpreg audit --m 2,3,4 --eps 1 --releases 1e6
  dpreg audit --eps 1 --neighbours add-remove
  dpreg audit --eps 1 --delta 1e-6 --mechanism gaussian`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("audit takes no file: %q", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&f.m, "m", "2", "numbers of columns, the response among them, a `LIST` such as 2,3,4")
	fs.StringVar(&f.releases, "releases", "1e5", "`NUMBER` of releases of each of the two data sets")
	fs.StringVar(&f.epsilon, "eps", "1", "ε that is claimed, a `NUMBER` above 0")
	fs.StringVar(&f.delta, "delta", "", "δ that is claimed, a `NUMBER` (default: none, pure ε)")
	fs.StringVar(&f.mechanism, "mechanism", string(ssp.Auto), "`NAME` of the law of the noise: laplace, gaussian (needs --delta), or auto, the smaller one")
	fs.StringVar(&f.neighbours, "neighbours", string(release.ReplaceOne), "`NAME`: replace-one or add-remove")
	fs.StringVar(&f.format, "format", "table", "`NAME` of the format on stdout: table or json")
	oneOf(cmd, "mechanism", string(ssp.Auto), string(release.Laplace), string(release.Gaussian))
	oneOf(cmd, "neighbours", string(release.ReplaceOne), string(release.AddRemove))
	oneOf(cmd, "format", "table", "json")
	return cmd
}

func (f *auditFlags) run(ctx context.Context, stdout, stderr io.Writer) error {
	audits, err := f.audits()
	if err != nil {
		return err
	}
	var results []*audit.Result
	for _, a := range audits {
		r, err := runAudit(ctx, stderr, a)
		if err != nil {
			return err
		}
		results = append(results, r)
	}
	if err := f.print(stdout, results); err != nil {
		return err
	}
	var failures []string
	for _, r := range results {
		for _, failure := range r.Failures() {
			failures = append(failures, fmt.Sprintf("m = %d: %s", r.Columns, failure))
		}
	}
	if len(failures) > 0 {
		return fmt.Errorf("the audit found a fault: %s", strings.Join(failures, "; "))
	}
	return nil
}

// audits are what the flags ask for, one for each number of columns.
func (f *auditFlags) audits() ([]*audit.Audit, error) {
	if err := choose("format", f.format, []string{"table", "json"}); err != nil {
		return nil, err
	}
	privacy, err := f.privacy()
	if err != nil {
		return nil, err
	}
	ms, err := parseList("m", f.m, func(text string) (int64, error) { return parseWhole(text, audit.MaxColumns) })
	if err != nil {
		return nil, err
	}
	releases, err := parseWhole(f.releases, audit.MaxReleases)
	if err != nil {
		return nil, usagef("--releases %q: %w", f.releases, err)
	}
	var audits []*audit.Audit
	for _, m := range ms {
		a := &audit.Audit{Columns: int(m), Privacy: privacy, Noise: release.Kind(strings.ToLower(f.mechanism)), Releases: int(releases), Workers: runtime.GOMAXPROCS(0), Seed: freshSeed()}
		if err := a.Settle(); err != nil {
			return nil, usage(err)
		}
		audits = append(audits, a)
	}
	return audits, nil
}

// freshSeed is for the coins that choose a data set, which no releaser may know.
func freshSeed() uint64 {
	var b [8]byte
	if _, err := cryptorand.Read(b[:]); err != nil {
		panic(err) // crypto/rand ends the process itself
	}
	return binary.LittleEndian.Uint64(b[:])
}

func runAudit(ctx context.Context, stderr io.Writer, a *audit.Audit) (*audit.Result, error) {
	p := newStudyProgress(stderr, 0)
	defer p.finish()
	a.Progress = p.update
	return a.Run(ctx, a.Released())
}

func (f *auditFlags) print(stdout io.Writer, results []*audit.Result) error {
	out := bufio.NewWriter(stdout)
	var err error
	if f.format == "json" {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		err = encoder.Encode(struct {
			Format string          `json:"format"`
			Audits []*audit.Result `json:"audits"`
		}{"dpreg-audit/1", results})
	} else {
		err = report.Audit(out, results)
	}
	if err != nil {
		return err
	}
	return out.Flush()
}
