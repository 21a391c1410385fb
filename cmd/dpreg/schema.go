package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"
)

const schemaHelp = `Write a template for the public bounds of a table's columns.

The template is a Frictionless Table Schema with the names in the header and no
bounds. Fill in minimum and maximum of each column from public knowledge: a
codebook, what the instrument can read, the law. Not from the data: a bound that
was read off the rows tells of the person who holds the extreme value, and
differential privacy would be lost. Values outside the bounds are clamped, so
bounds need not be certain; narrow ones mean less noise.

A column of categories has levels in place of bounds, the baseline first, and one
of truth values needs neither:

  {"name": "colour", "type": "string", "constraints": {"enum": ["red", "green"]}},
  {"name": "owner", "type": "boolean"}

Delete the fields of columns that no model will use. The file is found by itself
where it stands beside the data: data.schema.json for data.csv.`

func newSchema() *cobra.Command {
	var place remoteFlags
	var output string
	cmd := &cobra.Command{
		Use:   "schema DATA.csv",
		Short: "Write a template for the public bounds of the columns",
		Long:  schemaHelp + "\n\n" + rowsHelp + " Or a table of a database, by --from and --table.",
		Example: `  dpreg schema pums.csv
  dpreg schema pums.csv -o pums.schema.json
  dpreg schema --from postgres://reader@db/clinic --table people -o people.schema.json`,
		Args: place.args,
		RunE: func(cmd *cobra.Command, args []string) error {
			var rows releaseFlags
			data, err := place.locate(cmd.Context(), cmd.ErrOrStderr(), &rows, args, output)
			if err != nil {
				return err
			}
			defer rows.close()
			return rows.writeTemplate(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), data, output)
		},
	}
	place.registerDatabase(cmd)
	cmd.Flags().StringVarP(&output, "output", "o", "", "write to this `FILE`, which must not exist yet, instead of stdout")
	return cmd
}

func (f *releaseFlags) writeTemplate(ctx context.Context, stdout, stderr io.Writer, data, output string) error {
	columns, err := f.header(data)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if output == "" {
		if err := columns.WriteTemplate(stdout); err != nil {
			return err
		}
		note(stderr, "fill in the bounds, from public knowledge, and save this as %s", cmp.Or(sidecar(data), "a file for --schema"))
		return nil
	}
	if err := checkNew(output); err != nil {
		return err
	}
	if err := writeFile(output, public, columns.WriteTemplate); err != nil {
		return err
	}
	note(stderr, "%s written: fill in the bounds, from public knowledge", output)
	return nil
}

// checkNew refuses a file that exists: bounds that somebody thought about are
// not to be lost.
func checkNew(path string) error {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return checkWritable(path)
	}
	return usagef("%s exists already: choose another name, or remove it first", path)
}
