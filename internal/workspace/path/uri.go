package path

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"runtime"
	"strings"
)

// onWindows selects the path rules. The functions below take this choice as an argument, so that
// tests can check the rules of every system on any system.
const onWindows = runtime.GOOS == "windows"

// Scheme returns the scheme of a URI in lower case, or "" if s is not a URI. A single letter before
// the colon is a drive, not a scheme.
func Scheme(s string) string {
	i := strings.IndexByte(s, ':')
	if i < 2 {
		return ""
	}
	for j, c := range []byte(s[:i]) {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (j == 0 || !(c >= '0' && c <= '9' || c == '+' || c == '-' || c == '.')) {
			return ""
		}
	}
	return strings.ToLower(s[:i])
}

// FromURI returns the absolute path that a file URI names on this system. The error quotes the URI
// and describes the problem.
func FromURI(uri string) (string, error) { return pathFromURI(uri, onWindows) }

// ToURI returns the file URI of an absolute path on this system, with the escapes that editors use.
func ToURI(path string) string { return uriFromPath(path, onWindows) }

// Key returns the identity of an absolute clean path. On Windows, case is ignored.
func Key(path string) string { return pathKey(path, onWindows) }

// Within reports whether path is dir or is below dir, and returns the path relative to dir. Both
// are absolute and clean. Within compares text and follows no symbolic link.
func Within(dir, path string) (rel string, ok bool) { return within(dir, path, onWindows) }

// pathFromURI returns the path that a file URI names, with the drive letter in upper case.
func pathFromURI(uri string, windows bool) (string, error) {
	if Scheme(uri) != "file" {
		return "", fmt.Errorf("reading URI %q: not a file URI", uri)
	}
	rest, host := uri[len("file:"):], ""
	if after, ok := strings.CutPrefix(rest, "//"); ok {
		i := strings.IndexByte(after, '/')
		if i < 0 {
			i = len(after)
		}
		host, rest = after[:i], after[i:]
	}
	path, err := url.PathUnescape(rest)
	if err != nil {
		return "", fmt.Errorf("reading URI %q: %w", uri, err)
	}
	if strings.IndexByte(path, 0) >= 0 {
		return "", fmt.Errorf("reading URI %q: it contains a NUL byte", uri)
	}
	return hostPath(uri, host, path, windows)
}

func hostPath(uri, host, path string, windows bool) (string, error) {
	local := host == "" || strings.EqualFold(host, "localhost")
	switch {
	case path == "" || path[0] != '/':
		return "", fmt.Errorf("reading URI %q: the path is not absolute", uri)
	case !windows && !local:
		return "", fmt.Errorf("reading URI %q: it names another host", uri)
	case !windows:
		return path, nil
	case !local:
		return `\\` + host + strings.ReplaceAll(path, "/", `\`), nil
	}
	if !hasDrive(path[1:]) {
		return "", fmt.Errorf("reading URI %q: it has no drive letter", uri)
	}
	return cleanDrive(path[1:]), nil
}

func hasDrive(p string) bool {
	return len(p) >= 2 && p[1] == ':' && p[0]|0x20 >= 'a' && p[0]|0x20 <= 'z'
}

// cleanDrive writes a Windows path in its usual form: upper-case drive, backslashes.
func cleanDrive(p string) string {
	p = strings.ReplaceAll(p, "/", `\`)
	if hasDrive(p) {
		p = strings.ToUpper(p[:1]) + p[1:]
		if len(p) == 2 {
			p += `\`
		}
	}
	return p
}

// uriFromPath returns the file URI of an absolute path, with the escapes that editors use.
func uriFromPath(path string, windows bool) string {
	if windows {
		path = strings.ReplaceAll(path, `\`, "/")
		if share, ok := strings.CutPrefix(path, "//"); ok {
			return "file://" + escapePath(share)
		}
		if hasDrive(path) {
			path = "/" + strings.ToLower(path[:1]) + path[1:]
		}
	}
	return "file://" + escapePath(path)
}

func escapePath(p string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := 0; i < len(p); i++ {
		c := p[i]
		if c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' ||
			strings.IndexByte("/-._~", c) >= 0 {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('%')
		b.WriteByte(hex[c>>4])
		b.WriteByte(hex[c&15])
	}
	return b.String()
}

// pathKey returns the identity of an absolute clean path. On Windows, case is ignored.
func pathKey(path string, windows bool) string {
	if windows {
		return strings.ToLower(cleanDrive(path))
	}
	return path
}

// LexicalKey returns the identity of a URI according to its spelling. It decodes percent escapes,
// normalizes the drive letter, and follows no symbolic link. path is "" if the URI is not a file.
func LexicalKey(uri string) (key, path string) {
	if Scheme(uri) != "file" {
		return uri, ""
	}
	p, err := pathFromURI(uri, onWindows)
	if err != nil {
		return uri, ""
	}
	p = filepath.Clean(p)
	return pathKey(p, onWindows), p
}

// within reports whether path is dir or is below it, and returns the path relative to dir.
func within(dir, path string, windows bool) (rel string, ok bool) {
	d, p, sep := pathKey(dir, windows), pathKey(path, windows), "/"
	if windows {
		sep = `\`
	}
	if d == p {
		return ".", true
	}
	if !strings.HasSuffix(d, sep) {
		d += sep
	}
	if !strings.HasPrefix(p, d) || len(path) < len(d) {
		return "", false
	}
	return path[len(d):], true
}

// ErrNotebook explains to the model why a notebook cannot be used.
var ErrNotebook = errors.New("notebook cells cannot be read or edited here: their saved form and " +
	"what the editor shows differ; ask the user to edit the notebook, or work on a script")

// IsNotebook reports whether a URI or path belongs to a notebook.
func IsNotebook(s string) bool {
	return strings.HasPrefix(Scheme(s), "vscode-notebook") ||
		strings.HasSuffix(strings.ToLower(s), ".ipynb")
}
