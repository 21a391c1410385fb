package pushdown

import "regexp"

// secrets are where addresses of databases have a password or a key: in front of a URL's
// host, and behind a name that says so.
var secrets = regexp.MustCompile(`(://).*(@)|(?i)((?:[\w-]*(?:password|passwd|pwd|secret|token|signature|credential|api[_-]?key|access[_-]?key)[\w-]*|\bsig)\s*=\s*)(?:['"].*|[^\s&;,'")]+)`)

// Redacted is a text, such as an error that quotes what a user typed, without the secrets of
// addresses in it. Where it is not clear where one ends, it goes to the end of the line.
func Redacted(text string) string { return secrets.ReplaceAllString(text, "$1$3…$2") }
