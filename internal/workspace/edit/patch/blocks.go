package patch

import (
	"strconv"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/lazyregexp"
)

// The markers of a block. Cline uses "-" in its first marker and "+" in its last marker.
var (
	searchMarker  = lazyregexp.New(`^(<{5,9}|-{5,9}) ?SEARCH>?\s*$`)
	divideMarker  = lazyregexp.New(`^={5,9}\s*$`)
	replaceMarker = lazyregexp.New(`^(>{5,9}|\+{5,9}) ?REPLACE>?\s*$`)
)

// The lines that Roo Code writes between the first marker and the text, and the backslash that it
// puts before a line that looks like a marker.
var (
	lineHint  = lazyregexp.New(`^:(start|end)_line:\s*(\d+)\s*$`)
	hintsEnd  = lazyregexp.New(`^-{5,9}\s*$`)
	rooEscape = lazyregexp.New(`^\\(<{5,9}|={5,9}|>{5,9}|-{5,9}|:(?:start|end)_line:)`)
)

func isSearchMarker(l string) bool { return searchMarker().MatchString(l) }

// parseBlocks reads SEARCH/REPLACE blocks. The file's name is on the line above the block or above
// its fence. A block that changes the same file as the previous block may omit the name. An empty
// SEARCH creates the file. It never appends to an existing file and never replaces all of it. given
// is the file that the caller named, if any. In that case, every block belongs to that file, and
// parseBlocks does not look for names.
func parseBlocks(lines []string, given string) ([]File, error) {
	var out []File
	path, behind := given, 0 // the file of the previous block, and the line after that block
	for i := 0; i < len(lines); i++ {
		if replaceMarker().MatchString(lines[i]) {
			return nil, fail(i+1, "%q does not close a SEARCH block. If the text of the block before has such a line, use longer markers, all of the same length", shown(lines[i]))
		}
		if !isSearchMarker(lines[i]) {
			continue
		}
		b, err := readBlock(lines, i, given != "")
		if err != nil {
			return nil, err
		}
		name, ok := nameAbove(lines[behind:i])
		switch {
		case given != "":
		case ok:
			path = name
		case path == "" || b.search == "" || namesOther(lines[behind:i], path):
			return nil, unnamedBlock(i+1, name)
		}
		if b.search == "" {
			out = append(out, File{Op: Create, Path: path, Content: []byte(b.replace)})
		} else {
			out = append(out, File{Op: Modify, Path: path,
				Blocks: []Block{{Search: b.search, Replace: b.replace, Line: b.line}}})
		}
		i, behind = b.end, b.end+1
	}
	return out, nil
}

func unnamedBlock(line int, above string) error {
	if above != "" {
		return fail(line, "the line above the SEARCH block is not a file name: %s. Put the path of the file, and nothing else, on the line above the block or above its fence", shown(above))
	}
	return fail(line, "no file name above the SEARCH block. Put the path of the file, and nothing else, on the line above the block or above its fence")
}

// searchBlock is the text of one block. end is the line of its last marker.
type searchBlock struct {
	search, replace string
	line            int // 1-based line of the file at which the search text is said to begin, or 0
	end             int
}

// readBlock reads the block whose first marker is lines[at]. The markers of a block have the same
// length, so a line of another length that consists of "=" belongs to the text. A block that can be
// divided in two ways is refused. If hints is set, readBlock also reads the lines that Roo Code
// writes before the text.
func readBlock(lines []string, at int, hints bool) (searchBlock, error) {
	end := at + 1
	closes := closing(lines[at:])
	for end < len(lines) && !closes(lines[end]) {
		if isSearchMarker(lines[end]) {
			return searchBlock{}, fail(end+1,
				"a SEARCH block begins inside the block of line %d, which is not closed by \">>>>>>> REPLACE\". Close that block first; if the text itself has such a line, use longer markers, all of the same length", at+1)
		}
		end++
	}
	line, from := 0, at+1
	if hints && lines[at][0] == '<' {
		var err error
		if line, from, err = lineHints(lines[:end], at+1); err != nil {
			return searchBlock{}, err
		}
	}
	body := lines[from:end]
	size := len(searchMarker().FindStringSubmatch(lines[at])[1])
	var same, other []int
	for i, l := range body {
		switch {
		case !divideMarker().MatchString(l):
		case len(strings.TrimSpace(l)) == size:
			same = append(same, i)
		default:
			other = append(other, i)
		}
	}
	if len(same) == 0 {
		same = other
	}
	if end == len(lines) || len(same) == 0 {
		return searchBlock{}, fail(at+1,
			"the SEARCH block is not closed by \"=======\" and \">>>>>>> REPLACE\". Send the whole block")
	}
	if len(same) > 1 {
		return searchBlock{}, fail(at+1,
			"the SEARCH block has %d lines that could divide it (lines %d and %d). Use longer markers, all of the same length, such as \"<<<<<<<<< SEARCH\", \"=========\" and \">>>>>>>>> REPLACE\"",
			len(same), from+1+same[0], from+1+same[1])
	}
	if line > 0 {
		body = unescaped(body)
	}
	return searchBlock{search: joined(body[:same[0]]), replace: joined(body[same[0]+1:]),
		line: line, end: end}, nil
}

// closing returns a function that recognizes the last marker of the block that begins with
// lines[0]. This is a marker of the same kind and length, or any marker if the block has no such
// marker.
func closing(lines []string) func(string) bool {
	first := searchMarker().FindStringSubmatch(lines[0])[1]
	char := ">"
	if first[0] == '-' {
		char = "+"
	}
	same := func(l string) bool {
		m := replaceMarker().FindStringSubmatch(l)
		return m != nil && m[1] == strings.Repeat(char, len(first))
	}
	for _, l := range lines[1:] {
		if same(l) {
			return same
		}
		if isSearchMarker(l) {
			break
		}
	}
	return replaceMarker().MatchString
}

// lineHints reads ":start_line:12", ":end_line:14" and the line of dashes after them. from is the
// first line of the text. Without the dashes, such lines are part of the text.
func lineHints(lines []string, at int) (start, from int, err error) {
	from = at
	for from < len(lines) {
		h := lineHint().FindStringSubmatch(lines[from])
		if h == nil {
			break
		}
		n, err := strconv.Atoi(h[2])
		if err != nil || n < 1 {
			return 0, 0, fail(from+1, "%q is not a line number; lines are counted from 1",
				shown(lines[from]))
		}
		if h[1] == "start" {
			start = n
		}
		from++
	}
	if from == len(lines) || !hintsEnd().MatchString(lines[from]) {
		return 0, at, nil
	}
	if from > at {
		from++
	}
	return start, from, nil
}

func unescaped(lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		if out[i] = l; rooEscape().MatchString(l) {
			out[i] = l[1:]
		}
	}
	return out
}

// joined returns the text of lines, each with a line ending.
func joined(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}
