package script

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/lazyregexp"
)

// view is the part of a request that a script and a strict provider check. All APIs use the same
// view.
type view struct {
	received
	messages           []seen
	lastUser, lastTool string
	tools              string   // names of the tools, each followed by a space
	texts              []string // the system prompt and each message
	endsWithAnswer     bool     // whether the last message may be from the assistant
	// wrong is the reason why a strict provider refuses the request before it checks the messages.
	wrong error
}

// received is a request as it arrived.
type received struct {
	path string
	body []byte // the body, as JSON
}

// text returns the path of the request and, on the next line, its JSON.
func (r received) text() string { return r.path + "\n" + string(r.body) }

type seen struct {
	role   string
	empty  bool
	callID string // the call to which a tool result belongs
	calls  []seenCall
}

type seenCall struct{ id, name, args string }

// bytesPerToken is the number of bytes per token that the overflow check assumes.
const bytesPerToken = 4

var toolName = lazyregexp.New(`^[a-zA-Z0-9_-]{1,64}$`)

// refusal is an error with the text of a strict provider.
type refusal struct {
	code, text string
}

func (e *refusal) Error() string { return e.text }

func invalid(format string, args ...any) error {
	return &refusal{"invalid_request_error", fmt.Sprintf(format, args...)}
}

// strict returns an error for requests that real providers refuse. The error texts resemble those
// of real providers.
func (v *view) strict(window int) error {
	if window > 0 && len(v.body)/bytesPerToken > window {
		return &refusal{"context_length_exceeded", fmt.Sprintf(
			"This model's maximum context length is %d tokens. However, your messages resulted in %d tokens. Please reduce the length of the messages.", window, len(v.body)/bytesPerToken)}
	}
	if v.wrong != nil {
		return v.wrong
	}
	waiting := map[string]bool{} // IDs of calls that have no result yet
	ids := map[string]bool{}
	last := ""
	for i := range v.messages {
		m := &v.messages[i]
		if m.role != "tool" && len(waiting) > 0 {
			return invalid("messages[%d]: an assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'; missing: %s", i, anyKey(waiting))
		}
		if err := m.check(i, last, waiting, ids); err != nil {
			return err
		}
		if m.role != "system" && m.role != "developer" {
			last = m.role
		}
	}
	switch {
	case len(waiting) > 0:
		return invalid("an assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'; missing: %s", anyKey(waiting))
	case last != "user" && last != "tool" && !v.endsWithAnswer:
		return invalid("expected the last message to be of role user or tool, but it is %q", last)
	}
	return nil
}

func (m *seen) check(i int, last string, waiting, ids map[string]bool) error {
	switch m.role {
	case "tool":
		if !waiting[m.callID] {
			return invalid("messages[%d]: messages with role 'tool' must be a response to a preceding message with 'tool_calls'; id %q is not waiting", i, m.callID)
		}
		delete(waiting, m.callID)
	case "assistant":
		return m.checkAssistant(i, last, waiting, ids)
	case "user", "system", "developer":
	default:
		return invalid("messages[%d]: unknown role %q", i, m.role)
	}
	return nil
}

func (m *seen) checkAssistant(i int, last string, waiting, ids map[string]bool) error {
	switch {
	case last == "":
		return invalid("messages[%d]: the first message must be of role user", i)
	case last == "assistant":
		return invalid("messages[%d]: two messages of role assistant in a row: roles must alternate", i)
	case m.empty && len(m.calls) == 0:
		return invalid("messages[%d]: an assistant message must have content or tool_calls", i)
	}
	for _, c := range m.calls {
		switch {
		case c.id == "" || ids[c.id]:
			return invalid("messages[%d]: tool call id %q is empty or used twice", i, c.id)
		case !toolName().MatchString(c.name):
			return invalid("messages[%d]: tool name %q does not match %s", i, c.name, toolName())
		case !isObject(c.args):
			return invalid("messages[%d]: the arguments of %s are not a JSON object", i, c.name)
		}
		ids[c.id], waiting[c.id] = true, true
	}
	return nil
}

func isObject(s string) bool {
	var o map[string]json.RawMessage
	return json.Unmarshal([]byte(s), &o) == nil && o != nil
}

func anyKey(set map[string]bool) string {
	for k := range set {
		return k
	}
	return ""
}

// wireMessage is a message of a chat request.
type wireMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	ToolCallID string          `json:"tool_call_id"`
	ToolCalls  []struct {
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

// wireTool is a tool of a chat request.
type wireTool struct {
	Function struct {
		Name string `json:"name"`
	} `json:"function"`
}

// viewOfWire returns the view of a chat request.
func viewOfWire(messages []wireMessage, tools []wireTool, got received) *view {
	v := &view{received: got}
	for i := range tools {
		v.tools += tools[i].Function.Name + " "
	}
	for i := range messages {
		w := &messages[i]
		text := contentText(w.Content)
		m := seen{role: w.Role, empty: text == "", callID: w.ToolCallID}
		for _, c := range w.ToolCalls {
			m.calls = append(m.calls, seenCall{c.ID, c.Function.Name, c.Function.Arguments})
		}
		v.add(m, text)
	}
	return v
}

// sent returns all text that was sent.
func (v *view) sent() string { return strings.Join(v.texts, "\n") }

func (v *view) add(m seen, text string) {
	v.texts = append(v.texts, text)
	switch m.role {
	case "user":
		v.lastUser = text
	case "tool":
		v.lastTool = text
	}
	v.messages = append(v.messages, m)
}

// contentText returns the text of a message's content, which is a string or a list of parts.
func contentText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var parts []struct{ Type, Text string }
	_ = json.Unmarshal(raw, &parts)
	for _, p := range parts {
		if s += p.Text; p.Type != "text" && p.Type != "input_text" && p.Type != "output_text" {
			s += "[" + p.Type + "]"
		}
	}
	return s
}
