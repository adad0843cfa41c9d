package repair

// Number is a threshold or limit of this package.
type Number struct {
	What  string
	Value float64
}

// Numbers lists the thresholds and limits for docs/contribute/engine.md.
func Numbers() []Number {
	return []Number{
		{"words below which an answer after tool calls may be a planning note", tentativeWords},
		{"words from which two answers are compared for repetition", repetitiveWords},
		{"share of common words, of the shorter answer, that makes a repetition",
			repetitiveShare},
		{"visible words below which an answer counts as reasoning only", reasoningVisible},
		{"minimum characters of reasoning in such an answer", reasoningRunes},
		{"maximum calls read from the text of one answer", maxFound},
		{"positions of one answer at which each parser looks for a call", maxTries},
		{"maximum cost of matching brackets, as a multiple of the answer's length", budgetFactor},
		{"maximum bytes from the start of a line to a call in it", maxLineBack},
		{"maximum lines from a call's name to its arguments, if both have lines of their own",
			maxArgsDistance},
		{"maximum bytes of such a line with a name", maxNameLine},
		{"maximum bytes of a name in a tag", maxName},
		{"maximum parameters of a call in tags", maxParameters},
		{"maximum levels of JSON around a call", maxShapeDepth},
		{"maximum nesting of JSON that is repaired", maxDepth},
		{"attempts to find a free id for a call", idTries},
		{"maximum parameters of a terminal control sequence that is removed", maxParams},
		{"maximum bytes of a terminal string that is removed", maxString},
	}
}
