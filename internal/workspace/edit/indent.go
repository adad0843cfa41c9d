package edit

import "strings"

const (
	// minShiftedLine is the minimum length, in bytes, of a single line that may match with a
	// different indent. Shorter lines occur too often.
	minShiftedLine = 12
	// shiftBudget limits the number of lines that tier T3 compares. For repetitive texts, the
	// number of comparisons could be quadratic in their length.
	shiftBudget = 300_000
)

// shift converts the model's indent to the file's. It adds or removes a prefix, or replaces one
// unit with another and adds a constant number of levels.
type shift struct {
	add, remove string
	from, to    string // unit of the model and of the file; "" for a plain prefix shift
	levels      int    // levels added after the units are mapped
}

// apply re-indents one line. It returns false if the line cannot be shifted.
func (s shift) apply(text string) (string, bool) {
	if strings.TrimSpace(text) == "" {
		return text, true
	}
	indent := indentOf(text)
	rest := text[len(indent):]
	if s.from == "" {
		if !strings.HasPrefix(indent, s.remove) {
			return "", false
		}
		out := s.add + indent[len(s.remove):]
		return out + rest, !mixed(out, rest)
	}
	if strings.Trim(indent, s.from[:1]) != "" || len(indent)%len(s.from) != 0 {
		return "", false
	}
	n := len(indent)/len(s.from) + s.levels
	if n < 0 {
		return "", false
	}
	return strings.Repeat(s.to, n) + rest, true
}

func indentOf(s string) string { return s[:len(s)-len(strings.TrimLeft(s, " \t"))] }

// mixed reports whether an indent consists of tabs and spaces. The single space before the star of
// a block comment's line is alignment and not indent.
func mixed(indent, rest string) bool {
	if strings.HasPrefix(rest, "*") {
		indent = strings.TrimSuffix(indent, " ")
	}
	return strings.Contains(indent, " ") && strings.Contains(indent, "\t")
}

// shifted implements tier T3, which finds sequences of complete lines that are equal except for one
// uniform shift of the indent.
func (m *matcher) shifted(old string, limit int) []place {
	pat := contents(old)
	if !worthShifting(pat) {
		return nil
	}
	lines := m.lines()
	budget := shiftBudget
	var out []place
	for _, at := range sequence(m.lineIDs(T3, pat)) {
		if budget -= len(pat); len(out) >= limit {
			break
		}
		if budget < 0 {
			return nil // uniqueness cannot be proven in bounded time
		}
		if len(m.shifts(pat, at)) == 0 {
			continue
		}
		out = append(out, m.linePlace(lines, at, len(pat), strings.HasSuffix(old, "\n")))
	}
	return out
}

// linePlace returns the range of n complete lines. It includes the last ending if requested.
func (m *matcher) linePlace(lines []line, at, n int, ending bool) place {
	last := lines[at+n-1]
	pl := place{start: lines[at].start, end: last.end}
	if ending {
		pl.end, pl.noEOL = last.next, last.next == last.end
	}
	return pl
}

// contents splits a model's text into lines without endings.
func contents(s string) []string {
	return strings.Split(strings.TrimSuffix(s, "\n"), "\n")
}

func worthShifting(pat []string) bool {
	n, longest := 0, 0
	for _, l := range pat {
		if t := strings.TrimSpace(l); t != "" {
			n++
			longest = max(longest, len(t))
		}
	}
	return n >= 2 || n == 1 && longest >= minShiftedLine
}

func (m *matcher) lines() []line {
	if m.split == nil {
		m.split = splitLF(m.text)
	}
	return m.split
}

// lineTable numbers the file's lines by the text that one tier compares.
type lineTable struct {
	ids      []int32
	known    map[string]int32
	distinct []string // the distinct lines by id, for T0
}

// lineKey returns the form of a line that tier t compares.
func lineKey(t Tier, l string) string {
	switch t {
	case T0:
		return l
	case T2:
		return strings.TrimRight(l, trailing)
	case T3:
		return strings.TrimSpace(l)
	case T4:
		return string(normalize([]byte(l), true).text)
	}
	return collapse(l)
}

// lineIDs numbers the file's lines and the pattern's lines in the same way. A line of the pattern
// that the file does not contain gets -1, which equals no other number.
func (m *matcher) lineIDs(t Tier, pat []string) (file, ids []int32) {
	tab := m.table(t)
	for _, l := range pat {
		id, ok := tab.known[lineKey(t, l)]
		if !ok {
			id = -1
		}
		ids = append(ids, id)
	}
	return tab.ids, ids
}

func (m *matcher) table(t Tier) *lineTable {
	if m.tables[t] == nil {
		if t == T0 {
			m.tables[t] = m.exactTable()
		} else {
			m.tables[t] = m.newTable(t)
		}
	}
	return m.tables[t]
}

// exactTable numbers the lines by their exact text.
func (m *matcher) exactTable() *lineTable {
	lines, text := m.lines(), string(m.text)
	tab := &lineTable{ids: make([]int32, len(lines)),
		known: make(map[string]int32, min(len(lines), 1<<15))}
	for i, l := range lines {
		k := text[l.start:l.end]
		id, ok := tab.known[k]
		if !ok {
			id = int32(len(tab.distinct))
			tab.known[k] = id
			tab.distinct = append(tab.distinct, k)
		}
		tab.ids[i] = id
	}
	return tab
}

// newTable numbers lines by the text that tier t compares. It normalizes each distinct line once.
func (m *matcher) newTable(t Tier) *lineTable {
	exact := m.table(T0)
	as := make([]int32, len(exact.distinct))
	tab := &lineTable{ids: make([]int32, len(exact.ids)), known: make(map[string]int32, len(as))}
	for i, l := range exact.distinct {
		k := lineKey(t, l)
		id, ok := tab.known[k]
		if !ok {
			id = int32(len(tab.known))
			tab.known[k] = id
		}
		as[i] = id
	}
	for i, id := range exact.ids {
		tab.ids[i] = as[id]
	}
	return tab
}

// sequence lists the positions of ids in file, including overlapping ones (Knuth-Morris-Pratt).
func sequence(file, ids []int32) []int {
	fail := make([]int, len(ids)+1)
	for i, k := 1, 0; i < len(ids); i++ {
		for k > 0 && ids[i] != ids[k] {
			k = fail[k]
		}
		if ids[i] == ids[k] {
			k++
		}
		fail[i+1] = k
	}
	var out []int
	k := 0
	for i, id := range file {
		for k > 0 && (k == len(ids) || id != ids[k]) {
			k = fail[k]
		}
		if id == ids[k] {
			k++
		}
		if k == len(ids) {
			out = append(out, i-k+1)
		}
	}
	return out
}

// shifts lists every shift from the pattern's indent to that of the file's lines from index at on.
// There may be no shift, one, or several with different interpretations of the units.
func (m *matcher) shifts(pat []string, at int) []shift {
	var old, file []string
	for i, l := range pat {
		if t := strings.TrimSpace(l); t != "" {
			ln := m.lines()[at+i]
			f := string(m.text[ln.start:ln.end])
			if mixed(indentOf(f), t) || mixed(indentOf(l), t) {
				return nil
			}
			old, file = append(old, indentOf(l)), append(file, indentOf(f))
		}
	}
	if s, ok := prefixShift(old, file); ok {
		return []shift{s}
	}
	return unitShifts(old, file)
}

func prefixShift(old, file []string) (shift, bool) {
	var s shift
	if o, f := old[0], file[0]; strings.HasSuffix(f, o) {
		s.add = f[:len(f)-len(o)]
	} else if strings.HasSuffix(o, f) {
		s.remove = o[:len(o)-len(f)]
	} else {
		return s, false
	}
	for i := range old {
		if s.add+old[i] != s.remove+file[i] {
			return s, false
		}
	}
	return s, !kindsDiffer(old, file)
}

// kindsDiffer reports whether some lines of a block are indented by tabs and others by spaces.
func kindsDiffer(old, file []string) bool {
	for _, block := range [][]string{old, file} {
		all := strings.Join(block, "")
		if strings.Contains(all, "\t") &&
			strings.Contains(strings.ReplaceAll(all, "\t ", "\t"), "  ") {
			return true
		}
	}
	return false
}

// unitShifts tries the usual widths of a tab. An interpretation without extra levels has priority,
// because models swap tabs and spaces more often than they also move the block.
func unitShifts(old, file []string) []shift {
	var out []shift
	for _, width := range []int{4, 2, 8, 3} {
		unit := strings.Repeat(" ", width)
		for _, s := range []shift{{from: unit, to: "\t"}, {from: "\t", to: unit}} {
			n, ok1 := levelsOf(file[0], s.to)
			o, ok2 := levelsOf(old[0], s.from)
			if s.levels = n - o; !ok1 || !ok2 || !s.fits(old, file) {
				continue
			}
			if s.levels == 0 && maxLen(old) > 0 {
				return []shift{s}
			}
			out = append(out, s)
		}
	}
	return out
}

func (s shift) fits(old, file []string) bool {
	for i := range old {
		if got, ok := s.apply(old[i] + "x"); !ok || got != file[i]+"x" {
			return false
		}
	}
	return true
}

func levelsOf(indent, unit string) (int, bool) {
	if strings.Trim(indent, unit[:1]) != "" || len(indent)%len(unit) != 0 {
		return 0, false
	}
	return len(indent) / len(unit), true
}

func maxLen(ss []string) int {
	n := 0
	for _, s := range ss {
		n = max(n, len(s))
	}
	return n
}

func sameTrimmed(a, b string) bool {
	la, lb := contents(a), contents(b)
	if len(la) != len(lb) {
		return false
	}
	for i := range la {
		if strings.TrimSpace(la[i]) != strings.TrimSpace(lb[i]) {
			return false
		}
	}
	return true
}
