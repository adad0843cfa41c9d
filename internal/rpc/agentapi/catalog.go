package agentapi

import (
	"context"
	"errors"
	"os"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
)

// maxFiles bounds the result of agent/files/search. defaultFiles is used if the request sets no
// limit.
const (
	maxFiles     = 1000
	defaultFiles = 50
)

// errNoMemory is the error for agent/memory/* if the daemon does not support memories.
var errNoMemory = errors.New("agent-lsp was built without support for memories")

// Models lists the models. If it tests a model, it succeeds even if listing fails.
func (a Catalog) Models(ctx context.Context, p *wire.ModelsParams) (wire.ModelsResult, error) {
	if a.Core().Models == nil {
		return wire.ModelsResult{Models: []wire.Model{}}, nil
	}
	models, err := a.Core().Models(ctx, p.Provider)
	out := wire.ModelsResult{Models: NonNil(models)}
	if p.Test == "" || a.Core().TestModel == nil {
		return out, err
	}
	test := a.Core().TestModel(ctx, p.Test)
	out.Test = &test
	return out, nil
}

func (a Catalog) Tools(ctx context.Context, _ *wire.Empty) (wire.ToolsListResult, error) {
	if a.Core().Tools == nil {
		return wire.ToolsListResult{Tools: []wire.Tool{}}, nil
	}
	tools, err := a.Core().Tools(ctx)
	return wire.ToolsListResult{Tools: NonNil(tools)}, err
}

func (a Catalog) Commands(ctx context.Context, _ *wire.Empty) (wire.CommandListResult, error) {
	if a.Core().Commands == nil {
		return wire.CommandListResult{Commands: []wire.SlashCommand{}}, nil
	}
	commands, err := a.Core().Commands(ctx)
	return wire.CommandListResult{Commands: NonNil(commands)}, err
}

func (a Catalog) Status(context.Context, *wire.Empty) (wire.StatusResult, error) {
	out := wire.StatusResult{
		Version:  a.opts.Version,
		PID:      os.Getpid(),
		Sessions: []wire.SessionStatus{},
	}
	if a.Core().Status != nil {
		out.Provider, out.Sandbox = a.Core().Status()
	}
	var usage message.Usage
	for _, l := range a.Host().All() {
		st := l.Engine.State()
		usage = usage.Add(st.Usage)
		out.Sessions = append(
			out.Sessions,
			wire.SessionStatus{
				SessionID: l.ID,
				Title:     st.Title,
				Status:    string(st.Status),
				TurnID:    st.TurnID,
			},
		)
	}
	out.Usage = usageTo(usage)
	return out, nil
}

func (a Catalog) Files(
	ctx context.Context,
	p *wire.FilesSearchParams,
) (wire.FilesSearchResult, error) {
	if p.Limit < 0 {
		return wire.FilesSearchResult{}, Invalid("limit", "must not be negative")
	}
	if p.Limit == 0 {
		p.Limit = defaultFiles
	}
	if a.Core().Files == nil {
		return wire.FilesSearchResult{Files: []wire.FileMatch{}}, nil
	}
	files, err := a.Core().Files(ctx, p.Query, min(p.Limit, maxFiles))
	return wire.FilesSearchResult{Files: NonNil(files)}, err
}

func (a Memories) Save(ctx context.Context, p *wire.MemorySaveParams) (wire.Empty, error) {
	if p.Key == "" {
		return wire.Empty{}, Invalid("key", "is missing")
	}
	if p.Content == "" {
		return wire.Empty{}, Invalid("content", "is missing")
	}
	if a.Core().Memory == nil {
		return wire.Empty{}, errNoMemory
	}
	return wire.Empty{}, a.Core().Memory.Save(ctx, *p)
}

func (a Memories) Get(ctx context.Context, p *wire.MemoryKeyParams) (wire.MemoryGetResult, error) {
	if p.Key == "" {
		return wire.MemoryGetResult{}, Invalid("key", "is missing")
	}
	if a.Core().Memory == nil {
		return wire.MemoryGetResult{}, ErrNotFound
	}
	m, err := a.Core().Memory.Get(ctx, p.Key, p.Scope)
	return wire.MemoryGetResult{Memory: m}, err
}

func (a Memories) Search(
	ctx context.Context,
	p *wire.MemorySearchParams,
) (wire.MemorySearchResult, error) {
	if p.TopK < 0 {
		return wire.MemorySearchResult{}, Invalid("topK", "must not be negative")
	}
	if a.Core().Memory == nil {
		return wire.MemorySearchResult{Memories: []wire.MemoryEntry{}}, nil
	}
	found, err := a.Core().Memory.Search(ctx, *p)
	return wire.MemorySearchResult{Memories: NonNil(found)}, err
}

func (a Memories) Delete(ctx context.Context, p *wire.MemoryKeyParams) (wire.Empty, error) {
	if p.Key == "" {
		return wire.Empty{}, Invalid("key", "is missing")
	}
	if a.Core().Memory == nil {
		return wire.Empty{}, ErrNotFound
	}
	return wire.Empty{}, a.Core().Memory.Delete(ctx, p.Key, p.Scope)
}

func (a Permissions) List(context.Context, *wire.Empty) (wire.PermissionListResult, error) {
	if a.Core().Grants == nil {
		return wire.PermissionListResult{Grants: []wire.Grant{}}, nil
	}
	return wire.PermissionListResult{Grants: NonNil(a.Core().Grants.List())}, nil
}

func (a Permissions) Revoke(_ context.Context, p *wire.PermissionRevokeParams) (wire.Empty, error) {
	if p.GrantID == "" {
		return wire.Empty{}, Invalid("grantId", "is missing")
	}
	if a.Core().Grants == nil {
		return wire.Empty{}, ErrNotFound
	}
	return wire.Empty{}, a.Core().Grants.Revoke(p.GrantID)
}

func (a Background) List(ctx context.Context, p *wire.SessionParams) (wire.JobListResult, error) {
	if _, err := a.get(ctx, p.SessionID); err != nil {
		return wire.JobListResult{}, err
	}
	if a.Core().Jobs == nil {
		return wire.JobListResult{Jobs: []wire.Job{}}, nil
	}
	return wire.JobListResult{Jobs: NonNil(a.Core().Jobs.List(p.SessionID))}, nil
}

func (a Background) Read(_ context.Context, p *wire.JobParams) (wire.JobReadResult, error) {
	if p.JobID == "" {
		return wire.JobReadResult{}, Invalid("jobId", "is missing")
	}
	if a.Core().Jobs == nil {
		return wire.JobReadResult{}, ErrNotFound
	}
	output, status, err := a.Core().Jobs.Read(p.JobID)
	return wire.JobReadResult{Output: output, Status: status}, err
}

func (a Background) Kill(_ context.Context, p *wire.JobParams) (wire.Empty, error) {
	if p.JobID == "" {
		return wire.Empty{}, Invalid("jobId", "is missing")
	}
	if a.Core().Jobs == nil {
		return wire.Empty{}, ErrNotFound
	}
	return wire.Empty{}, a.Core().Jobs.Kill(p.JobID)
}
