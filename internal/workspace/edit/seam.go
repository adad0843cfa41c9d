package edit

import (
	"bytes"
	"fmt"
	"strings"
)

// refuseSeams fails if an exact search text begins or ends inside a line, and the new text would be
// joined with the rest of that line in a way that the model may not have meant. A block consists of
// complete lines and has no such seams.
func (m *matcher) refuseSeams(i int, c candidate, places []place) error {
	if m.whole || c.tier > T1 {
		return nil
	}
	for _, pl := range places {
		if why := m.seam(c, pl); why != "" {
			return &MatchError{
				Kind: KindAmbiguous,
				Edit: i,
				Line: m.lineOf(pl.start),
				Msg: fmt.Sprintf(
					"%sthe search text matches at line %d, but %s. Nothing was changed.\n%s",
					m.name(i),
					m.lineOf(pl.start),
					why,
					m.region(pl),
				),
			}
		}
	}
	return nil
}

func (m *matcher) seam(c candidate, pl place) string {
	before := m.text[:pl.start]
	head := string(before[bytes.LastIndexByte(before, '\n')+1:])
	ends := strings.HasSuffix(c.old, "\n") && pl.end < len(m.text)
	switch {
	case c.new == "" && strings.HasSuffix(c.old, "\n") && head != "":
		return "what is before it on that line would stay without a line break. Send the whole line, or leave the last line break out"
	case c.new == "":
		return ""
	case strings.TrimSpace(c.old) == "" && strings.TrimSpace(c.new) != "" && head != "":
		return "it is only white space, which does not show where the new text belongs. Repeat a line around it in both texts"
	case m.endsBeforeSpace(candidate{old: c.old, new: c.new, places: []place{pl}}):
		return "it leaves out white space at the end of the line, which would move after the new lines. Send the line with that space"
	case ends && !strings.HasSuffix(c.new, "\n"):
		return "it ends with a line break and the new text does not, so the next line would be joined to it. End both with a line break, or neither"
	case strings.HasPrefix(c.old, "\n") && !strings.HasPrefix(c.new, "\n") && head != "":
		return "it begins with a line break and the new text does not, so the new text would be joined to the line before. Begin both at the start of a line"
	case head == "" || strings.TrimSpace(head) != "":
		return ""
	case strings.HasPrefix(c.new, "\n") && !strings.HasPrefix(c.old, "\n"):
		return "it begins after the indent of the line, which would stay on a line of its own. Send the whole line with its indent"
	case indentOf(c.new) != indentOf(c.old):
		return "it begins inside the indent of the line and the new text has a different indent, which would be added to it. Send old and new text with the whole indent of the line"
	case !strings.Contains(strings.Trim(c.old, "\n"), "\n") &&
		lessIndented(c.new, head+indentOf(c.old)):
		return "it begins inside the indent of the line, and it is unclear whether the other lines of the new text should have that indent too. Send whole lines, each with its indent"
	}
	return ""
}

// lessIndented reports whether a line of text other than the first lacks the indent.
func lessIndented(text, indent string) bool {
	for _, l := range contents(text)[1:] {
		if strings.TrimSpace(l) != "" && !strings.HasPrefix(l, indent) {
			return true
		}
	}
	return false
}
