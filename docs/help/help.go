// Package help holds what dpreg help TOPIC shows: the pages of this folder, which
// docs/ links to as well.
package help

import "embed"

//go:embed *.md
var pages embed.FS

// Topics are the names of the pages, and what each is on.
var Topics = []struct{ Name, Short string }{
	{"privacy", "What a release promises, and the custodian's part"},
	{"bounds", "Public bounds: where they come from, how wide they should be"},
	{"factors", "Categories, truth values, missing cells"},
	{"priors", "The default prior, and how to state one"},
	{"diagnostics", "R-hat, effective sample sizes, contraction, the price of privacy"},
	{"files", "Files that are read and written; draws in R"},
}

// Page returns the page of a topic.
func Page(topic string) (string, error) {
	text, err := pages.ReadFile(topic + ".md")
	return string(text), err
}
