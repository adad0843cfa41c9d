package rpc

import (
	"context"
	"os"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
)

// maxFiles bounds the answer of agent/files/search; defaultFiles is what no limit means.
const (
	maxFiles     = 1000
	defaultFiles = 50
)

// models lists the models. A request for a test succeeds even if the list fails.
func (s *server) models(ctx context.Context, p *wire.ModelsParams) (wire.ModelsResult, error) {
	if s.core.Models == nil {
		return wire.ModelsResult{Models: []wire.Model{}}, nil
	}
	models, err := s.core.Models(ctx)
	out := wire.ModelsResult{Models: nonNil(models)}
	if p.Test == "" || s.core.TestModel == nil {
		return out, err
	}
	test := s.core.TestModel(ctx, p.Test)
	out.Test = &test
	return out, nil
}

func (s *server) tools(ctx context.Context, _ *wire.Empty) (wire.ToolsListResult, error) {
	if s.core.Tools == nil {
		return wire.ToolsListResult{Tools: []wire.Tool{}}, nil
	}
	tools, err := s.core.Tools(ctx)
	return wire.ToolsListResult{Tools: nonNil(tools)}, err
}

func (s *server) commands(ctx context.Context, _ *wire.Empty) (wire.CommandListResult, error) {
	if s.core.Commands == nil {
		return wire.CommandListResult{Commands: []wire.SlashCommand{}}, nil
	}
	commands, err := s.core.Commands(ctx)
	return wire.CommandListResult{Commands: nonNil(commands)}, err
}

func (s *server) status(context.Context, *wire.Empty) (wire.StatusResult, error) {
	out := wire.StatusResult{Version: s.opts.Version, PID: os.Getpid(), Sessions: []wire.SessionStatus{}}
	if s.core.Status != nil {
		out.Provider, out.Sandbox = s.core.Status()
	}
	var usage message.Usage
	for _, l := range s.sessions.host.Load().All() {
		st := l.Engine.State()
		usage = usage.Add(st.Usage)
		out.Sessions = append(out.Sessions, wire.SessionStatus{SessionID: l.ID, Title: st.Title, Status: string(st.Status), TurnID: st.TurnID})
	}
	out.Usage = usageTo(usage)
	return out, nil
}

func (s *server) filesSearch(ctx context.Context, p *wire.FilesSearchParams) (wire.FilesSearchResult, error) {
	if p.Limit < 0 {
		return wire.FilesSearchResult{}, invalid("limit", "must not be negative")
	}
	if p.Limit == 0 {
		p.Limit = defaultFiles
	}
	if s.core.Files == nil {
		return wire.FilesSearchResult{Files: []wire.FileMatch{}}, nil
	}
	files, err := s.core.Files(ctx, p.Query, min(p.Limit, maxFiles))
	return wire.FilesSearchResult{Files: nonNil(files)}, err
}

func (s *server) memorySave(ctx context.Context, p *wire.MemorySaveParams) (wire.Empty, error) {
	if p.Key == "" {
		return wire.Empty{}, invalid("key", "is missing")
	}
	if p.Content == "" {
		return wire.Empty{}, invalid("content", "is missing")
	}
	if s.core.Memory == nil {
		return wire.Empty{}, s.need("a memory", false)
	}
	return wire.Empty{}, s.core.Memory.Save(ctx, *p)
}

func (s *server) memoryGet(ctx context.Context, p *wire.MemoryKeyParams) (wire.MemoryGetResult, error) {
	if p.Key == "" {
		return wire.MemoryGetResult{}, invalid("key", "is missing")
	}
	if s.core.Memory == nil {
		return wire.MemoryGetResult{}, ErrNotFound
	}
	m, err := s.core.Memory.Get(ctx, p.Key, p.Scope)
	return wire.MemoryGetResult{Memory: m}, err
}

func (s *server) memorySearch(ctx context.Context, p *wire.MemorySearchParams) (wire.MemorySearchResult, error) {
	if p.TopK < 0 {
		return wire.MemorySearchResult{}, invalid("topK", "must not be negative")
	}
	if s.core.Memory == nil {
		return wire.MemorySearchResult{Memories: []wire.MemoryEntry{}}, nil
	}
	found, err := s.core.Memory.Search(ctx, *p)
	return wire.MemorySearchResult{Memories: nonNil(found)}, err
}

func (s *server) memoryDelete(ctx context.Context, p *wire.MemoryKeyParams) (wire.Empty, error) {
	if p.Key == "" {
		return wire.Empty{}, invalid("key", "is missing")
	}
	if s.core.Memory == nil {
		return wire.Empty{}, ErrNotFound
	}
	return wire.Empty{}, s.core.Memory.Delete(ctx, p.Key, p.Scope)
}

func (s *server) permissionList(context.Context, *wire.Empty) (wire.PermissionListResult, error) {
	if s.core.Grants == nil {
		return wire.PermissionListResult{Grants: []wire.Grant{}}, nil
	}
	return wire.PermissionListResult{Grants: nonNil(s.core.Grants.List())}, nil
}

func (s *server) permissionRevoke(_ context.Context, p *wire.PermissionRevokeParams) (wire.Empty, error) {
	if p.GrantID == "" {
		return wire.Empty{}, invalid("grantId", "is missing")
	}
	if s.core.Grants == nil {
		return wire.Empty{}, ErrNotFound
	}
	return wire.Empty{}, s.core.Grants.Revoke(p.GrantID)
}

func (s *server) jobList(ctx context.Context, p *wire.SessionParams) (wire.JobListResult, error) {
	if _, err := s.sessions.get(ctx, p.SessionID); err != nil {
		return wire.JobListResult{}, err
	}
	if s.core.Jobs == nil {
		return wire.JobListResult{Jobs: []wire.Job{}}, nil
	}
	return wire.JobListResult{Jobs: nonNil(s.core.Jobs.List(p.SessionID))}, nil
}

func (s *server) jobRead(_ context.Context, p *wire.JobParams) (wire.JobReadResult, error) {
	if p.JobID == "" {
		return wire.JobReadResult{}, invalid("jobId", "is missing")
	}
	if s.core.Jobs == nil {
		return wire.JobReadResult{}, ErrNotFound
	}
	output, status, err := s.core.Jobs.Read(p.JobID)
	return wire.JobReadResult{Output: output, Status: status}, err
}

func (s *server) jobKill(_ context.Context, p *wire.JobParams) (wire.Empty, error) {
	if p.JobID == "" {
		return wire.Empty{}, invalid("jobId", "is missing")
	}
	if s.core.Jobs == nil {
		return wire.Empty{}, ErrNotFound
	}
	return wire.Empty{}, s.core.Jobs.Kill(p.JobID)
}
