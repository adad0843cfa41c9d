package edit

import (
	"regexp"
	"strings"
)

var (
	searchMarker  = regexp.MustCompile(`^<{5,9} ?SEARCH>?\s*$`)
	divideMarker  = regexp.MustCompile(`^={5,9}\s*$`)
	replaceMarker = regexp.MustCompile(`^>{5,9} ?REPLACE\s*$`)
)

func isSearchMarker(l string) bool { return searchMarker.MatchString(l) }

// parseBlocks reads SEARCH/REPLACE blocks; the file's name stands on the line
// above a block or its fence, or is that of the block before. An empty SEARCH
// creates the file: it never appends and never replaces all.
func parseBlocks(lines []string) ([]FilePatch, error) {
	var out []FilePatch
	path := ""
	for i := 0; i < len(lines); i++ {
		if !isSearchMarker(lines[i]) {
			continue
		}
		if p := pathAbove(lines[:i]); p != "" {
			path = p
		}
		if path == "" {
			return nil, patchError(i+1, "no file name above the SEARCH block")
		}
		search, divide := until(lines, i+1, divideMarker)
		replace, end := until(lines, divide+1, replaceMarker)
		if divide == len(lines) || end == len(lines) {
			return nil, patchError(i+1, "the SEARCH block is not closed by \"=======\" and \">>>>>>> REPLACE\"")
		}
		if search == "" {
			out = append(out, FilePatch{Op: OpCreate, Path: path, Content: []byte(replace)})
		} else {
			out = append(out, FilePatch{Op: OpModify, Path: path, Edits: []Replace{{Old: search, New: replace}}})
		}
		i = end
	}
	return out, nil
}

func until(lines []string, from int, marker *regexp.Regexp) (text string, at int) {
	var b strings.Builder
	for at = from; at < len(lines) && !marker.MatchString(lines[at]); at++ {
		b.WriteString(lines[at] + "\n")
	}
	return b.String(), min(at, len(lines))
}

// pathAbove is the name on the nearest line above that is neither empty nor a
// fence; behind another block's end there is none.
func pathAbove(lines []string) string {
	for i := len(lines) - 1; i >= 0 && i >= len(lines)-3; i-- {
		t := strings.TrimSpace(lines[i])
		if t == "" || t == "```" || isFence(t) && !strings.ContainsAny(t, "./") {
			continue
		}
		if replaceMarker.MatchString(t) {
			return ""
		}
		return strings.Trim(strings.TrimSuffix(strings.TrimPrefix(t, "```"), ":"), "`*# ")
	}
	return ""
}
