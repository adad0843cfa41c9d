package repair

// Number is a threshold or limit of this package.
type Number struct {
	What  string
	Value float64
}

// Numbers lists the thresholds and limits for docs/contribute/engine.md.
func Numbers() []Number {
	return []Number{
		{"minimum number of words in an answer after tool calls; a shorter answer may be a planning note", tentativeWords},
		{"minimum number of words in each of two answers before they are compared for repetition", repetitiveWords},
		{"fraction of the shorter answer's words that must be common to both answers for a repetition",
			repetitiveShare},
		{"minimum number of visible words in an answer; a shorter answer may be treated as reasoning only", reasoningVisible},
		{"minimum number of characters of reasoning in an answer that is treated as reasoning only", reasoningRunes},
		{"maximum number of calls parsed from the text of one answer", maxFound},
		{"maximum number of positions in one answer at which each parser looks for a call", maxTries},
		{"maximum cost of matching brackets, as a multiple of the answer's length", budgetFactor},
		{"maximum number of bytes between the start of a line and a call in that line", maxLineBack},
		{"maximum number of lines between a call's name and its arguments, if they are on separate lines",
			maxArgsDistance},
		{"maximum length in bytes of a line that contains only the name of a call", maxNameLine},
		{"maximum length in bytes of a name in a tag", maxName},
		{"maximum number of parameters in a call that is written in tags", maxParameters},
		{"maximum number of JSON levels around a call", maxShapeDepth},
		{"maximum nesting depth of JSON that is repaired", maxDepth},
		{"maximum number of attempts to find an unused ID for a call", idTries},
		{"maximum length in bytes of the parameters of a removed terminal control sequence", maxParams},
		{"maximum length in bytes of a removed terminal control string", maxString},
	}
}
