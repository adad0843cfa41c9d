package app

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/config"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/memory"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/rpc/agentapi"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
)

// memories gives the client access to the memory store.
type memories struct{ store *memory.Store }

var _ agentapi.Memory = memories{}

func (d *daemon) openMemory() *memory.Store {
	return memory.Open(
		memory.Options{
			Path:     d.folders.file("memory.db"),
			Root:     d.folders.root,
			Redact:   d.redact.Bytes,
			Log:      d.log,
			Embedder: d.embedder,
		},
	)
}

// embedder returns the base URL and the name of the embedding model in the settings, and the
// function that calls the model. The function is nil if the settings name no model.
func (d *daemon) embedder() (string, memory.Embed) {
	c := d.settings.config()
	if c.Memory == nil || c.Memory.Embeddings == nil || c.Memory.Embeddings.Model == "" {
		return "", nil
	}
	e := *c.Memory.Embeddings
	key := Lookup(d.processes.env, e.APIKeyEnv)
	if key != "" {
		d.redact.Add(key)
	}
	return e.BaseURL + " " + e.Model,
		func(ctx context.Context, texts []string) ([][]float32, error) {
			m, err := d.providers.embeddings(ctx, c, e, key)
			if err != nil {
				return nil, err
			}
			return m.Embed(ctx, texts)
		}
}

const (
	// injectTime limits the search for memories that are added to a prompt, because the prompt
	// waits for the search.
	injectTime = 3 * time.Second
	// maxInjected is the maximum size of one added memory in bytes.
	maxInjected = 2000
)

// HookName implements agent.Hook. sessionParts is the hook that adds memories to prompts.
func (p *sessionParts) HookName() string { return "memory" }

// BeforePrompt adds the memories that match the user's prompt and that the model has not seen yet,
// at most as many as memory.inject allows.
func (p *sessionParts) BeforePrompt(
	ctx context.Context,
	_ string,
	m *message.Message,
) (string, error) {
	c := p.info.Config()
	if !memoryOn(&c) || c.Memory == nil || c.Memory.Inject <= 0 ||
		strings.TrimSpace(m.TextContent()) == "" {
		return "", nil
	}
	ctx, cancel := context.WithTimeout(ctx, injectTime)
	defer cancel()
	found, err := p.d.shared.memory.Search(
		ctx,
		memory.Query{Text: m.TextContent(), TopK: c.Memory.Inject},
	)
	if err != nil {
		p.d.log.Warn("searching the memories for a prompt", "error", err)
		return "", nil
	}
	var lines []string
	for _, m := range found {
		if p.remembers(m) {
			lines = append(lines, "- "+memory.Line(m, maxInjected))
		}
	}
	if len(lines) == 0 {
		return "", nil
	}
	return "From memory, which may not be relevant here:\n" + strings.Join(lines, "\n"), nil
}

// remembers reports whether the model has not yet seen the current form of a memory. It also
// records that the model has now seen it.
func (p *sessionParts) remembers(m memory.Memory) bool {
	key := m.Scope + "\x00" + m.Key + "\x00" + m.Content
	p.mu.Lock()
	defer p.mu.Unlock()
	fresh := !p.recalled[key]
	p.recalled[key] = true
	return fresh
}

// AfterCompact allows memories to be sent again, because compacting the history may have removed
// them.
func (p *sessionParts) AfterCompact(context.Context, agent.Compacted) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.recalled)
	return nil
}

var (
	_ agent.PromptHook     = (*sessionParts)(nil)
	_ agent.CompactEndHook = (*sessionParts)(nil)
)

// memoryOn reports whether the model gets the tools to store and recall memories.
func memoryOn(c *config.Config) bool {
	return c.Memory == nil || c.Memory.Enabled == nil || *c.Memory.Enabled
}

func (m memories) Save(ctx context.Context, p wire.MemorySaveParams) error {
	_, err := m.store.Save(
		ctx,
		memory.Memory{Key: p.Key, Content: p.Content, Tags: p.Tags, Scope: p.Scope, Author: "user"},
	)
	return err
}

func (m memories) Get(ctx context.Context, key, scope string) (wire.MemoryEntry, error) {
	got, err := m.store.Get(ctx, key, scope)
	return memoryTo(got), memoryError(err)
}

func (m memories) Search(
	ctx context.Context,
	p wire.MemorySearchParams,
) ([]wire.MemoryEntry, error) {
	list, err := m.store.Search(
		ctx,
		memory.Query{Text: p.Query, TopK: p.TopK, Tags: p.TagsInclude, Scope: p.Scope},
	)
	out := make([]wire.MemoryEntry, len(list))
	for i := range list {
		out[i] = memoryTo(list[i])
	}
	return out, err
}

func (m memories) Delete(ctx context.Context, key, scope string) error {
	return memoryError(m.store.Delete(ctx, key, scope))
}

func memoryError(err error) error {
	if errors.Is(err, memory.ErrNotFound) {
		return fmt.Errorf("%w: %w", err, agentapi.ErrNotFound)
	}
	return err
}

func memoryTo(m memory.Memory) wire.MemoryEntry {
	tags := m.Tags
	if tags == nil {
		tags = []string{}
	}
	return wire.MemoryEntry{
		Key:       m.Key,
		Content:   m.Content,
		Tags:      tags,
		Scope:     m.Scope,
		Score:     m.Score,
		CreatedAt: m.CreatedAt,
		UpdatedAt: m.UpdatedAt,
	}
}
