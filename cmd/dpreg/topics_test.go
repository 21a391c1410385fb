package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/docs/help"
	"github.com/dpreg/dpreg/internal/must"
)

// dpreg help TOPIC shows each page of docs/help, on at most 60 lines of at most 90 characters,
// and dpreg help names all topics.
func TestTopics(t *testing.T) {
	files, err := filepath.Glob("../../docs/help/*.md")
	if err != nil || len(files) != len(help.Topics) {
		t.Errorf("%d pages of %d topics: %v", len(files), len(help.Topics), err)
	}
	root := newRoot(nil)
	var out strings.Builder
	root.SetOut(&out)
	root.SetArgs([]string{"help"})
	must.Do(t, root.Execute())
	overview := out.String()
	for _, topic := range help.Topics {
		page := must.Get(help.Page(topic.Name))(t)
		out.Reset()
		root := newRoot(nil)
		root.SetOut(&out)
		root.SetArgs([]string{"help", topic.Name})
		if err := root.Execute(); err != nil || strings.TrimSpace(out.String()) != strings.TrimSpace(page) {
			t.Errorf("dpreg help %s (%v) shows\n%s", topic.Name, err, out.String())
		}
		lines := strings.Split(page, "\n")
		if len(lines) > 61 {
			t.Errorf("%s has %d lines", topic.Name, len(lines))
		}
		for _, line := range lines {
			if n := len([]rune(line)); n > 90 {
				t.Errorf("%s: %d characters: %s", topic.Name, n, line)
			}
		}
		if !strings.Contains(overview, topic.Short) {
			t.Errorf("dpreg help does not name %s", topic.Name)
		}
	}
}
