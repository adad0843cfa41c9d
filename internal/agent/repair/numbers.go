package repair

// Number is a threshold or limit of this package.
type Number struct {
	What  string
	Value float64
}

// Numbers lists the thresholds and limits for docs/contribute/engine.md.
func Numbers() []Number {
	return []Number{
		{"minimum words of an answer after tool calls; a shorter answer may be a planning note", tentativeWords},
		{"minimum words in each of two answers that are compared for repetition", repetitiveWords},
		{"fraction of the shorter answer's words that must be common to both answers for a repetition",
			repetitiveShare},
		{"minimum visible words of an answer; a shorter answer may count as reasoning only", reasoningVisible},
		{"minimum characters of reasoning in an answer that counts as reasoning only", reasoningRunes},
		{"maximum calls parsed from the text of one answer", maxFound},
		{"maximum positions in one answer at which each parser looks for a call", maxTries},
		{"maximum cost of matching brackets, as a multiple of the answer's length", budgetFactor},
		{"maximum bytes between the start of a line and a call in the line", maxLineBack},
		{"maximum lines between a call's name and its arguments, if they are on separate lines",
			maxArgsDistance},
		{"maximum bytes of a line that contains only the name of a call", maxNameLine},
		{"maximum bytes of a name in a tag", maxName},
		{"maximum number of parameters in a call that is written in tags", maxParameters},
		{"maximum levels of JSON around a call", maxShapeDepth},
		{"maximum nesting of JSON that is repaired", maxDepth},
		{"maximum attempts to find an unused id for a call", idTries},
		{"maximum parameters of a removed terminal control sequence", maxParams},
		{"maximum bytes of a removed terminal string", maxString},
	}
}
