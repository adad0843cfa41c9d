package repair

// Number is a threshold or limit of this package.
type Number struct {
	What  string
	Value float64
}

// Numbers lists the thresholds and limits for docs/contribute/engine.md.
func Numbers() []Number {
	return []Number{
		{"words below which an answer after tools may be a planning note", tentativeWords},
		{"words from which two answers are compared by what they share", repetitiveWords},
		{"share of the shorter answer's words that makes the other its repetition",
			repetitiveShare},
		{"visible words below which an answer is one of reasoning alone", reasoningVisible},
		{"characters of reasoning that such an answer has at least", reasoningRunes},
		{"calls that are read from the text of one answer", maxFound},
		{"places of one answer at which a call is looked for, in each of the ways", maxTries},
		{"times an answer's length that matching its brackets may cost", budgetFactor},
		{"bytes back from a call to its line's beginning", maxLineBack},
		{"lines from a call's name to its arguments, where both are written as lines",
			maxArgsDistance},
		{"bytes of such a line with a name", maxNameLine},
		{"bytes of a name within a tag", maxName},
		{"parameters of a call written in tags", maxParameters},
		{"levels at which a call may be wrapped in JSON", maxShapeDepth},
		{"levels of JSON that is repaired", maxDepth},
		{"tries to find a free id for a call", idTries},
		{"parameters of a terminal's control sequence that is taken out", maxParams},
		{"bytes of a terminal's string that is taken out", maxString},
	}
}
