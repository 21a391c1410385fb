package custody_test

import (
	"context"
	"fmt"
	"log"

	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/table"
)

// A custodian publishes a release of a file: educ and income are the only
// columns that it tells of, and their bounds are public.
func Example() {
	rows, err := table.Find("people.csv")
	if err != nil {
		log.Fatal(err)
	}
	_, err = custody.Publish(context.Background(), custody.Order{
		Rows: custody.Files{Source: rows},
		Design: &schema.Design{
			Response:   schema.Column{Name: "income", Lower: 0, Upper: 500000},
			Covariates: []schema.Column{{Name: "educ", Lower: 1, Upper: 16}},
			Intercept:  true,
		},
		Privacy: release.Privacy{Epsilon: 1, Neighbours: release.ReplaceOne},
		Path:    "people.release.json",
		Ledger:  "people.ledger.db", MakeLedger: true,
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("published")
}
