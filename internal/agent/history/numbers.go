package history

// Number is a threshold of a reducer.
type Number struct {
	What  string
	Value float64
}

// Numbers lists the thresholds of the estimate and of the reducers for docs/reference/context.md,
// in the order in which the reducers run.
func Numbers() []Number {
	return []Number{
		{"estimate: bytes of a token of plain text", bytesPerToken},
		{"estimate: tokens of an image", tokensImage},
		{"estimate: tokens of a wide character", tokensWideRune},
		{"estimate: tokens of a message's frame", tokensMessage},
		{"estimate: tokens of a call's frame", tokensCall},
		{"`dedupe`: versions of a file that stay", keepReads},
		{"`dedupe`: outputs of a command that stay", keepOutputs},
		{"`mask`: bytes beyond which a result is masked", maskBytes},
		{"`mask`: newest results that stay", maskKeep},
		{"`truncate`: characters beyond which a result is cut", trimRunes},
		{"`truncate`: characters of its head", trimHead},
		{"`truncate`: characters of its tail", trimTail},
		{"`truncate`: newest results that stay", trimKeep},
		{"`truncate`: bytes beyond which an old argument is cut", argBytes},
		{"`turn_summaries`: characters of the request", summaryAsked},
		{"`turn_summaries`: characters of the answer", summaryAnswer},
		{"`turn_summaries`: files that are named", summaryFiles},
		{"`summary`: tries, each with a fifth less", summaryTries},
		{"`summary`: tokens of the notes at most", summaryMaxTokens},
		{"`summary`: bytes of a text in the transcript", transcriptText},
		{"`summary`: bytes of a result in the transcript", transcriptResult},
		{"`summary`: bytes of an argument in the transcript", transcriptArg},
		{"`importance`: first units that stay", importanceHead},
		{"`importance`: last messages that stay", importanceTail},
		{"recent past: part of the target", recentShare},
		{"recent past: tokens at least", recentMin},
		{"recent past: tokens at most", recentMax},
		{"`emergency`: characters beyond which a result is cut", emergencyResult},
		{"`emergency`: characters of its head", emergencyHead},
		{"`emergency`: characters of its tail", emergencyTail},
		{"`emergency`: characters beyond which an old message is cut", emergencyOld},
		{"`emergency`: characters of its head then", emergencyOHead},
		{"`emergency`: characters of its tail then", emergencyOTail},
		{"`emergency`: characters to which results may shrink", smallestResult},
	}
}
