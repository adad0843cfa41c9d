package main

import (
	"path"
	"regexp"
	"strings"
)

// comments returns the comments of the files that Vale cannot read. Vale has no parser for shell
// scripts, and it does not recognize .mjs files as JavaScript.
func comments(file string, src []byte) []text {
	switch path.Ext(file) {
	case ".mjs":
		return typescript.comments(src)
	case ".sh":
		return shellComments(string(src))
	}
	return nil
}

// comments returns the comments of a source file. Line comments on adjacent lines are one text, so
// that phrases are found across line breaks.
func (l language) comments(src []byte) []text {
	s := &scanner{language: l, src: string(src)}
	for s.pos < len(s.src) {
		s.step()
	}
	return s.notes
}

// note adds the comment between from and the current position.
func (s *scanner) note(from int) {
	s.notes = appendComment(s.notes, 1+strings.Count(s.src[:from], "\n"), s.src[from:s.pos])
}

// shellComments returns each comment of a shell script. A "#" begins a comment at the start of a
// word outside quotes. Lines of here documents that begin with "#" are read as comments, too.
func shellComments(src string) (found []text) {
	for i, line := range strings.Split(src, "\n") {
		if at := shellComment(line); at >= 0 {
			found = appendComment(found, i+1, line[at:]+"\n")
		}
	}
	return found
}

func shellComment(line string) int {
	for at := range line {
		before := line[:at]
		startsWord := strings.TrimRight(before, " \t") != before || before == ""
		quoted := strings.Count(before, `"`)%2 == 1 || strings.Count(before, "'")%2 == 1
		if line[at] == '#' && startsWord && !quoted {
			return at
		}
	}
	return -1
}

// marker matches the characters that begin a line of a comment.
var marker = regexp.MustCompile(`(?m)^[ \t]*[/*#]+[ \t]?`)

// appendComment adds a comment without its markers, or extends the last one if it ends on the line
// before.
func appendComment(found []text, line int, value string) []text {
	value = marker.ReplaceAllString(value, "")
	if n := len(found); n > 0 {
		last := &found[n-1]
		lines := strings.Count(last.value, "\n")
		if strings.HasSuffix(last.value, "\n") && last.line+lines == line {
			last.value += value
			return found
		}
	}
	return append(found, text{line, value})
}
