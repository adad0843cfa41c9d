package openai

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	modelhttp "github.com/agent-lsp/agent-lsp/internal/model/http"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
)

// patchOperation is the change that an apply_patch_call makes to one file.
type patchOperation struct {
	Type string         `json:"type"`
	Path string         `json:"path"`
	Diff jsontext.Value `json:"diff"`
}

// shellAction contains the commands of a shell_call.
type shellAction struct {
	Commands  []string       `json:"commands"`
	TimeoutMs jsontext.Value `json:"timeout_ms"`
	MaxOutput jsontext.Value `json:"max_output_length"`
}

// partStride is the distance between the indexes under which the commands of a shell item are
// shown, because indexes must be unique in a reply.
const partStride = 1 << 20

// growing is a call that grows while a native item arrives. The model's text becomes a JSON string
// in the arguments, so it is escaped again.
type growing struct {
	in    modelhttp.Joiner
	whole bool // whether the item arrived as a whole
}

// native returns the call for a part of a native item. The first part is found like other items.
func (d *responsesDecoder) native(i, part int, w *responsesItem, name string) *output {
	o := d.items[i]
	if part > 0 {
		o = d.part(i, part)
	}
	if o == nil {
		d.c.Meter.AddCall()
	}
	if part == 0 {
		o = d.at(i, message.ToolUse)
	} else if o == nil {
		o = &output{index: i, part: part, kind: message.ToolUse}
		d.parts = append(d.parts, o)
	}
	if o.native == nil {
		o.native = &growing{}
	}
	o.name = name
	if id := cmp.Or(w.CallID, w.ID); id != "" {
		o.id, o.call = w.ID, id
		if part > 0 {
			o.call += "_" + strconv.Itoa(part+1)
		}
	}
	return o
}

func (d *responsesDecoder) part(i, part int) *output {
	at := slices.IndexFunc(d.parts, func(o *output) bool { return o.index == i && o.part == part })
	if at < 0 {
		return nil
	}
	return d.parts[at]
}

// grow adds the model's text to the arguments. before is the beginning of the arguments.
func (d *responsesDecoder) grow(o *output, before string, delta jsontext.Value) {
	if len(o.text.Text) == 0 {
		d.tell(o, o.text.AddText(before))
	}
	if s := o.native.in.Add(delta); s != "" {
		d.tell(o, o.text.AddText(escaped(s)))
	}
}

// complete makes args the arguments of a call. The first part of args may already have been
// reported.
func (d *responsesDecoder) complete(o *output, args string, from origin) {
	had := string(o.text.Text)
	if rest, ok := strings.CutPrefix(args, had); ok {
		d.tell(o, o.text.AddText(rest))
	} else {
		o.text = modelhttp.Joiner{Text: []byte(args)}
	}
	o.native.whole, o.raw = true, from.encode()
	d.c.Meter.Add(max(len(args)-len(had), 0))
}

// escaped returns text as the content of a JSON string, without the quotes.
func escaped(s string) string {
	b := modelhttp.AppendString(nil, s)
	return string(b[1 : len(b)-1])
}

const patchArgsStart, patchArgsEnd = `{"patch":"`, `"}`

// patch processes an apply_patch_call.
func (d *responsesDecoder) patch(i int, w *responsesItem, done bool) {
	o := d.native(i, 0, w, patchTool)
	var op patchOperation
	if jsonv2.Unmarshal(w.Operation, &op, modelhttp.Lenient) != nil {
		return
	}
	start := patchStart(op.Type, op.Path)
	if start == "" || op.Path == "" {
		return
	}
	before := patchArgsStart + escaped(start)
	if o.before = before; !done {
		d.grow(o, before, nil)
		return
	}
	var diff modelhttp.Joiner
	if op.Type != "delete_file" {
		diff.Add(op.Diff)
		diff.End()
	}
	args := before + escaped(string(diff.Text)+patchEnd) + patchArgsEnd
	d.complete(o, args, origin{Item: patchItem, Operation: op.Type})
}

// patchDiff processes a piece of the diff of an apply_patch_call.
func (d *responsesDecoder) patchDiff(i int, delta jsontext.Value) {
	if o := d.items[i]; o != nil && o.native != nil && !o.native.whole && o.before != "" {
		d.grow(o, o.before, delta)
	}
}

const shellArgsStart = `{"command":"`

// shellCommand processes a piece of a command of a shell_call. The piece is the command's beginning
// or a delta.
func (d *responsesDecoder) shellCommand(i int, e *responsesEvent, text jsontext.Value) {
	first := d.items[i]
	if first == nil || first.native == nil || first.native.whole {
		return
	}
	part, ok := modelhttp.Integer(e.CommandIndex)
	if !ok || part < 0 || part >= partStride {
		return
	}
	o := d.native(i, part, &responsesItem{ID: first.id, CallID: first.call}, shellTool)
	d.grow(o, shellArgsStart, text)
}

// shell processes a shell_call. The complete commands arrive at the end of the item.
func (d *responsesDecoder) shell(i int, w *responsesItem, done bool) {
	d.native(i, 0, w, shellTool)
	var a shellAction
	if jsonv2.Unmarshal(w.Action, &a, modelhttp.Lenient) != nil || !done {
		return
	}
	d.parts = slices.DeleteFunc(d.parts, func(o *output) bool {
		// A delta created this part, but the item has no such command.
		return o.index == i && o.part >= len(a.Commands)
	})
	timeout, _ := modelhttp.Integer(a.TimeoutMs)
	limit, _ := modelhttp.Integer(a.MaxOutput)
	for part, command := range append(a.Commands, "")[:max(len(a.Commands), 1)] {
		o := d.native(i, part, w, shellTool)
		if d.c.Meter.Err() != nil {
			return
		}
		args := shellArgsStart + escaped(command) + `"` + timeoutArg(timeout) + "}"
		d.complete(o, args, origin{
			Item: shellItem, Part: part, TimeoutMs: max(timeout, 0), MaxOutput: max(limit, 0),
		})
	}
}

// timeoutArg returns the timeout as an argument of bash, in seconds. A timeout of 1000 s or more
// stays in milliseconds, because bash interprets a number above its maximum as milliseconds.
func timeoutArg(ms int) string {
	if ms <= 0 {
		return ""
	}
	seconds := float64(ms) / 1000
	if seconds >= 1000 {
		seconds = float64(ms)
	}
	return `,"timeout":` + strconv.FormatFloat(seconds, 'f', -1, 64)
}
