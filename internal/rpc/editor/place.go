package editor

import (
	"sync"

	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

// place records where the user was last seen: the document that was last opened, changed or used,
// and the range of the last code action request or command in it. LSP does not report the cursor,
// so commands without arguments use this position.
type place struct {
	mu    sync.Mutex
	uri   string
	span  workspace.Range
	known bool // whether span is known
}

// seen records the document and range of a code action request or a command.
func (p *place) seen(uri string, span workspace.Range) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.uri, p.span, p.known = uri, span, true
}

// touched records a document that was opened or changed. If it is still the same document, the last
// range is kept, because typing usually moves the cursor only a little.
func (p *place) touched(uri string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if uri != p.uri {
		p.uri, p.known = uri, false
	}
}

// closed forgets a document.
func (p *place) closed(uri string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if uri == p.uri {
		p.uri, p.known = "", false
	}
}

// at returns the last range in a document, or nil if none is known.
func (p *place) at(uri string) *workspace.Range {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.known || uri != p.uri {
		return nil
	}
	span := p.span
	return &span
}

// document returns the last document, or "" if none is known.
func (p *place) document() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.uri
}
