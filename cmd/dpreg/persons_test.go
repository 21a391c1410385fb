package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/parquet-go/parquet-go"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/release"
)

// visit is a row of a person in a Parquet file.
type visit struct {
	Age     int32   `parquet:"age"`
	Patient int64   `parquet:"patient"`
	Income  float64 `parquet:"income"`
	Sex     *string `parquet:"sex,optional,dict"`
}

// visits writes rows of 150 patients in several forms.
func visits(t *testing.T) {
	t.Helper()
	rng := rand.New(rand.NewPCG(51, 52))
	var rows []visit
	var lines []string
	for i := range 150 {
		for range 1 + rng.IntN(1+i%9) {
			v := visit{Age: int32(20 + rng.IntN(60)), Patient: int64(1000 + 7*i), Income: float64(rng.IntN(90000)) / 2}
			text := ""
			if rng.IntN(5) > 0 {
				text = []string{"f", "m"}[i%2]
				v.Sex = &text
			}
			rows = append(rows, v)
			lines = append(lines, fmt.Sprintf("%d,%d,%v,%s\n", v.Age, v.Patient, v.Income, text))
		}
	}
	const header = "age,patient,income,sex\n"
	write(t, "visits.csv", header+strings.Join(lines, ""))
	rng.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	must.Do(t, os.Mkdir("shuffled", 0o700))
	write(t, "shuffled/1.csv", header+strings.Join(lines[:200], ""))
	write(t, "shuffled/2.csv", header+strings.Join(lines[200:], ""))
	write(t, "quoted.csv", header+regexp.MustCompile(`(?m)^(\d+),(\d+),`).ReplaceAllString(strings.Join(lines, ""), `$1,"$2",`))
	write(t, "spaced.csv", header+regexp.MustCompile(`(?m)^(\d+),(\d+),`).ReplaceAllString(strings.Join(lines, ""), "$1, $2\t,"))
	rng.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	must.Do(t, parquet.WriteFile("visits.parquet", rows))
	write(t, "v.json", `{"fields": [{"name": "age", "type": "number", "constraints": {"minimum": 0, "maximum": 100}},
		{"name": "income", "type": "number", "constraints": {"minimum": 0, "maximum": 50000}},
		{"name": "sex", "type": "string", "constraints": {"enum": ["f", "m"]}}, {"name": "patient", "type": "number"}]}`)
}

// byPersons are ways of releasing persons.
var byPersons = []string{
	"--person-rows mean", "--person-rows weight", "--person-rows 1", "--person-rows 3 --neighbours add-remove", "--person-rows 3 --neighbours add-remove --delta 1e-6 --mechanism gaussian",
	"--person-rows mean --steps 3", "--person-rows 2 --neighbours add-remove --rows 300 --steps 2",
}

// A release of persons is the same bits of rows in any order, in files, in Parquet and in PostgreSQL.
func personsSameBits(t *testing.T, at *url.URL) {
	workspace(t)
	visits(t)
	conn := must.Get(pgx.Connect(t.Context(), at.String()))(t)
	defer conn.Close(context.Background())
	must.Get(conn.Exec(t.Context(), "CREATE TABLE visits (income double precision, patient bigint, sex text, age integer)"))(t)
	for _, line := range strings.Split(strings.TrimSpace(read(t, "visits.csv")), "\n")[1:] {
		cells := strings.Split(line, ",")
		age, _ := strconv.Atoi(cells[0])
		patient, _ := strconv.Atoi(cells[1])
		income, _ := strconv.ParseFloat(cells[2], 64)
		must.Get(conn.Exec(t.Context(), "INSERT INTO visits VALUES ($1, $2, nullif($3, ''), $4)", income, patient, cells[3], age))(t)
	}
	for i, way := range byPersons {
		if testing.Short() && i%3 != 0 {
			continue
		}
		missing := "--missing midpoint"
		if strings.Contains(way, "add-remove") && i%2 == 0 {
			missing = "--missing drop"
		}
		var want string
		for j, from := range []string{"visits.csv", "shuffled", "spaced.csv", "quoted.csv", "visits.parquet", "--from " + at.String() + " --table visits"} {
			path := fmt.Sprintf("%d-%d.json", i, j)
			args := strings.Fields(fmt.Sprintf("release %s --schema v.json --formula income~age+sex --eps 1 --person patient %s %s -o %s", from, way, missing, path))
			_, got := noisy(t, path, args...)
			if want == "" {
				want = got
			}
			if got != want {
				t.Errorf("%s: %s makes another release:\n%s\n%s", way, from, read(t, fmt.Sprintf("%d-0.json", i)), read(t, path))
			}
		}
		r, err := release.ReadFile(fmt.Sprintf("%d-0.json", i))
		if err != nil || r.Persons == nil || strings.Contains(read(t, fmt.Sprintf("%d-0.json", i)), "patient") {
			t.Errorf("%s: %+v, %v", way, r, err)
		}
	}
}

// fit makes a release of persons, infers from it with a word on which model holds, and uses it again;
// not one of rows.
func TestFitOfPersons(t *testing.T) {
	workspace(t)
	visits(t)
	model := []string{"fit", "visits.csv", "--schema", "v.json", "--formula", "income ~ age", "--eps", "1000", "--person", "patient", "--warmup", "200", "--draws", "200"}
	r := command(append(model, "--person-rows", "mean")...).finished(t)
	must.Say(t, must.Folded(r.stdout), "n = 150 persons, public", "exchanging any one person, with all rows of theirs, for another", "A row is the mean of a person's rows", "through persons' means")
	command(append(model, "--person-rows", "mean")...).finished(t).says(t, "used again")
	for says, more := range map[string]string{
		"its privacy is of persons, by mean 0, not of persons, by weight 0": "--person-rows weight", "by rows 1": "--person-rows 1",
	} {
		command(append(model, strings.Fields(more)...)...).says(t, says).ends(t, refused)
	}
	before := tree(t)
	for says, args := range map[string]string{
		"--person-rows is missing":                                 "release visits.csv --person patient",
		"visits.csv has no such column":                            "release visits.csv --person id --person-rows 1",
		"mean, weight, or a number of rows":                        "release visits.csv --person patient --person-rows all",
		"counts replace-one-person neighbours":                     "release visits.csv -o rows.json",
		"Use --neighbours add-remove":                              "release visits.csv --person patient --person-rows 2 -o rows.json",
		"--person needs the rows, and --aggregates":                "release --aggregates v.json --person patient --person-rows 1",
		"--person cannot be combined with --method":                "fit visits.csv --person patient --method non-private --i-hold-the-data",
		"the mean of a person's rows: --person-rows 1":             "fit visits.csv --person patient --person-rows mean --family poisson --release other.json",
		"would be public":                                          "release visits.csv --person patient --person-rows 9 -o rows.json",
		"patient says whose a row is, and is no column of a model": "release visits.csv --person patient --person-rows 1 -o rows.json --bounds patient=0:1",
	} {
		args := append(strings.Fields(args), "--schema", "v.json", "--formula", "income~age")
		if !strings.Contains(strings.Join(args, " "), "non-private") {
			args = append(args, "--eps", "1")
		}
		if r := command(args...).says(t, says); r.code != misused && r.code != refused {
			t.Errorf("%s: exit code %d", says, r.code)
		}
	}
	unchanged(t, before)
}
