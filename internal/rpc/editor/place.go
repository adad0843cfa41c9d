package editor

import (
	"sync"

	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

// place is where the user was seen last: the document and range of the last code action
// request or command. LSP tells of no cursor, so it is what commands without arguments mean.
type place struct {
	mu    sync.Mutex
	uri   string
	span  workspace.Range
	known bool // span is
}

// seen takes note of a range.
func (p *place) seen(uri string, span workspace.Range) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.uri, p.span, p.known = uri, span, true
}

// touched takes note of a document that was opened or changed. Its range is kept: typing at
// the cursor leaves it about there.
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

// at returns the range of a document, nil where none is known.
func (p *place) at(uri string) *workspace.Range {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.known || uri != p.uri {
		return nil
	}
	span := p.span
	return &span
}

// document returns the last document, "" where none is known.
func (p *place) document() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.uri
}
