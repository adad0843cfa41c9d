package openai

import (
	"encoding/json"
	"strings"

	modelhttp "github.com/agent-lsp/agent-lsp/internal/model/http"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
)

// The native tools of the responses API. OpenAI's models from gpt-5.1 on are trained on the tools
// apply_patch and shell, whose calls are separate kinds of items. Each item becomes calls of
// agent-lsp's tools, so that it is reviewed, permitted and sandboxed like any other call. A patch
// becomes one call of apply_patch, and each command of a shell item becomes one call of bash.
// message.Block.Opaque records the item that a call came from, and the request rebuilds the items
// from the calls. If the tools are not native, the same calls are sent as functions.
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

// origin records the native item that a call came from. Other adapters ignore it.
type origin struct {
	Item      string `json:"openaiItem"`
	Operation string `json:"operation,omitempty"` // operation of a patch
	Part      int    `json:"part,omitempty"`      // index of the command in a shell item
	TimeoutMs int    `json:"timeoutMs,omitempty"`
	// MaxOutput is the maximum number of characters of a command's output. 0 means unlimited.
	MaxOutput int `json:"maxOutput,omitempty"`
}

// originOf returns the origin of a block, or the zero value if it did not come from a native item.
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

// nativeTools reports whether the provider has the native tools. If the option NativeTools is not
// set, only OpenAI has them, for the models whose documentation lists them.
func (c *call) nativeTools() bool {
	if on := c.m.opts.NativeTools; on != nil {
		return *on
	}
	return c.m.dialect == OpenAI && hasNativeTools(c.Model)
}

// hasNativeTools reports whether a model is gpt-5.1 or later. It excludes the variants for chat,
// for Codex and with more compute, whose documentation does not list the tools.
func hasNativeTools(model string) bool {
	for _, variant := range []string{"-chat", "-codex", "-pro"} {
		if strings.Contains(model, variant) {
			return false
		}
	}
	return isFrom(model, 5, 1)
}

// withNative returns k with the native tools that the request contains.
func (c *call) withNative(k can) can {
	if !k.call || len(c.Req.Tools) == 0 || !c.nativeTools() {
		return k
	}
	for i := range c.Req.Tools {
		k.patch = k.patch || c.Req.Tools[i].Name == patchTool
		k.shell = k.shell || c.Req.Tools[i].Name == shellTool
	}
	k.patch = k.patch || c.Req.Knows != nil && c.Req.Knows(patchTool)
	return k
}

// appendNativeTools appends the native tools of a request. The function bash remains among the
// tools, because only bash runs jobs and commands outside the sandbox.
func appendNativeTools(b []byte, start int, k can) []byte {
	if k.patch {
		b = append(modelhttp.Next(b, start), `{"type":"apply_patch"}`...)
	}
	if k.shell {
		b = append(modelhttp.Next(b, start), `{"type":"shell","environment":{"type":"local"}}`...)
	}
	return b
}

// patchHeaders maps operations of a native item to the headers of agent-lsp's patch format.
var patchHeaders = map[string]string{
	"create_file": "*** Add File: ",
	"update_file": "*** Update File: ",
	"delete_file": "*** Delete File: ",
}

const (
	patchBegin = "*** Begin Patch\n"
	patchEnd   = "\n*** End Patch"
)

// patchStart returns the part of a patch before the diff, or "" for an unknown operation.
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

// splitPatch returns the path and the diff of a patch that begins as patchStart writes it. ok is
// false for any other patch, for example one that was shortened to fit the window.
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
