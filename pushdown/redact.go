package pushdown

import (
	"cmp"
	"io"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// key is a name that says that what follows is secret.
const key = `(?i:[\w-]*(?:password|passwd|pwd|secret|token|signature|credential|api[_-]?key|access[_-]?key)[\w-]*|\bsig)\s*=\s*`

var (
	keys = regexp.MustCompile(key)
	// forms are where a secret seems to be: in front of a URL's host, and behind a key.
	forms = regexp.MustCompile(`(://).*(@)|(` + key + `)(?:['"].*|[^\s&;,'")]+)`)
)

// Redacted is a text of a driver's, of which it is not known what it quotes, without what
// has the form of a secret in an address. Where it is not clear where one ends, it goes to
// the end of the line.
func Redacted(text string) string {
	return forms.ReplaceAllString(text, "$1$3…$2")
}

// address is what a text has that names a database: the beginning of a URL, or a keyword of
// libpq's. In other texts, such as bounds of a column called tokens, nothing is secret.
var address = regexp.MustCompile(`://|(?i)\b(?:host|hostaddr|user|dbname)\s*=`)

var escaped = regexp.MustCompile(`%[[:xdigit:]]{2}`)

// shortest is the length of secrets that are hidden: shorter ones are in many a word.
const shortest = 4

// Secrets gives the passwords and keys in the addresses among some texts, as they are
// written and with their %40 and so on read, the longest first. Where it is not clear
// where one ends, each possible end gives one.
func Secrets(texts ...string) []string {
	var found []string
	for _, text := range texts {
		for last := ""; text != last; {
			if last = text; address.MatchString(text) {
				found = append(found, secretsOf(text)...)
			}
			text = escaped.ReplaceAllStringFunc(text, func(code string) string {
				char, _ := url.PathUnescape(code)
				return char
			})
		}
	}
	for _, s := range slices.Clone(found) { // as messages quote it
		found = append(found, strings.Trim(strconv.Quote(s), `"`), strings.ReplaceAll(s, "'", "''"))
	}
	found = slices.DeleteFunc(found, func(s string) bool { return len(s) < shortest })
	slices.SortFunc(found, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	return slices.Compact(found)
}

// secretsOf gives those of one text as it stands.
func secretsOf(text string) (found []string) {
	for _, at := range keys.FindAllStringIndex(text, -1) {
		value, _, _ := strings.Cut(strings.TrimLeft(text[at[1]:], `'"`), "&")
		found = append(found, ends(value, ` ;,'")`)...)
	}
	for scheme, rest, ok := strings.Cut(text, "://"); ok; scheme, rest, ok = strings.Cut(rest, "://") {
		who := rest[:max(strings.LastIndex(rest, "@"), 0)]
		_, password, has := strings.Cut(who, ":")
		if !has && !strings.HasSuffix(scheme, "postgres") && !strings.HasSuffix(scheme, "postgresql") {
			password = who // a token
		}
		found = append(found, ends(password, "/?#@")...)
	}
	return found
}

// ends gives a text, and what is before each character of it that may be its end.
func ends(text, marks string) []string {
	found := []string{text}
	for i, r := range text {
		if strings.ContainsRune(marks, r) {
			found = append(found, text[:i])
		}
	}
	return found
}

// Hide gives a writer in which … stands for each secret. One message is one write.
func Hide(w io.Writer, secrets []string) io.Writer {
	if len(secrets) == 0 {
		return w
	}
	var pairs []string
	for _, s := range secrets {
		pairs = append(pairs, s, "…")
	}
	return &hider{w, strings.NewReplacer(pairs...)}
}

type hider struct {
	w        io.Writer
	replacer *strings.Replacer
}

func (h *hider) Write(message []byte) (int, error) {
	if _, err := h.replacer.WriteString(h.w, string(message)); err != nil {
		return 0, err
	}
	return len(message), nil
}
