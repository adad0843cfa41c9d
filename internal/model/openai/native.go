package openai

import (
	"encoding/json"
	"strings"

	modelhttp "github.com/agent-lsp/agent-lsp/internal/model/http"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
)

// The native tools of the responses API. OpenAI's models from gpt-5.1 on are trained on two tools
// whose calls are items of their own: apply_patch and shell. Each item becomes calls of our tools,
// so that it is reviewed, permitted and sandboxed as any other call: a patch is one call of
// apply_patch, and each command of a shell item is one call of bash. A call keeps in
// message.Block.Opaque which item it came from, and the request makes the items again from the
// calls. Where the tools are not native, the same calls are sent as functions.
// https://developers.openai.com/api/docs/guides/tools-apply-patch
// https://developers.openai.com/api/docs/guides/tools-shell

// The tools of agent-lsp that have a native form.
const (
	patchTool = "apply_patch"
	shellTool = "bash"
)

// The types of the native items.
const (
	patchItem = "apply_patch_call"
	shellItem = "shell_call"
)

// origin is what a call keeps of the native item that it came from. Other adapters do not recognize
// it.
type origin struct {
	Item      string `json:"openaiItem"`
	Operation string `json:"operation,omitempty"` // of a patch
	Part      int    `json:"part,omitempty"`      // which command of a shell item
	TimeoutMs int    `json:"timeoutMs,omitempty"`
	// characters of a command's output, 0: not limited
	MaxOutput int `json:"maxOutput,omitempty"`
}

// originOf returns the origin of a block, the zero value if it did not come from a native item.
func originOf(b *message.Block) (o origin) {
	if len(b.Opaque) == 0 || json.Unmarshal(b.Opaque, &o) != nil {
		return origin{}
	}
	return o
}

func (o origin) encode() json.RawMessage {
	b, _ := json.Marshal(o)
	return b
}

// nativeTools says whether the provider has the native tools: the setting, else OpenAI itself for
// the models whose documentation names them.
func (c *call) nativeTools() bool {
	if on := c.m.opts.NativeTools; on != nil {
		return *on
	}
	return c.m.dialect == OpenAI && hasNativeTools(c.Model)
}

// hasNativeTools says whether a model is gpt-5.1 or a later one. The variants for chats, for Codex
// and with more compute are not documented to have the tools.
func hasNativeTools(model string) bool {
	for _, variant := range []string{"-chat", "-codex", "-pro"} {
		if strings.Contains(model, variant) {
			return false
		}
	}
	return isFrom(model, 5, 1)
}

// withNative adds which native tools the request has.
func (c *call) withNative(k can) can {
	if !k.call || len(c.Req.Tools) == 0 || c.taken("tools") || !c.nativeTools() {
		return k
	}
	for i := range c.Req.Tools {
		k.patch = k.patch || c.Req.Tools[i].Name == patchTool
		k.shell = k.shell || c.Req.Tools[i].Name == shellTool
	}
	k.patch = k.patch || c.Req.Knows != nil && c.Req.Knows(patchTool)
	return k
}

// appendNativeTools appends the native tools of a request. The function bash stays among the tools:
// only it runs jobs, and commands outside the sandbox.
func appendNativeTools(b []byte, start int, k can) []byte {
	if k.patch {
		b = append(modelhttp.Next(b, start), `{"type":"apply_patch"}`...)
	}
	if k.shell {
		b = append(modelhttp.Next(b, start), `{"type":"shell","environment":{"type":"local"}}`...)
	}
	return b
}

// patchHeaders are the headers of our patch format, by the operation of a native item.
var patchHeaders = map[string]string{
	"create_file": "*** Add File: ",
	"update_file": "*** Update File: ",
	"delete_file": "*** Delete File: ",
}

const (
	patchBegin = "*** Begin Patch\n"
	patchEnd   = "\n*** End Patch"
)

// patchStart is the part of a patch before the diff, "" for an operation that does not exist.
func patchStart(operation, path string) string {
	header := patchHeaders[operation]
	if header == "" {
		return ""
	}
	start := patchBegin + header + strings.ReplaceAll(path, "\n", " ")
	if operation != "delete_file" {
		start += "\n"
	}
	return start
}

// splitPatch returns the path and the diff of a patch that patchStart begins. ok is false for any
// other patch, such as one that was shortened to fit the window.
func splitPatch(operation string, args json.RawMessage) (path, diff string, ok bool) {
	var a struct{ Patch string }
	if patchHeaders[operation] == "" || json.Unmarshal(args, &a) != nil {
		return "", "", false
	}
	rest, begins := strings.CutPrefix(a.Patch, patchBegin+patchHeaders[operation])
	rest, ends := strings.CutSuffix(rest, patchEnd)
	if !begins || !ends {
		return "", "", false
	}
	path, diff, ok = strings.Cut(rest, "\n")
	if operation == "delete_file" {
		return rest, "", !ok
	}
	return path, diff, ok
}
