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
		{"estimate: bytes per token of plain text", bytesPerToken},
		{"estimate: tokens per image", tokensImage},
		{"estimate: tokens per wide character", tokensWideRune},
		{"estimate: tokens that each message adds", tokensMessage},
		{"estimate: tokens that each call adds", tokensCall},
		{"`dedupe`: versions of a file to keep", keepReads},
		{"`dedupe`: outputs of a command to keep", keepOutputs},
		{"`mask`: size in bytes above which a result is masked", maskBytes},
		{"`mask`: newest results to keep", maskKeep},
		{"`truncate`: length in characters above which a result is cut", trimRunes},
		{"`truncate`: characters to keep at its start", trimHead},
		{"`truncate`: characters to keep at its end", trimTail},
		{"`truncate`: newest results to keep", trimKeep},
		{"`truncate`: size in bytes above which an old argument is cut", argBytes},
		{"`turn_summaries`: characters of the request to keep", summaryAsked},
		{"`turn_summaries`: characters of the answer to keep", summaryAnswer},
		{"`turn_summaries`: files to name", summaryFiles},
		{"`summary`: attempts, each with a fifth less of the history", summaryTries},
		{"`summary`: maximum tokens of the notes", summaryMaxTokens},
		{"`summary`: maximum bytes of a text in the transcript", transcriptText},
		{"`summary`: maximum bytes of a result in the transcript", transcriptResult},
		{"`summary`: maximum bytes of an argument in the transcript", transcriptArg},
		{"`importance`: first units to keep", importanceHead},
		{"`importance`: last messages to keep", importanceTail},
		{"recent messages: one part in this many of the target", recentShare},
		{"recent messages: minimum tokens", recentMin},
		{"recent messages: maximum tokens", recentMax},
		{"`emergency`: length in characters above which a result is cut", emergencyResult},
		{"`emergency`: characters to keep at its start (result)", emergencyHead},
		{"`emergency`: characters to keep at its end (result)", emergencyTail},
		{"`emergency`: length in characters above which an old message is cut", emergencyOld},
		{"`emergency`: characters to keep at its start (message)", emergencyOHead},
		{"`emergency`: characters to keep at its end (message)", emergencyOTail},
		{"`emergency`: shortest result in characters", smallestResult},
	}
}
