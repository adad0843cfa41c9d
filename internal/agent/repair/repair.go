// Package repair mends what models send: tool calls with broken ids, names and arguments
// (Normalize), calls written as text (ParseCalls), JSON that nearly is JSON (JSON), answers
// that are none (Validate), terminal escapes (StripANSI). It decides nothing: each part
// returns what it found, and the engine acts on it. Every part takes linear time and has
// its switch in Options. Start at Normalize and Validate.
package repair

import "strings"

// Options switches the parts. The zero value switches all off; see Default.
type Options struct {
	Normalizer bool
	// FallbackParser looks for calls in the text of messages that have no structured call.
	// It is meant for models without tool support and where the user turned it on.
	FallbackParser bool
	StripANSI      bool // remove terminal escapes from the text of answers

	// The response validator's checks.
	Blank, Truncated, Tentative, Repetitive, ReasoningOnly bool

	// NewID makes the id of a call that has none, or one that is taken; nil: random.
	NewID func() string
	// Taken says whether a call id is used earlier in the session; nil: none is.
	Taken func(id string) bool
}

// Default is what holds when nothing is set.
func Default() Options {
	return Options{Normalizer: true, Blank: true, Truncated: true, StripANSI: true}
}

// The names of the validator's checks in Config.repair.validator.
const (
	CheckBlank         = "blank"
	CheckTruncated     = "truncated"
	CheckTentative     = "tentative"
	CheckRepetitive    = "repetitive"
	CheckReasoningOnly = "reasoningOnly"
)

// WithChecks returns o with exactly the named checks on; an unknown name is ignored.
func (o Options) WithChecks(names []string) Options {
	has := func(want string) bool {
		for _, n := range names {
			if strings.EqualFold(n, want) {
				return true
			}
		}
		return false
	}
	o.Blank, o.Truncated, o.Tentative = has(CheckBlank), has(CheckTruncated), has(CheckTentative)
	o.Repetitive, o.ReasoningOnly = has(CheckRepetitive), has(CheckReasoningOnly)
	return o
}
