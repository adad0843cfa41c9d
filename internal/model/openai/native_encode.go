package openai

import (
	"bytes"
	"encoding/json"
	"slices"
	"unicode/utf8"

	modelhttp "github.com/agent-lsp/agent-lsp/internal/model/http"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
)

// The forms in which the calls of a message are sent, one byte per call.
const (
	asFunction  = '-'
	asPatch     = 'p'
	asShell     = 's' // the first command of a shell item
	asShellMore = 'm' // a further command of the same shell item
)

// nativeForms returns the forms in which the calls of a message can be sent, in order, or nil if no
// call is native. A call whose arguments no longer match its item is sent as a function.
func nativeForms(m *message.Message) []byte {
	if !slices.ContainsFunc(m.Content, func(b message.Block) bool {
		return b.Type == message.ToolUse && bytes.Contains(b.Opaque, []byte(`"openaiItem"`))
	}) {
		return nil
	}
	forms, _ := m.Encoded("openai/native", func(m *message.Message) ([]byte, error) {
		return findForms(m), nil
	})
	return forms
}

func findForms(m *message.Message) (forms []byte) {
	first, sound := 0, false // start of the current shell item, and whether the item is complete
	for i := range m.Content {
		b := &m.Content[i]
		if b.Type != message.ToolUse || b.Call == nil {
			continue
		}
		form := byte(asFunction)
		switch o := originOf(b); {
		case o.Item == patchItem && b.Call.Name == patchTool:
			if _, _, ok := splitPatch(o.Operation, b.Call.Args); ok {
				form = asPatch
			}
		case o.Item == shellItem && b.Call.Name == shellTool:
			_, ok := commandOf(b.Call)
			goesOn := o.Part > 0 && len(forms) > 0 && o.Part == len(forms)-first
			switch {
			case ok && o.Part == 0:
				form, first, sound = asShell, len(forms), true
			case goesOn && ok && sound:
				form = asShellMore
			case goesOn && sound: // the item is incomplete without this command
				sound = false
				for k := first; k < len(forms); k++ {
					forms[k] = asFunction
				}
			}
		}
		sound = sound && (form == asShell || form == asShellMore)
		forms = append(forms, form)
	}
	return forms
}

// commandOf returns the command of a bash call.
func commandOf(c *message.ToolCall) (string, bool) {
	var a struct{ Command *string }
	if json.Unmarshal(c.Args, &a) != nil || a.Command == nil {
		return "", false
	}
	return *a.Command, true
}

// formsOf returns the forms in which the calls of a message are sent in this request.
func (k can) formsOf(m *message.Message) []byte {
	if !k.patch && !k.shell {
		return nil
	}
	forms := nativeForms(m)
	if k.patch && k.shell || forms == nil {
		return forms
	}
	sent := slices.Clone(forms)
	for i, f := range sent {
		if f == asPatch && !k.patch || f != asPatch && !k.shell {
			sent[i] = asFunction
		}
	}
	return sent
}

// appendPatchCall appends a call as an apply_patch_call.
func appendPatchCall(p *message.Block) []byte {
	o := originOf(p)
	path, diff, _ := splitPatch(o.Operation, p.Call.Args)
	b := []byte(`{"type":"apply_patch_call","status":"completed"`)
	b = modelhttp.AppendField(b, "call_id", p.Call.ID)
	b = append(modelhttp.AppendKey(b, "operation"), '{')
	b = modelhttp.AppendField(modelhttp.AppendField(b, "type", o.Operation), "path", path)
	if o.Operation != "delete_file" {
		b = modelhttp.AppendField(b, "diff", diff)
	}
	return append(b, "}}"...)
}

// shellParts returns the calls of the shell item at the start of rest.
func shellParts(rest []message.Block) (calls []*message.Block) {
	for i := range rest {
		p := &rest[i]
		if p.Type != message.ToolUse || p.Call == nil {
			continue
		}
		o := originOf(p)
		_, ok := commandOf(p.Call)
		if !ok || o.Item != shellItem || o.Part != len(calls) || p.Call.Name != shellTool {
			break
		}
		calls = append(calls, p)
	}
	return calls
}

// appendShellCall appends calls as one shell_call.
func appendShellCall(calls []*message.Block) []byte {
	o := originOf(calls[0])
	b := []byte(`{"type":"shell_call","status":"completed"`)
	b = modelhttp.AppendField(b, "call_id", calls[0].Call.ID)
	b = append(modelhttp.AppendKey(b, "action"), `{"commands":[`...)
	start := len(b)
	for _, p := range calls {
		command, _ := commandOf(p.Call)
		b = modelhttp.AppendString(modelhttp.Next(b, start), command)
	}
	b = append(b, ']')
	if o.TimeoutMs > 0 {
		b = modelhttp.AppendInt(b, "timeout_ms", o.TimeoutMs)
	}
	if o.MaxOutput > 0 {
		b = modelhttp.AppendInt(b, "max_output_length", o.MaxOutput)
	}
	return append(b, "}}"...)
}

// nativeResults writes the results of one message's tool calls. The results of a shell item's
// commands form one output.
type nativeResults struct {
	forms map[string]byte // by call ID
	calls map[string]*message.Block
	open  bool // whether an output is still open
}

// begin sets the message whose results follow, and the forms of its calls.
func (n *nativeResults) begin(m *message.Message, forms []byte) {
	clear(n.forms)
	if forms == nil {
		return
	}
	if n.forms == nil {
		n.forms, n.calls = map[string]byte{}, map[string]*message.Block{}
	}
	for i := range m.Content {
		if p := &m.Content[i]; p.Type == message.ToolUse && p.Call != nil {
			n.forms[p.Call.ID], n.calls[p.Call.ID] = forms[0], p
			forms = forms[1:]
		}
	}
}

// form returns the form in which a tool result is sent, or 0 for a function result.
func (n *nativeResults) form(m *message.Message) byte {
	if m.Role != message.RoleTool || n.forms == nil {
		return 0
	}
	return n.forms[m.CallID]
}

// close ends the output of a shell item.
func (n *nativeResults) close(b []byte) []byte {
	if n.open {
		b, n.open = append(b, "]}"...), false
	}
	return b
}

// nativeResult appends the result of a native call. ok is false for the result of a function.
func (c *call) nativeResult(
	b []byte,
	start int,
	n *nativeResults,
	m *message.Message,
) (_ []byte, ok bool, _ error) {
	form := n.form(m)
	if form != asShellMore || !n.open {
		b = n.close(b)
	}
	encode := func(key string, encode func(*message.Message) []byte) ([]byte, error) {
		return m.Encoded("openai/native/"+key, func(m *message.Message) ([]byte, error) {
			return encode(m), nil
		})
	}
	var one []byte
	var err error
	switch form {
	case asPatch:
		one, err = encode(patchItem, patchOutput)
		return c.Builder.Put(modelhttp.Next(b, start), one), true, err
	case asShell, asShellMore:
		from := originOf(n.calls[m.CallID])
		part := func(m *message.Message) []byte { return shellPart(m, from.MaxOutput) }
		if form == asShellMore && n.open {
			one, err = encode(shellItem+"/more", part)
			return c.Builder.Put(append(b, ','), one), true, err
		}
		n.open = true
		one, err = encode(shellItem, func(m *message.Message) []byte {
			return append(shellOutput(m.CallID, from.MaxOutput), part(m)...)
		})
		return c.Builder.Put(modelhttp.Next(b, start), one), true, err
	}
	return b, false, nil
}

// patchOutput returns the result of a patch.
func patchOutput(m *message.Message) []byte {
	status := "completed"
	if m.IsError {
		status = "failed"
	}
	b := modelhttp.AppendField([]byte(`{"type":"apply_patch_call_output"`), "call_id", m.CallID)
	b = modelhttp.AppendField(b, "status", status)
	return append(modelhttp.AppendField(b, "output", resultText(m)), '}')
}

func resultText(m *message.Message) string {
	text, ok := plain(m, can{call: true})
	if !ok {
		return m.TextContent()
	}
	return text
}

// shellOutput returns the beginning of the output of a shell item. The API requires the output to
// contain the limit that the model set.
func shellOutput(callID string, limit int) []byte {
	b := modelhttp.AppendField([]byte(`{"type":"shell_call_output"`), "call_id", callID)
	if limit > 0 {
		b = modelhttp.AppendInt(b, "max_output_length", limit)
	}
	return append(modelhttp.AppendKey(b, "output"), '[')
}

// shellPart returns the result of one command. The output of a command is one stream. If the
// command could not run, the reason is reported as stderr.
func shellPart(m *message.Message, limit int) []byte {
	var d struct {
		ExitCode *int
		TimedOut bool
	}
	_ = json.Unmarshal(m.Details, &d)
	stdout, stderr := cutMiddle(resultText(m), limit), ""
	if m.IsError {
		stdout, stderr = "", stdout
	}
	b := modelhttp.AppendField([]byte{'{'}, "stdout", stdout)
	b = modelhttp.AppendField(b, "stderr", stderr)
	b = modelhttp.AppendKey(b, "outcome")
	if d.TimedOut {
		return append(b, `{"type":"timeout"}}`...)
	}
	code := 0
	switch {
	case d.ExitCode != nil:
		code = *d.ExitCode
	case m.IsError:
		code = 1
	}
	b = modelhttp.AppendInt(append(b, `{"type":"exit"`...), "exit_code", code)
	return append(b, "}}"...)
}

// cutMiddle shortens text to limit characters by removing the middle. 0 means no limit.
func cutMiddle(text string, limit int) string {
	n := utf8.RuneCountInString(text)
	if limit <= 0 || n <= limit {
		return text
	}
	runes := []rune(text)
	const mark = "\n[...]\n"
	keep := limit - len(mark)
	if keep <= 0 {
		return string(runes[:limit])
	}
	return string(runes[:keep/2]) + mark + string(runes[n-keep+keep/2:])
}
