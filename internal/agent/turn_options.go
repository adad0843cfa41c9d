package agent

import (
	"encoding/json"
	"maps"
	"reflect"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
)

// TurnOptions are a message's options for the turn that it starts. They override the settings in
// every model call of that turn. A zero or nil field overrides nothing.
type TurnOptions struct {
	Model       string   `json:"model,omitempty"` // a model reference
	Thinking    string   `json:"thinking,omitempty"`
	MaxTokens   int      `json:"maxTokens,omitempty"`
	Temperature *float64 `json:"temperature,omitempty"`
	TopP        float64  `json:"topP,omitempty"`
}

// optionsKey is the key in message.Message.Meta for a message's options, so that a queued message
// still has them after a restart.
const optionsKey = "options"

// keepOptions stores a message's options in the message.
func keepOptions(m *message.Message, o *TurnOptions) {
	if o != nil {
		m.Meta = maps.Clone(m.Meta)
		setMeta(m, optionsKey, o, true)
	}
}

// optionsOf returns the options of a message, or nil if there are none.
func optionsOf(m *message.Message) *TurnOptions {
	raw, ok := m.Meta[optionsKey]
	if !ok {
		return nil
	}
	var o TurnOptions
	if json.Unmarshal(raw, &o) != nil {
		return nil
	}
	return &o
}

// optionsFor returns the options of the turn that the entries start. Without entries, it returns
// the options of the turn that a pause stopped, or of a message that is not stored.
func (s *Session) optionsFor(entries []*entry) *TurnOptions {
	o := s.pause.unsaid
	s.pause.unsaid = nil
	if len(entries) > 0 {
		o = optionsOf(entries[0].msg)
	}
	return o
}

// takeTurnLocked takes the messages that start the next turn. Messages with different options do
// not share a turn.
func (s *Session) takeTurnLocked(mode QueueMode) []*entry {
	if mode == QueueOneAtATime || len(s.inbox.queue) == 0 {
		return s.takeLocked(&s.inbox.queue, mode)
	}
	first, n := optionsOf(s.inbox.queue[0].msg), 1
	for n < len(s.inbox.queue) && reflect.DeepEqual(optionsOf(s.inbox.queue[n].msg), first) {
		n++
	}
	taken := s.inbox.queue[:n:n]
	s.inbox.queue = append([]*entry(nil), s.inbox.queue[n:]...)
	return taken
}

// stoppedOptions returns the options of the last turn, which was waiting for the end of a pause
// when the daemon ended.
func (s *Session) stoppedOptions(turns []Turn) *TurnOptions {
	last := turns[len(turns)-1].TurnID
	for _, m := range s.conv.messages {
		if m.TurnID == last && m.Role == message.RoleUser {
			if o := optionsOf(m); o != nil {
				return o
			}
		}
	}
	return nil
}

// noOptionsLocked drops the options of a steer, with a notice to the user.
func (s *Session) noOptionsLocked(r *SteerRequest) {
	if r.Options != nil {
		r.Options = nil
		s.noticeLocked("warning", OptionsIgnored)
	}
}

// OptionsIgnored is the notice about options of a message that did not start a turn.
const OptionsIgnored = "The options of the message were ignored, because it did not start a turn."
