package edit

import (
	"regexp"
	"strings"
)

var (
	searchMarker  = regexp.MustCompile(`^(<{5,9}) ?SEARCH>?\s*$`)
	divideMarker  = regexp.MustCompile(`^={5,9}\s*$`)
	replaceMarker = regexp.MustCompile(`^>{5,9} ?REPLACE\s*$`)
)

func isSearchMarker(l string) bool { return searchMarker.MatchString(l) }

// parseBlocks reads SEARCH/REPLACE blocks. The file's name is on the line above the block or above its
// fence; a block that changes the same file as the block before may leave the name out. An empty SEARCH
// creates the file: it never appends and never replaces all.
func parseBlocks(lines []string) ([]FilePatch, error) {
	var out []FilePatch
	path, behind := "", 0 // the file of the block before, and the line behind that block
	for i := 0; i < len(lines); i++ {
		if !isSearchMarker(lines[i]) {
			continue
		}
		b, err := readBlock(lines, i)
		if err != nil {
			return nil, err
		}
		name, ok := nameAbove(lines[behind:i])
		switch {
		case ok:
			path = name
		case path == "" || b.search == "" || namesOther(lines[behind:i], path):
			return nil, unnamedBlock(i+1, name)
		}
		if b.search == "" {
			out = append(out, FilePatch{Op: OpCreate, Path: path, Content: []byte(b.replace)})
		} else {
			out = append(out, FilePatch{Op: OpModify, Path: path, Edits: []Replace{{Old: b.search, New: b.replace, WholeLines: true}}})
		}
		i, behind = b.end, b.end+1
	}
	return out, nil
}

func unnamedBlock(line int, above string) error {
	if above != "" {
		return patchError(line, "the line above the SEARCH block is no file name: %s. Put the path of the file, and nothing else, on the line above the block or above its fence", clip(above))
	}
	return patchError(line, "no file name above the SEARCH block. Put the path of the file, and nothing else, on the line above the block or above its fence")
}

// searchBlock is the text of one block; end is the line of its last marker.
type searchBlock struct {
	search, replace string
	end             int
}

// readBlock reads the block whose first marker is lines[at]. The markers of a block have the same length, so a
// line of another length that consists of "=" belongs to the text. A block that can be divided in two ways is refused.
func readBlock(lines []string, at int) (searchBlock, error) {
	end := at + 1
	for end < len(lines) && !replaceMarker.MatchString(lines[end]) {
		if isSearchMarker(lines[end]) {
			return searchBlock{}, patchError(end+1, "a SEARCH block begins inside the block of line %d, which is not closed by \">>>>>>> REPLACE\"", at+1)
		}
		end++
	}
	body := lines[at+1 : end]
	size := len(searchMarker.FindStringSubmatch(lines[at])[1])
	var same, other []int
	for i, l := range body {
		switch {
		case !divideMarker.MatchString(l):
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
		return searchBlock{}, patchError(at+1, "the SEARCH block is not closed by \"=======\" and \">>>>>>> REPLACE\"")
	}
	if len(same) > 1 {
		return searchBlock{}, patchError(at+1, "the SEARCH block has %d lines that could divide it (lines %d and %d). Use longer markers, all of the same length, such as \"<<<<<<<<< SEARCH\", \"=========\" and \">>>>>>>>> REPLACE\"",
			len(same), at+2+same[0], at+2+same[1])
	}
	return searchBlock{search: joined(body[:same[0]]), replace: joined(body[same[0]+1:]), end: end}, nil
}

// joined is the text of lines, each with a line ending.
func joined(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}
