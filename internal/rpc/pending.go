package rpc

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

// This file shows pending hunks to editors that know nothing of agent/*: as code lenses and as
// Hint diagnostics.

// documentParams names a document and, of a code action, what is asked about it.
type documentParams struct {
	TextDocument struct {
		URI string `json:"uri"`
	} `json:"textDocument"`
	Range   workspace.Range `json:"range"`
	Context struct {
		Diagnostics []json.RawMessage `json:"diagnostics"`
		Only        []string          `json:"only"`
	} `json:"context"`
}

// hunkAt is a pending hunk of a document.
type hunkAt struct {
	proposalID, hunkID string
	title              string
	span               workspace.Range
	old, new           string
}

// pendingHunks are the pending hunks of a document, in the order of their proposals.
func (s *server) pendingHunks(uri string) []hunkAt {
	var out []hunkAt
	for _, p := range s.core.Workspace.PendingAt(uri) {
		for _, f := range p.Files {
			for _, h := range f.Hunks {
				if h.State == workspace.HunkPending {
					out = append(out, hunkAt{p.ID, h.ID, p.Title, h.Range, h.OldText, h.NewText})
				}
			}
		}
	}
	return out
}

// lspCommand is LSP's Command.
type lspCommand struct {
	Title     string `json:"title"`
	Command   string `json:"command"`
	Arguments []any  `json:"arguments"` // always there: Vim's ALE needs it
}

func (h hunkAt) command(title, name string) lspCommand {
	return lspCommand{title, name, []any{map[string]any{"proposalId": h.proposalID, "hunkId": h.hunkID}}}
}

type codeLens struct {
	Range   workspace.Range `json:"range"`
	Command lspCommand      `json:"command"`
}

// codeLens offers to accept or reject each pending hunk.
func (s *server) codeLens(_ context.Context, p *documentParams) ([]codeLens, error) {
	lenses := []codeLens{}
	hunks := s.pendingHunks(p.TextDocument.URI)
	for _, h := range hunks {
		at := workspace.Range{Start: h.span.Start, End: h.span.Start}
		lenses = append(lenses,
			codeLens{at, h.command("Accept "+h.stat(), "agent.accept")},
			codeLens{at, h.command("Reject", "agent.reject")})
	}
	if len(hunks) > 1 {
		all := []any{map[string]any{"textDocument": map[string]any{"uri": p.TextDocument.URI}}}
		lenses = append(lenses, codeLens{Command: lspCommand{"Accept all", "agent.acceptAll", all}},
			codeLens{Command: lspCommand{"Reject all", "agent.rejectAll", all}})
	}
	return lenses, nil
}

// stat counts the lines of a hunk.
func (h hunkAt) stat() string { return fmt.Sprintf("+%d -%d", lines(h.new), lines(h.old)) }

func lines(text string) int {
	n := strings.Count(text, "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		n++
	}
	return n
}

func overlap(a, b workspace.Range) bool { return !before(a.End, b.Start) && !before(b.End, a.Start) }

func before(a, b workspace.Position) bool {
	return a.Line < b.Line || a.Line == b.Line && a.Character < b.Character
}

// diagnosticSource marks our own diagnostics.
const diagnosticSource = "agent-lsp"

// hints publishes pending hunks as Hint diagnostics, so that an editor's "next diagnostic"
// walks them. What changed is published by one goroutine that lives while there is something.
type hints struct {
	s *server

	mu      sync.Mutex
	enabled bool
	refresh bool            // the client re-asks for lenses when told
	shown   map[string]bool // documents that have hints
	dirty   map[string]bool
	running bool
}

// proposalChanged marks a proposal's documents. It never blocks.
func (h *hints) proposalChanged(p workspace.Proposal) {
	uris := make([]string, 0, len(p.Files))
	for _, f := range p.Files {
		uris = append(uris, f.URI)
	}
	h.mark(true, uris...)
}

// documentChanged marks a document that has hints, whose places may have moved.
func (h *hints) documentChanged(uri string) { h.mark(false, uri) }

// documentOpened marks a document that may have hunks from before.
func (h *hints) documentOpened(uri string) { h.mark(true, uri) }

func (h *hints) mark(always bool, uris ...string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.enabled {
		return
	}
	for _, uri := range uris {
		if always || h.shown[uri] {
			h.dirty[uri] = true
		}
	}
	if len(h.dirty) > 0 && !h.running {
		h.running = true
		h.s.goRun("publishing hints", h.publish)
	}
}

func (h *hints) publish() {
	for {
		h.mu.Lock()
		todo := h.dirty
		h.dirty = map[string]bool{}
		h.running = len(todo) > 0
		refresh := h.refresh
		h.mu.Unlock()
		if len(todo) == 0 {
			return
		}
		for uri := range todo {
			h.publishOne(uri)
		}
		if refresh {
			_ = h.s.peer.editor(h.s.ctx, methodRefreshLenses, nil, nil) // a client that cannot keeps its lenses
		}
	}
}

func (h *hints) publishOne(uri string) {
	list := []any{}
	for _, hunk := range h.s.pendingHunks(uri) {
		list = append(list, map[string]any{
			"range": hunk.span, "severity": 4, "source": diagnosticSource, "message": fmt.Sprintf("%s (%s): accept or reject", hunk.title, hunk.stat()),
			"data": map[string]any{"proposalId": hunk.proposalID, "hunkId": hunk.hunkID},
		})
	}
	h.mu.Lock()
	was := h.shown[uri]
	if len(list) > 0 {
		h.shown[uri] = true
	} else {
		delete(h.shown, uri)
	}
	h.mu.Unlock()
	if was || len(list) > 0 {
		h.s.peer.notify(methodDiagnostics, map[string]any{"uri": uri, "diagnostics": list})
	}
}
