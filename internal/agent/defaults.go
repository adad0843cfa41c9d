package agent

import "time"

// The engine's defaults and limits. docs/reference/features.md is checked against them.
const (
	// DefaultMaxModelCalls bounds the model calls of one turn; calls answered in parallel count as
	// one.
	DefaultMaxModelCalls = 200
	// DefaultQueueLimit bounds the messages that wait in a session.
	DefaultQueueLimit = 100
	// DefaultHookTimeout bounds one call of a hook that names no bound of its own.
	DefaultHookTimeout = 60 * time.Second

	// MaxParallelCalls is how many read-only calls run together.
	MaxParallelCalls = 8

	// MaxRephrase bounds how often a filtered reply is asked for in other words.
	MaxRephrase = 1
	// MaxVetoes bounds how often hooks may veto the end of one turn.
	MaxVetoes = 10

	// modelGrace is how long a model call may take to end after its context ended.
	modelGrace = time.Second

	// maxRemembered bounds the ended turns that a session remembers.
	maxRemembered = 1024
	// maxTitle bounds the runes of a title made of the first prompt.
	maxTitle = 80
)

// Texts that become part of the history.
const (
	// SkippedText is the result of a call that a steer overtook.
	SkippedText = "Skipped due to queued user message."
	// FalteredText tells a person why a permission that was given ahead does not count.
	FalteredText = "you are asked again, since what stands before it in the same message did not go as it was to"
	// StoppedText marks the end of a reply that was stopped for its length.
	StoppedText = "[This reply was stopped: it was longer than allowed]"
	// AbortedText marks an abort while the model was answering.
	AbortedText = "[Request interrupted by user]"
	// AbortedToolsText marks an abort after tools ran.
	AbortedToolsText = "[Request interrupted by user for tool use]"
	// InterruptedText is the result of a call that ran when the process ended.
	InterruptedText = "Interrupted by a restart while it ran: it may have had an effect. Check before you repeat it."
	// NotRunText is the result of a call that had not started when the process ended.
	NotRunText = "Not run: interrupted by a restart."
)

// nudgeResume asks a model to go on from an answer of its own. Sent once, never stored.
const nudgeResume = "Continue from where you left off."
