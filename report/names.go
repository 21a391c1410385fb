package report

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
)

// What is kept beside a letter that tells names apart: before and after the one that tells a
// name from the name most like it, and after each other one.
const (
	keptBefore = 3
	keptAfter  = 8
	keptOther  = 3
)

// shortNames gives each of the names in a picture a text that is at most width wide, and no
// two names the same: an ellipsis stands for what a name shares with others. Names that
// have no room for what tells them apart are numbered, which may be wider.
func shortNames(style text.Style, width vg.Length, names ...string) map[string]string {
	short, taken := make(map[string]string), make(map[string]bool)
	split := make(map[string][]string)
	for _, name := range names {
		split[name] = letters(name)
	}
	for _, name := range names {
		if _, done := short[name]; done {
			continue
		}
		order := byImportance(name, split)
		brief := cut(style, width, split[name], order, "")
		for n := 2; taken[brief]; n++ {
			brief = cut(style, width, split[name], order, " ("+strconv.Itoa(n)+")")
		}
		short[name], taken[brief] = brief, true
	}
	return short
}

// letters are the characters of a name, each with its combining marks. A picture shows one
// blank for any number of them.
func letters(name string) (all []string) {
	for _, r := range strings.Join(strings.Fields(name), " ") {
		if last := len(all) - 1; last >= 0 && unicode.Is(unicode.M, r) {
			all[last] += string(r)
		} else {
			all = append(all, string(r))
		}
	}
	return all
}

// byImportance orders the letters of a name: first those at which it begins to differ from
// another one, then those beside them, in the same word, then from both ends to the middle.
func byImportance(name string, names map[string][]string) (order []int) {
	own := names[name]
	differs := make([]bool, len(own))
	for other, text := range names {
		if other == name || len(own) == 0 {
			continue
		}
		at := 0
		for at < min(len(own)-1, len(text)) && own[at] == text[at] {
			at++
		}
		differs[at] = true
	}
	var keys []int // that of the name most alike first
	for at := range slices.Backward(own) {
		if differs[at] {
			keys = append(keys, at)
		}
	}
	order = slices.Clone(keys)
	beside := func(key, step, most int) {
		for at := key + step; at >= 0 && at < len(own) && most > 0 && isWord(own[at]); at += step {
			order = append(order, at)
			most--
		}
	}
	for i, key := range keys {
		if i == 0 {
			beside(key, +1, keptAfter)
			beside(key, -1, keptBefore)
		}
		beside(key, +1, keptOther)
	}
	for i := range own {
		order = append(order, i, len(own)-1-i)
	}
	return order
}

// isWord tells whether a letter is a part of a word.
func isWord(letter string) bool {
	first := []rune(letter)[0]
	return unicode.IsLetter(first) || unicode.IsNumber(first)
}

// cut keeps as many letters as have room, in an order, and ends them with a suffix.
func cut(style text.Style, width vg.Length, letters []string, order []int, suffix string) string {
	if whole := strings.Join(letters, "") + suffix; style.Width(whole) <= width {
		return whole
	}
	kept, brief := make([]bool, len(letters)), "…"+suffix
	for _, at := range order {
		kept[at] = true
		longer := elided(letters, kept) + suffix
		if style.Width(longer) > width {
			break
		}
		brief = longer
	}
	return brief
}

// elided has an ellipsis for each two letters or more in a row that are not kept.
func elided(letters []string, kept []bool) string {
	var b strings.Builder
	for at := 0; at < len(letters); {
		gap := at
		for gap < len(letters) && !kept[gap] {
			gap++
		}
		if gap > at+1 {
			b.WriteString("…")
			at = gap
			continue
		}
		b.WriteString(letters[at])
		at++
	}
	return b.String()
}
