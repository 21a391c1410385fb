// Package help holds what dpreg help TOPIC shows, the pages of this folder, which docs/ links
// to as well, and what dpreg COMMAND --help says of the command.
package help

import (
	"embed"
	"strings"
	"sync"
	"unicode"
)

//go:embed *.md commands.txt
var pages embed.FS

// Text is what --help says of a command.
type Text struct{ Use, Short, Long, Example string }

// Command returns the section of commands.txt on a command: the first line of a section has
// the names and the arguments, the second what it does in a line; <rows> and <remote> stand
// for the sections of these names.
func Command(name string) Text {
	text, ok := texts()[name]
	if !ok {
		panic("there is no help on " + name)
	}
	return text
}

// texts are all of them.
var texts = sync.OnceValue(func() map[string]Text {
	text, err := pages.ReadFile("commands.txt")
	if err != nil {
		panic(err) // the program was built without it
	}
	texts := make(map[string]Text)
	for section := range strings.SplitSeq("\n"+string(text), "\n# ") {
		head, body, _ := strings.Cut(section, "\n")
		short, body, _ := strings.Cut(body, "\n\n")
		long, example, _ := strings.Cut(body, "\n\nExamples:\n")
		texts[nameIn(head)] = Text{head, short, strings.TrimSpace(long), strings.TrimRight(example, "\n")}
	}
	for name, text := range texts {
		for _, part := range []string{"rows", "remote"} {
			text.Long = strings.ReplaceAll(text.Long, "<"+part+">", texts[part].Long)
		}
		texts[name] = text
	}
	return texts
})

// nameIn is what a heading begins with, before the arguments.
func nameIn(head string) string {
	end := strings.IndexFunc(head+"-", func(r rune) bool { return r != ' ' && !unicode.IsLower(r) })
	return strings.TrimSpace(head[:end])
}

// Topics are the names of the pages, and what each is on.
var Topics = []struct{ Name, Short string }{
	{"privacy", "What a release promises, and the custodian's part"},
	{"bounds", "Public bounds: where they come from, how wide they should be"},
	{"formulas", "R's formulas: log(x), I(x^2), poly(x, 2), a:b and other terms"},
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
