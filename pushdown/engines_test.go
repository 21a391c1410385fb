package pushdown_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/pushdown"
	"github.com/dpreg/dpreg/pushdown/pushdowntest"
)

const pums = "../testdata/pums.csv"

// through runs a command of an environment variable, with text on its standard input.
func through(t *testing.T, variable, text string, args ...string) (string, error) {
	t.Helper()
	words := append(strings.Fields(os.Getenv(variable)), args...)
	command := exec.Command(words[0], words[1:]...)
	command.Stdin = strings.NewReader(text)
	var out, wrong bytes.Buffer
	command.Stdout, command.Stderr = &out, &wrong
	if err := command.Run(); err != nil {
		t.Errorf("%s: %v\n%.2000s", variable, err, wrong.String())
		return "", err
	}
	return out.String(), nil
}

// TestDuckDB: DuckDB's sums are those of the files, to the bit. DPREG_DUCKDB is a command
// that runs the SQL on its standard input and writes the result in JSON: duckdb -json.
func TestDuckDB(t *testing.T) {
	if os.Getenv("DPREG_DUCKDB") == "" {
		t.Skip("DPREG_DUCKDB names no command: docs/databases.md has one")
	}
	duckdb := must.Get(pushdown.DialectOf("duckdb"))(t)
	for _, c := range pushdowntest.Cases(t, pums) {
		q := must.Get(pushdown.New(c.Design, c.Options))(t)
		statements := append(c.Create(`odd "t"`), q.SQL(duckdb, pushdown.Table{`odd "t"`}))
		out, err := through(t, "DPREG_DUCKDB", strings.Join(statements, ";\n")+";\n")
		if err != nil {
			continue
		}
		a := must.Get(pushdown.ReadAggregates(strings.NewReader(out), c.Name))(t)
		s, err := q.Statistics(a, "engine")
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
		} else if got, want := pushdowntest.Text(s), pushdowntest.Text(c.Want(t)); got != want {
			t.Errorf("%s: the sums differ\n got %.300s\nwant %.300s", c.Name, got, want)
		}
	}
}

// TestDialectsParse: a parser of the dialects takes the queries for one statement each, with
// the names and levels as they are. DPREG_SQL_PARSER is a command that does what
// testdata/parse.cjs does.
func TestDialectsParse(t *testing.T) {
	if os.Getenv("DPREG_SQL_PARSER") == "" {
		t.Skip("DPREG_SQL_PARSER names no command: docs/databases.md has one")
	}
	cases := pushdowntest.Cases(t, pums)
	odd := cases[len(cases)-1]
	q := must.Get(pushdown.New(odd.Design, odd.Options))(t)
	for _, name := range pushdown.Dialects() {
		d := must.Get(pushdown.DialectOf(name))(t)
		out, err := through(t, "DPREG_SQL_PARSER", q.SQL(d, pushdown.Table{"cata.log", "`t` \"u\""}), name)
		if err != nil {
			continue
		}
		var found struct{ Texts, Names []string }
		must.Do(t, json.Unmarshal([]byte(out), &found))
		contains := func(all []string, want ...string) {
			for _, text := range want {
				if !slices.Contains(all, text) {
					t.Errorf("%s: %q is not read as it is", name, text)
				}
			}
		}
		contains(found.Names, append([]string{"cata.log", "`t` \"u\""}, odd.Columns...)...)
		levels := odd.Design.Factors[0].Levels
		if name == "postgres" { // this parser leaves E'' as it is
			levels = slices.DeleteFunc(slices.Clone(levels), func(l string) bool { return strings.Contains(l, `\`) })
		}
		contains(found.Texts, append([]string{"", "NA", "true", "FALSE"}, levels...)...)
	}
}
