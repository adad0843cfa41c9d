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
		{"`truncate`: characters to keep at the start of a result", trimHead},
		{"`truncate`: characters to keep at the end of a result", trimTail},
		{"`truncate`: newest results to keep", trimKeep},
		{"`truncate`: size in bytes above which an old argument is cut", argBytes},
		{"`turn_summaries`: characters of the request to keep", summaryAsked},
		{"`turn_summaries`: characters of the answer to keep", summaryAnswer},
		{"`turn_summaries`: files to list", summaryFiles},
		{"`summary`: maximum number of attempts, each with a fifth less history", summaryTries},
		{"`summary`: maximum length of the notes in tokens", summaryMaxTokens},
		{"`summary`: maximum bytes of a message in the transcript", transcriptText},
		{"`summary`: maximum bytes of a result in the transcript", transcriptResult},
		{"`summary`: maximum bytes of an argument in the transcript", transcriptArg},
		{"`importance`: messages to keep at the start, each with its tool results", importanceHead},
		{"`importance`: messages to keep at the end", importanceTail},
		{"recent messages to keep: the target is divided by this number", recentShare},
		{"recent messages to keep: minimum number of tokens", recentMin},
		{"recent messages to keep: maximum number of tokens", recentMax},
		{"`emergency`: length in characters above which a result is cut", emergencyResult},
		{"`emergency`: characters to keep at the start of a result", emergencyHead},
		{"`emergency`: characters to keep at the end of a result", emergencyTail},
		{"`emergency`: length in characters above which an old message is cut", emergencyOld},
		{"`emergency`: characters to keep at the start of an old message", emergencyOHead},
		{"`emergency`: characters to keep at the end of an old message", emergencyOTail},
		{"`emergency`: minimum length of a shortened result in characters", smallestResult},
	}
}
