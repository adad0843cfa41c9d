package modelhttp

import (
	"fmt"

	"github.com/agent-lsp/agent-lsp/internal/agent/retry"
)

// Errors for the ways in which a reply can be too long.
var (
	ErrLongReply = fmt.Errorf("text, reasoning and tool arguments: %w", retry.ErrReplyTooLong)
	errLongEvent = fmt.Errorf("one event: %w", retry.ErrReplyTooLong)
	errManyCalls = fmt.Errorf("tool calls: %w", retry.ErrReplyTooLong)
)

// BlockSize is the number of bytes that are counted for a block of a reply in addition to its
// content. It limits the number of blocks, because a provider that alternates between kinds starts
// a block for every token.
const BlockSize = 1 << 10

// Meter limits how much of its reply one call keeps. When Err returns an error, the reader must
// stop reading, so that an endless stream ends. The goroutine that reads the stream owns the meter.
type Meter struct {
	bytes, maxBytes int
	calls, maxCalls int
	err             error
}

// Add counts bytes of the reply that are kept.
func (m *Meter) Add(n int) {
	if m.bytes += n; m.bytes > m.maxBytes && m.err == nil {
		m.err = ErrLongReply
	}
}

// AddCall counts a new tool call.
func (m *Meter) AddCall() {
	m.Add(BlockSize)
	if m.calls++; m.calls > m.maxCalls && m.err == nil {
		m.err = errManyCalls
	}
}

// Err returns an error once the reply is longer than allowed.
func (m *Meter) Err() error { return m.err }

// tooLong returns the error for a reply that exceeded a limit.
func (c *Call) tooLong(err error) error {
	e := &retry.Error{
		Kind: retry.Client,
		Err:  err,
		Hint: "set sampling.maxTokens, rephrase the prompt or choose another model",
	}
	switch err {
	case errManyCalls:
		e.Message = fmt.Sprintf(
			"the reply from %s was stopped because it has more than %d tool calls",
			c.Client.Host,
			c.Meter.maxCalls,
		)
	case errLongEvent:
		e.Message = fmt.Sprintf(
			"the reply from %s was stopped because one of its events is longer than %s",
			c.Client.Host,
			size(c.Client.Options.MaxEvent),
		)
	default:
		e.Message = fmt.Sprintf(
			"the reply from %s was stopped because it is longer than %s",
			c.Client.Host,
			size(c.Client.Options.MaxReply),
		)
	}
	return e
}

// size formats a number of bytes for a message.
func size(bytes int) string {
	if bytes < 1<<20 {
		return fmt.Sprintf("%d bytes", bytes)
	}
	return fmt.Sprintf("%d MiB", bytes>>20)
}
