// Package repair repairs the output of models: tool calls with invalid IDs, names and arguments
// (Normalize), calls written as text (ParseCalls), unusable replies (Validate), and terminal escape
// sequences (StripANSI). It makes no decisions. Each function returns its findings, and the engine
// acts on them. All functions take linear time. Options switches the repairs on or off. Start at
// Normalize and Validate.
package repair

import "strings"

// Options switches the repairs on or off. The zero value switches all of them off (see Default).
type Options struct {
	Normalizer bool
	// FallbackParser searches for calls in the text of messages without structured calls. It is
	// meant for models without tool support and for users who turn it on.
	FallbackParser bool
	StripANSI      bool // remove terminal escape sequences from the text of replies

	// The checks of the response validator.
	Blank, Truncated, Tentative, Repetitive, ReasoningOnly bool

	// NewID returns an ID for a call whose ID is missing or already used. If it is nil, IDs are
	// random.
	NewID func() string
	// Taken reports whether a call ID was used earlier in the session. If it is nil, no ID was
	// used.
	Taken func(id string) bool
}

// Default returns the options that apply if nothing is configured.
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

// WithChecks returns o with exactly the named checks enabled. Unknown names are ignored.
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
