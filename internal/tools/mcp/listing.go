package mcp

import (
	"context"
	"fmt"
	"sort"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/pause"
)

// refresh lists the server's tools again. It discards a listing that arrives after the end of ctx,
// because the session may have been replaced.
func (s *server) refresh(ctx context.Context, session *sdk.ClientSession) error {
	var tools []tool.Tool
	for t, err := range session.Tools(ctx, nil) {
		if err != nil {
			return fmt.Errorf("listing its tools: %w", err)
		}
		if len(tools) == maxTools {
			return fmt.Errorf("it lists more than %d tools", maxTools)
		}
		tools = append(tools, newTool(s, t))
	}
	if init := session.InitializeResult(); init != nil && init.Capabilities != nil &&
		init.Capabilities.Resources != nil {
		tools = append(tools, newResources(s))
	}
	sort.SliceStable(tools, func(i,
		j int) bool {
		return tools[i].Spec().Name < tools[j].Spec().Name
	})
	if err := s.listed(ctx, session, tools); err != nil {
		return err
	}
	s.settle()
	s.hub.opts.Changed()
	return nil
}

func (s *server) listed(ctx context.Context, session *sdk.ClientSession, tools []tool.Tool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	s.session, s.tools, s.err = session, tools, nil
	s.offer()
	s.wake()
	return nil
}

// changed lists the tools again in the background. Only one listing runs at a time, so an older
// answer never replaces a newer one.
func (s *server) changed(in connection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.relisting.changes++
	s.relisting.at = in
	if s.relisting.done != nil {
		return
	}
	s.relisting.done = make(chan struct{})
	s.hub.wg.Add(1)
	go func() {
		defer s.hub.wg.Done()
		for seen := 0; !s.upToDate(seen); {
			seen = s.relist()
		}
	}()
}

// relist lists the tools of the newest session once, and returns the number of the newest change
// that the listing includes.
func (s *server) relist() (seen int) {
	s.mu.Lock()
	seen, in := s.relisting.changes, s.relisting.at
	s.mu.Unlock()
	ctx, stop := context.WithTimeout(in.ctx, s.hub.opts.listTimeout)
	defer stop()
	err := s.refresh(ctx, in.session)
	// If ctx ended because the server ended, that end is reported separately.
	if err != nil && ctx.Err() == nil && pause.For(in.ctx, relistWait) == nil {
		s.hub.opts.Notice("warning", fmt.Sprintf("MCP server %s: %v", s.conf.Name, err))
	}
	return seen
}

// upToDate ends the listing and returns true if the server has not reported another change since
// the change with the number seen.
func (s *server) upToDate(seen int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.relisting.changes != seen {
		return false
	}
	close(s.relisting.done)
	s.relisting.done = nil
	return true
}

// relistWait is how long a call's result waits until the tools that the call has changed are
// listed, so that the next model call has them.
const relistWait = time.Second

// relisted waits until a running listing of the tools ends, for at most relistWait.
func (s *server) relisted(ctx context.Context) {
	s.mu.Lock()
	listing := s.relisting.done
	s.mu.Unlock()
	if listing == nil {
		return
	}
	ctx, stop := context.WithTimeout(ctx, relistWait)
	defer stop()
	select {
	case <-listing:
	case <-ctx.Done():
	}
}

func (s *server) list() []tool.Tool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.offered
}

// allow changes which of the server's tools are offered.
func (s *server) allow(allowed func(tool string) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.allowed = allowed
	s.offer()
}

// offer sets offered to the tools that the settings allow. The caller holds mu.
func (s *server) offer() {
	s.offered = nil
	for _, t := range s.tools {
		if own, ok := t.(*serverTool); !ok || s.allowed == nil || s.allowed(own.remote) {
			s.offered = append(s.offered, t)
		}
	}
}
