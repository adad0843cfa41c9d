package agent

import "time"

// The engine's defaults and limits. A test checks that docs/contribute/engine.md lists the same
// values.
const (
	// DefaultMaxModelCalls is the maximum number of model calls in one turn.
	DefaultMaxModelCalls = 200
	// DefaultQueueLimit is the maximum number of queued messages in a session.
	DefaultQueueLimit = 100
	// DefaultHookTimeout is the time limit for one call of a hook without its own timeout.
	DefaultHookTimeout = 60 * time.Second

	// MaxParallelCalls is the maximum number of read-only calls that run concurrently.
	MaxParallelCalls = 8

	// MaxRephrase is the maximum number of times that the model is asked to rephrase a filtered
	// reply.
	MaxRephrase = 1
	// MaxVetoes is the maximum number of times that hooks may veto the end of one turn.
	MaxVetoes = 10

	// modelGrace is the time that a model call may take to end after its context has ended.
	modelGrace = time.Second

	// maxRemembered is the maximum number of ended turns that a session remembers.
	maxRemembered = 1024
	// maxTitle is the maximum length, in runes, of a title derived from the first prompt.
	maxTitle = 80
)

// Texts that the model or the user receives.
const (
	// SkippedText is the result of a call that was skipped because of a steer.
	SkippedText = "Skipped due to queued user message."
	// FalteredText explains to the user why a permission that they gave in advance is no longer
	// valid.
	FalteredText = "you are asked again because an earlier call in the same reply did not succeed"
	// StoppedText marks the end of a reply that was stopped because it was too long.
	StoppedText = "[This reply was stopped because it was longer than allowed]"
	// AbortedText marks an abort while the model was replying.
	AbortedText = "[Request interrupted by user]"
	// AbortedToolsText marks an abort after tools have run.
	AbortedToolsText = "[Request interrupted by user for tool use]"
	// InterruptedText is the result of a call that was running when the process ended.
	InterruptedText = "Interrupted by a restart while it was running. It may have had an effect, so check before you repeat it."
	// NotRunText is the result of a call that had not started when the process ended.
	NotRunText = "Not run: interrupted by a restart."
)

// unstoredText replaces a one-shot steer that began a session, because such a steer is not stored.
const unstoredText = "[This message was not stored.]"

// nudgeResume asks the model to continue its own reply. It is sent once and never stored.
const nudgeResume = "Continue from where you left off."
