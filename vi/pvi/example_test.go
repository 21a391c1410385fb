package pvi_test

import (
	"context"
	"fmt"

	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/mechanisms/accounting"
	"github.com/dpreg/dpreg/vi"
	"github.com/dpreg/dpreg/vi/pvi"
)

// Two hospitals fit a slope. Each clips what a row adds, adds noise from the operating
// system, and stops before its ε is passed.
func Example() {
	rows := []*vi.Rows{
		{P: 1, X: []float64{-1, 0, 1}, Y: []float64{-2, 0, 2}},
		{P: 1, X: []float64{-1, 1}, Y: []float64{-2, 2}},
	}
	noise := accounting.Training{Multiplier: 20, Rate: 1, Steps: 1} // of an update
	updates, err := noise.FindSteps(accounting.PLD, 1, 1e-5)
	if err != nil {
		fmt.Println(err)
		return
	}
	var clients []pvi.Client
	for m, r := range rows {
		protect := pvi.Protection{Clip: 3, Multiplier: noise.Multiplier, Stream: mechanisms.NewStream(mechanisms.OS())}
		rule, err := pvi.NewAnalytic(r, 0.5, protect)
		if err != nil {
			fmt.Println("hospital", m+1, err)
			return
		}
		client, err := pvi.NewLocal(rule, 0.1, updates)
		if err != nil {
			fmt.Println("hospital", m+1, err)
			return
		}
		clients = append(clients, client)
	}
	family := pvi.Family{Dim: 1, Full: true}
	server, err := pvi.NewServer(family, family.Isotropic(5), clients)
	if err != nil {
		fmt.Println(err)
		return
	}
	rounds := 0
	for {
		moved, err := server.Ask(context.Background())
		if err != nil {
			fmt.Println(err)
			return
		}
		if !moved {
			break // all have spent their ε
		}
		rounds++
	}
	mean, _, err := family.Moments(server.Global())
	fmt.Println(rounds, "rounds;", len(mean), "noisy slope;", err)
	// Output: 28 rounds; 1 noisy slope; <nil>
}

// Without protection the global law of a linear model becomes its exact posterior.
func ExampleServer_Ask() {
	family := pvi.Family{Dim: 1, Full: true}
	var clients []pvi.Client
	for range 2 {
		rule, _ := pvi.NewAnalytic(&vi.Rows{P: 1, X: []float64{1, 2}, Y: []float64{2, 4}}, 1, pvi.Protection{})
		client, _ := pvi.NewLocal(rule, 0.5, 50)
		clients = append(clients, client)
	}
	server, _ := pvi.NewServer(family, family.Isotropic(1), clients)
	for range 50 {
		if _, err := server.Ask(context.Background()); err != nil {
			fmt.Println(err)
			return
		}
	}
	// Precision 1 + 2 (1 + 4), shift 2 (2 + 8).
	fmt.Printf("%.6f\n", server.Global())
	// Output: [20.000000 11.000000]
}
