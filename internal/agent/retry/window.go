package retry

import (
	"strconv"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/lazyregexp"
)

// The plausible sizes of a window, in tokens. Any other number in an error has another meaning.
const (
	minWindow = 256
	maxWindow = 100_000_000
)

// windowWords are patterns that find the window's size in an error. The most reliable pattern comes
// first. They must never match the number of tokens that were sent, which most providers also
// report.
var windowWords = []lazyregexp.Regexp{
	lazyregexp.New(
		`(?i)"n_ctx"\s*:\s*(\d+)`,
	), // llama.cpp, outside the message
	lazyregexp.New(
		`(?i)\d\s*(?:tokens?)?\s*>\s*(\d[\d,]*)`,
	), // "210000 tokens > 200000 maximum"
	lazyregexp.New(
		`(?i)(\d[\d,]*)(?:[ -]tokens?)?\s+(?:maximum|max\.?) context`,
	), // "32768 maximum context length"
	lazyregexp.New(
		`(?i)(?:context|prompt|model|input)[ _](?:length|size|window|limit)\D{0,40}?(\d[\d,]*)`,
	), // "maximum context length is 8192 tokens"
	lazyregexp.New(
		`(?i)(?:limit|maximum|at most|<=)\D{0,40}?(\d[\d,]*)`,
	), // "exceeds the limit of 128000"
}

// windowIn returns the size of the model's window that an overflow error reports, or 0.
func windowIn(text string) int {
	for _, find := range windowWords {
		m := find().FindStringSubmatch(text)
		if m == nil {
			continue
		}
		if n, err := strconv.Atoi(
			strings.ReplaceAll(m[1], ",", ""),
		); err == nil && n >= minWindow &&
			n <= maxWindow {
			return n
		}
	}
	return 0
}
