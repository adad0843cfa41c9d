package search

import (
	"encoding/binary"
	"regexp/syntax"
	"slices"
)

// Limits of the automaton.
const (
	maxStates = 2000    // number of states in memory at a time, about 1 MiB
	maxPlaces = 1 << 18 // program positions in all stored states, 1 MiB
	// maxFlushes is how many times all states are dropped before the automaton gives up.
	maxFlushes = 16
)

type dfaAnswer int

const (
	dfaNo dfaAnswer = iota
	dfaYes
	dfaUnknown // the line is not ASCII, or the pattern has too many states
)

// dfa reports whether a line of ASCII contains a match. It creates its states when they are first
// needed. A state consists of the set of program positions that the line has reached so far, and of
// the kind of the last byte, for word boundaries. A dfa is not safe for concurrent use.
type dfa struct {
	prog    *syntax.Prog
	anchor  bool // a match begins only at the line's beginning
	states  []dfaState
	byKey   map[string]int32
	places  int
	flushes int
	seen    []uint32 // the last closure that reached each position
	mark    uint32
	todo    []uint32
	key     []byte
}

type dfaState struct {
	next [129]int32 // next state by byte; 128 is the line's end; 0 means not known yet
	set  []uint32
	word bool // the last byte belonged to a word
	any  bool // a byte was read
}

const (
	stateMatch = -1
	stateDead  = -2
	endOfLine  = 128
	endOfText  = rune(-1) // the line's end as a character
)

func newDFA(prog *syntax.Prog) *dfa {
	d := &dfa{prog: prog, seen: make([]uint32, len(prog.Inst))}
	d.anchor = prog.StartCond()&(syntax.EmptyBeginText|syntax.EmptyBeginLine) != 0
	d.reset()
	return d
}

func (d *dfa) reset() {
	d.states = append(d.states[:0], dfaState{}) // 0 means unknown
	d.byKey = map[string]int32{}
	d.places = 0
	d.state(nil, false, false)
}

// match checks a line without its line break.
func (d *dfa) match(line []byte) dfaAnswer {
	if d.flushes > maxFlushes {
		return dfaUnknown
	}
	s := int32(1)
	for _, c := range line {
		if c >= 0x80 {
			return dfaUnknown
		}
		t := d.states[s].next[c]
		if t == 0 {
			t = d.step(s, int(c))
		}
		if t < 0 {
			return verdictOf(t)
		}
		s = t
	}
	t := d.states[s].next[endOfLine]
	if t == 0 {
		t = d.step(s, endOfLine)
	}
	return verdictOf(t)
}

func verdictOf(t int32) dfaAnswer {
	if t == stateMatch {
		return dfaYes
	}
	return dfaNo
}

// step creates the state that follows s after the byte c.
func (d *dfa) step(s int32, c int) int32 {
	from := &d.states[s]
	r := rune(c)
	if c == endOfLine {
		r = endOfText
	}
	word := syntax.IsWordChar(r)
	flags := borders(from, c == endOfLine, word)
	set := slices.Clone(from.set)
	if !d.anchor || !from.any {
		set = append(set, uint32(d.prog.Start))
	}
	next, matched := d.closure(set, flags, r)
	var t int32
	flushes := d.flushes
	switch {
	case matched:
		t = stateMatch
	case c == endOfLine || d.anchor && len(next) == 0:
		t = stateDead
	default:
		t = d.state(next, word, true)
	}
	if flushes == d.flushes { // s has not been dropped
		d.states[s].next[c] = t
	}
	return t
}

func borders(from *dfaState, end, word bool) syntax.EmptyOp {
	flags := syntax.EmptyNoWordBoundary
	if from.word != word {
		flags = syntax.EmptyWordBoundary
	}
	if !from.any {
		flags |= syntax.EmptyBeginText | syntax.EmptyBeginLine
	}
	if end {
		flags |= syntax.EmptyEndText | syntax.EmptyEndLine
	}
	return flags
}

// closure starts from set, follows the empty-width transitions that flags permits, and then
// consumes r. It returns the resulting set, and reports whether it found a match before r.
func (d *dfa) closure(set []uint32, flags syntax.EmptyOp, r rune) (next []uint32, matched bool) {
	d.mark++
	d.todo = append(d.todo[:0], set...)
	for len(d.todo) > 0 {
		pc := d.todo[len(d.todo)-1]
		d.todo = d.todo[:len(d.todo)-1]
		if d.seen[pc] == d.mark {
			continue
		}
		d.seen[pc] = d.mark
		switch in := &d.prog.Inst[pc]; in.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			d.todo = append(d.todo, in.Out, in.Arg)
		case syntax.InstCapture, syntax.InstNop:
			d.todo = append(d.todo, in.Out)
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(in.Arg)&^flags == 0 {
				d.todo = append(d.todo, in.Out)
			}
		case syntax.InstMatch:
			return nil, true
		case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
			if r != endOfText && in.MatchRune(r) {
				next = append(next, in.Out)
			}
		}
	}
	slices.Sort(next)
	return slices.Compact(next), false
}

// state returns the number of the state. It creates the state if it is new.
func (d *dfa) state(set []uint32, word, any bool) int32 {
	d.key = d.key[:0]
	for _, pc := range set {
		d.key = binary.LittleEndian.AppendUint32(d.key, pc)
	}
	d.key = append(d.key, boolByte(word), boolByte(any))
	if s, ok := d.byKey[string(d.key)]; ok {
		return s
	}
	if len(d.states) >= maxStates || d.places >= maxPlaces {
		d.flushes++
		key := string(d.key)
		d.reset()
		d.key = append(d.key[:0], key...)
	}
	s := int32(len(d.states))
	d.places += len(set)
	d.states = append(d.states, dfaState{set: set, word: word, any: any})
	d.byKey[string(d.key)] = s
	return s
}

func boolByte(b bool) byte {
	if b {
		return 1
	}
	return 0
}
