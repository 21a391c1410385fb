package main

import (
	"github.com/spf13/cobra"

	"github.com/dpreg/dpreg/docs/help"
)

// newTopics are commands that do nothing but be found by dpreg help.
func newTopics() (topics []*cobra.Command) {
	for _, t := range help.Topics {
		page, err := help.Page(t.Name)
		if err != nil {
			panic(err) // the program was built without it
		}
		topics = append(topics, &cobra.Command{Use: t.Name, Short: t.Short, Long: page})
	}
	return topics
}
