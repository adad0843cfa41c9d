package mcp

import (
	"context"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/tools/mcp/mcptest"
)

// If a call begins after the folders have changed, the server knows the current folders when it
// receives the call, even if determining them takes a long time.
func TestCallsKnowTheFoldersOfNow(t *testing.T) {
	t.Parallel()
	var changed atomic.Bool
	tell := make(chan struct{})
	w := with(t, Options{Roots: func() []string {
		if !changed.Load() {
			return []string{"file:///one"}
		}
		<-tell
		return []string{"file:///one", "file:///two"}
	}}, Config{Name: "plain", Command: os.Args[0],
		Env: append(os.Environ(), mcptest.Variable+"=plain")})
	w.ask(t, "plain_echo", `{"text": "roots"}`, "file:///one")
	changed.Store(true)
	w.hub.RootsChanged()
	aborted, abort := context.WithCancel(t.Context())
	abort()
	if err := w.hub.sorted()[0].rootsTold(aborted); err == nil {
		t.Error("the new folders are reported already")
	}
	// By then, a call that did not wait for the folders would have finished.
	time.AfterFunc(50*time.Millisecond, func() { close(tell) })
	if res := w.ask(t, "plain_echo", `{"text": "roots"}`); res.Text != "file:///one file:///two" {
		t.Errorf("the server knows %q", res.Text)
	}
}

// Requests for resources and prompts may depend on the server's folders, so such requests wait
// until the server has the current folders, as calls do.
func TestResourcesAndPromptsWaitForTheFolders(t *testing.T) {
	t.Parallel()
	tell := make(chan struct{}, 1)
	tell <- struct{}{} // the folders sent at the start
	w := with(t, Options{Roots: func() []string { <-tell; return []string{"file:///one"} }},
		Config{Name: "plain", Command: os.Args[0],
			Env: append(os.Environ(), mcptest.Variable+"=plain")})
	for name, read := range map[string]func(){
		"a resource": func() { w.ask(t, "plain_resources", `{"uri":"mem://note"}`, "remember") },
		"resources":  func() { w.ask(t, "plain_resources", `{}`, "mem://note") },
		"a prompt": func() {
			if text, err := w.hub.Expand(t.Context(), "plain", "review",
				[]string{"x"}); text != "Review x" {
				t.Errorf("the prompt is %q (%v)", text, err)
			}
		},
	} {
		var reported atomic.Bool
		w.hub.RootsChanged()
		// By then, a request that did not wait for the folders would have finished.
		time.AfterFunc(50*time.Millisecond, func() { reported.Store(true); tell <- struct{}{} })
		if read(); !reported.Load() {
			t.Errorf("%s did not wait for the folders", name)
		}
	}
}
