package script

import (
	"encoding/json"
	"slices"
)

// This file implements the native tools of the responses API. A script calls apply_patch_call and
// shell_call with the item's operation or action as arguments. If the request does not contain the
// tool, the calls are sent as function calls.

// The types of the native calls and of their outputs.
const (
	patchCall   = "apply_patch_call"
	patchOutput = "apply_patch_call_output"
	shellCall   = "shell_call"
	shellOutput = "shell_call_output"
)

// nativeItem contains the fields that only native items have.
type nativeItem struct {
	Status    string          `json:"status"`
	Operation json.RawMessage `json:"operation"`
	Action    json.RawMessage `json:"action"`
	MaxOutput *int            `json:"max_output_length"`
}

type patchOperation struct {
	Type string  `json:"type"`
	Path string  `json:"path"`
	Diff *string `json:"diff"`
}

type shellAction struct {
	Commands  []string `json:"commands"`
	MaxOutput *int     `json:"max_output_length"`
}

// has reports whether the request has a tool of this type.
func (r *responsesRequest) has(tool string) bool {
	return slices.ContainsFunc(r.Tools, func(t itemTool) bool { return t.Type == tool })
}

// native processes a native call of type kind.
func (r *responsesRequest) native(v *view, i int, kind string) {
	w := &r.Input[i]
	args, tool := w.Operation, "apply_patch"
	if kind == shellCall {
		args, tool = w.Action, "shell"
	}
	switch {
	case !r.has(tool):
		v.wrong = invalid("input[%d]: an item of type %q needs the tool %q", i, kind, tool)
	case w.Status != "completed":
		v.wrong = invalid("input[%d].status: %q", i, w.Status)
	case kind == patchCall && !soundOperation(args), kind == shellCall && !soundAction(args):
		v.wrong = invalid("input[%d]: invalid item of type %q: %s", i, kind, args)
	}
	v.answer(false, &seenCall{w.CallID, tool, string(args)})
	r.kind(w.CallID, kind)
}

func soundOperation(raw json.RawMessage) bool {
	var op patchOperation
	if json.Unmarshal(raw, &op) != nil || op.Path == "" {
		return false
	}
	switch op.Type {
	case "create_file", "update_file":
		return op.Diff != nil
	}
	return op.Type == "delete_file" && op.Diff == nil
}

func soundAction(raw json.RawMessage) bool {
	var a shellAction
	return json.Unmarshal(raw, &a) == nil && len(a.Commands) > 0
}

// kind records the type of a call's item, because its output must have the same type.
func (r *responsesRequest) kind(callID, kind string) {
	if r.kinds == nil {
		r.kinds = map[string]string{}
	}
	r.kinds[callID] = kind
}

// output processes the result of a call. of is the type of the call.
func (r *responsesRequest) output(v *view, i int, of string) {
	w := &r.Input[i]
	if kind := r.kinds[w.CallID]; kind != of {
		v.wrong = invalid("input[%d]: No tool call of type %q found for %s with call_id %q", i, of,
			w.Type, w.CallID)
	}
	text := contentText(w.Output)
	switch of {
	case patchCall:
		if w.Status != "completed" && w.Status != "failed" {
			v.wrong = invalid("input[%d].status: %q", i, w.Status)
		}
	case shellCall:
		var err error
		if text, err = r.shellText(w); err != nil {
			v.wrong = invalid("input[%d]: %s", i, err)
		}
	}
	v.add(seen{role: "tool", callID: w.CallID}, text)
}

// shellText returns the output of a shell item's commands. It checks that the result matches the
// call.
func (r *responsesRequest) shellText(w *wireItem) (text string, err error) {
	var parts []struct {
		Stdout, Stderr *string
		Outcome        struct {
			Type     string `json:"type"`
			ExitCode *int   `json:"exit_code"`
		}
	}
	if json.Unmarshal(w.Output, &parts) != nil || len(parts) == 0 {
		return "", invalid("output is %s, but it must be a list of stdout, stderr and outcome", w.Output)
	}
	var a shellAction
	for j := range r.Input {
		if c := &r.Input[j]; c.Type == shellCall && c.CallID == w.CallID {
			_ = json.Unmarshal(c.Action, &a)
		}
	}
	switch {
	case len(parts) != len(a.Commands):
		return "", invalid("%d outputs for %d commands", len(parts), len(a.Commands))
	case a.MaxOutput != nil && (w.MaxOutput == nil || *w.MaxOutput != *a.MaxOutput):
		return "", invalid("max_output_length must be %d, the value in the call", *a.MaxOutput)
	}
	for _, p := range parts {
		exits := p.Outcome.Type == "exit" && p.Outcome.ExitCode != nil
		if p.Stdout == nil || p.Stderr == nil || !exits && p.Outcome.Type != "timeout" {
			return "", invalid("a part of the output is not complete: %s", w.Output)
		}
		text += *p.Stdout + *p.Stderr + "\n"
	}
	return text, nil
}

// nativeCall returns a call as a native item, or nil if the request does not contain the tool.
func (p *itemPlayer) nativeCall(c call) map[string]any {
	item := map[string]any{"type": c.Name, "id": p.itemID("nc"), "call_id": c.ID}
	item["status"] = "completed"
	switch {
	case c.Name == patchCall && p.req.has("apply_patch"):
		item["operation"] = json.RawMessage(c.args)
	case c.Name == shellCall && p.req.has("shell"):
		item["action"] = json.RawMessage(c.args)
	default:
		return nil
	}
	return item
}

// playNative streams a native item.
func (p *itemPlayer) playNative(c call, item map[string]any) {
	first := map[string]any{"type": c.Name, "id": item["id"], "call_id": c.ID}
	first["status"] = "in_progress"
	var op patchOperation
	var a shellAction
	_, _ = json.Unmarshal([]byte(c.args), &op), json.Unmarshal([]byte(c.args), &a)
	p.pause()
	if c.Name == shellCall {
		first["action"] = map[string]any{"commands": []string{}}
		p.begin(first)
		for k, command := range a.Commands {
			at := []any{"output_index", len(p.done), "command_index", k}
			p.event("response.shell_call_command.added", append(at, "command", "")...)
			for _, s := range pieces(command, p.step.Chunks) {
				p.pause()
				delta := append(at, "delta", s, "obfuscation", "x")
				p.event("response.shell_call_command.delta", delta...)
			}
			p.event("response.shell_call_command.done", append(at, "command", command)...)
		}
	} else {
		operation := map[string]any{"type": op.Type, "path": op.Path}
		if op.Diff != nil {
			operation["diff"] = ""
		}
		first["operation"] = operation
		p.begin(first)
		if op.Diff != nil {
			p.pieces("response.apply_patch_call_operation_diff.delta", *op.Diff)
			done := "response.apply_patch_call_operation_diff.done"
			p.event(done, "output_index", len(p.done), "diff", *op.Diff)
		}
	}
	p.finished(item)
}
