package editor

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/agent-lsp/agent-lsp/internal/rpc/conn"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

// This file shows pending hunks in editors that do not support agent/*, as code lenses and as Hint
// diagnostics.

// DocumentParams names a document. For code actions it also contains the range and the context.
type DocumentParams struct {
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

// pendingHunks returns the pending hunks of a document, in the order of their proposals.
func (s *Features) pendingHunks(uri string) []hunkAt {
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

// Command is LSP's Command.
type Command struct {
	Title     string `json:"title"`
	Command   string `json:"command"`
	Arguments []any  `json:"arguments"` // always present, because ALE for Vim requires it
}

func (h hunkAt) command(title, name string) Command {
	return Command{
		title,
		name,
		[]any{map[string]any{"proposalId": h.proposalID, "hunkId": h.hunkID}},
	}
}

// CodeLens is LSP's CodeLens.
type CodeLens struct {
	Range   workspace.Range `json:"range"`
	Command Command         `json:"command"`
}

// CodeLenses offers to accept or reject each pending hunk.
func (s *Features) CodeLenses(_ context.Context, p *DocumentParams) ([]CodeLens, error) {
	lenses := []CodeLens{}
	hunks := s.pendingHunks(p.TextDocument.URI)
	for _, h := range hunks {
		at := workspace.Range{Start: h.span.Start, End: h.span.Start}
		lenses = append(lenses,
			CodeLens{at, h.command("Accept "+h.stat(), "agent.accept")},
			CodeLens{at, h.command("Reject", "agent.reject")})
	}
	if len(hunks) > 1 {
		all := []any{map[string]any{"textDocument": map[string]any{"uri": p.TextDocument.URI}}}
		lenses = append(lenses, CodeLens{Command: Command{"Accept all", "agent.acceptAll", all}},
			CodeLens{Command: Command{"Reject all", "agent.rejectAll", all}})
	}
	return lenses, nil
}

// stat returns the numbers of added and removed lines of a hunk.
func (h hunkAt) stat() string { return fmt.Sprintf("+%d -%d", lines(h.new), lines(h.old)) }

func lines(text string) int {
	n := strings.Count(text, "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		n++
	}
	return n
}

func overlap(
	a, b workspace.Range,
) bool {
	return !before(a.End, b.Start) && !before(b.End, a.Start)
}

func before(a, b workspace.Position) bool {
	return a.Line < b.Line || a.Line == b.Line && a.Character < b.Character
}

// diagnosticSource marks the diagnostics of agent-lsp.
const diagnosticSource = "agent-lsp"

// hints publishes pending hunks as Hint diagnostics, so that an editor's "next diagnostic" command
// visits them. One goroutine publishes the changes and ends when no change is left.
type hints struct {
	s *Features

	mu      sync.Mutex
	enabled bool
	refresh bool            // whether the client supports requests to refresh its code lenses
	shown   map[string]bool // documents with hints
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

// mark marks documents as changed. Unless always is set, it marks only documents that have hints,
// because only existing hints can have moved.
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
		h.s.link.Go("publishing hints", h.publish)
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
			_ = h.s.link.Ask(
				h.s.link.Context(),
				conn.MethodRefreshLenses,
				nil,
				nil,
			) // clients do not refresh their lenses on their own
		}
	}
}

func (h *hints) publishOne(uri string) {
	list := []any{}
	for _, hunk := range h.s.pendingHunks(uri) {
		list = append(list, map[string]any{
			"range": hunk.span, "severity": 4, "source": diagnosticSource,
			"message": fmt.Sprintf("%s (%s): accept or reject", hunk.title, hunk.stat()),
			"data":    map[string]any{"proposalId": hunk.proposalID, "hunkId": hunk.hunkID},
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
		h.s.link.Notify(conn.MethodDiagnostics, map[string]any{"uri": uri, "diagnostics": list})
	}
}
