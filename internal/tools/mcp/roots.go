package mcp

import (
	"slices"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// roots are the workspace folders that a server's client has, and whether somebody is telling them. Guarded by the
// server's lock.
type roots struct {
	client  *sdk.Client // nil: none has connected yet
	told    []string
	telling bool
	again   bool // they changed meanwhile
}

// RootsChanged tells each server that the workspace folders are others now. It does not wait.
func (h *Hub) RootsChanged() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ctx.Err() != nil {
		return
	}
	for _, s := range h.servers {
		h.wg.Go(s.tellRoots)
	}
}

// connecting makes client the one whose roots are kept up to date.
func (s *server) connecting(client *sdk.Client) {
	s.mu.Lock()
	s.roots.client, s.roots.told = client, nil
	s.mu.Unlock()
	s.tellRoots()
}

// tellRoots brings the client's roots up to date; a server that has connected is notified of a change. Who comes while
// another is at it leaves the work to that one.
func (s *server) tellRoots() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.roots.again = true; s.roots.telling {
		return
	}
	s.roots.telling = true
	for s.roots.again {
		s.roots.again = false
		client, told := s.roots.client, s.roots.told
		s.mu.Unlock()
		now := s.hub.opts.Roots()
		if client != nil {
			changeRoots(client, told, now)
		}
		s.mu.Lock()
		if s.roots.client == client {
			s.roots.told = now
		} else {
			s.roots.again = true
		}
	}
	s.roots.telling = false
}

// changeRoots takes a client's roots from one list to another.
func changeRoots(client *sdk.Client, from, to []string) {
	var gone []string
	for _, uri := range from {
		if !slices.Contains(to, uri) {
			gone = append(gone, uri)
		}
	}
	for _, uri := range to {
		if !slices.Contains(from, uri) {
			//lint:ignore SA1019 servers of today ask for roots; the newest protocol version only deprecates them
			client.AddRoots(&sdk.Root{URI: uri})
		}
	}
	if len(gone) > 0 {
		//lint:ignore SA1019 servers of today ask for roots; the newest protocol version only deprecates them
		client.RemoveRoots(gone...)
	}
}
