package memory

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
)

//go:embed remember.md
var rememberText string

//go:embed recall.md
var recallText string

// maxShown is the maximum size, in bytes, of each memory in the result of a search.
const maxShown = 4000

// Tools returns the tools remember and recall for a store. recall also finds passages in the
// calling session's own history, which compaction does not change.
func Tools(s *Store) []tool.Tool { return []tool.Tool{&rememberTool{s}, &recallTool{s}} }

type rememberTool struct{ store *Store }

func (t *rememberTool) Spec() tool.Spec {
	return tool.Spec{
		Name: "remember", Aliases: []string{"save_memory", "memory_save"}, Label: "Remember",
		Description: strings.TrimSpace(rememberText),
		Schema: json.RawMessage(`{"type":"object","properties":{` +
			`"content":{"type":"string","description":"What to remember, in one or a few full ` +
			`sentences."},` +
			`"key":{"type":"string","description":"Short name. Saving with the same key replaces the memory."},` +
			`"tags":{"type":"array","items":{"type":"string"}},` +
			`"scope":{"type":"string","enum":["workspace","user"],"description":"workspace (default): for this project. user: for all projects."}},` +
			`"required":["content"]}`),
		ParamAliases: map[string]string{"text": "content", "memory": "content", "name": "key"},
		Effect:       tool.Mutates, Source: "builtin", Deferred: true,
	}
}

type rememberArgs struct {
	Content, Key, Scope string
	Tags                []string
}

func (t *rememberTool) Prepare(_ context.Context, call *tool.Call) (*tool.Prepared, error) {
	var a rememberArgs
	if err := call.Decode(&a); err != nil {
		return nil, err
	}
	return &tool.Prepared{
		Label:   strings.TrimSpace("Remember " + a.Key),
		Subject: a.subject(),
		Run: func(ctx context.Context, _ *tool.Call) (*tool.Result, error) {
			return t.remember(ctx, a)
		},
	}, nil
}

// subject returns the subject of a permission to remember a text for all projects, which only the
// user can give. Otherwise, a text of one project could influence the work on all others. A memory
// of this project needs no permission.
func (a rememberArgs) subject() *tool.Subject {
	if a.Scope != User {
		return nil
	}
	title := "Remember for all projects: " + a.Content
	if a.Key != "" {
		title = "Remember for all projects as " + a.Key + ": " + a.Content
	}
	return &tool.Subject{Kind: tool.SubjectTrust, Title: title}
}

func (t *rememberTool) remember(ctx context.Context, a rememberArgs) (*tool.Result, error) {
	saved, err := t.store.Save(ctx,
		Memory{Key: a.Key, Content: a.Content, Tags: a.Tags, Scope: a.Scope, Author: "agent"})
	if err != nil {
		return nil, err
	}
	if saved.Duplicate != "" {
		already := fmt.Sprintf("This is already remembered as %q.", saved.Duplicate)
		return &tool.Result{Text: already}, nil
	}
	return &tool.Result{Text: fmt.Sprintf("Remembered as %q.", saved.Key)}, nil
}

type recallTool struct{ store *Store }

func (t *recallTool) Spec() tool.Spec {
	return tool.Spec{
		Name: "recall", Aliases: []string{"search_memory", "memory_search"}, Label: "Recall",
		Description: strings.TrimSpace(recallText),
		Schema: json.RawMessage(`{"type":"object","properties":{` +
			`"query":{"type":"string","description":"Words to search for. Default: the newest memories."},` +
			`"key":{"type":"string","description":"Exact key of one memory, ` +
			`instead of a query."},` +
			`"where":{"type":"string","enum":["memory","session"],"description":"memory, or this session's own earlier messages. Default: memory, then the session if memory has no match."},` +
			`"tags":{"type":"array","items":{"type":"string"},` +
			`"description":"Only memories with one of these tags."},` +
			`"limit":{"type":"integer","minimum":1,"maximum":100}}}`),
		ParamAliases: map[string]string{"text": "query", "name": "key", "topK": "limit"},
		Effect:       tool.ReadOnly, Source: "builtin", Deferred: true,
	}
}

type recallArgs struct {
	Query, Key, Where string
	Tags              []string
	Limit             int
}

func (t *recallTool) Prepare(_ context.Context, call *tool.Call) (*tool.Prepared, error) {
	var a recallArgs
	if err := call.Decode(&a); err != nil {
		return nil, err
	}
	p := &tool.Prepared{}
	p.Run = func(ctx context.Context, call *tool.Call) (*tool.Result, error) {
		return t.recall(ctx, call, a)
	}
	if what := a.Key + a.Query; what != "" {
		p.Label = fmt.Sprintf("Recall %q", what)
	}
	return p, nil
}

func (t *recallTool) recall(ctx context.Context, call *tool.Call,
	a recallArgs) (*tool.Result, error) {
	if a.Where == "session" {
		return fromSession(call, a)
	}
	if a.Key != "" {
		m, err := t.store.Get(ctx, a.Key, "")
		if errors.Is(err, ErrNotFound) {
			return nil, fmt.Errorf("there is no memory %q; search with query instead", a.Key)
		}
		if err != nil {
			return nil, err
		}
		return &tool.Result{Text: Line(m, MaxContent)}, nil
	}
	found, err := t.store.Search(ctx, Query{Text: a.Query, TopK: a.Limit, Tags: a.Tags})
	if err != nil {
		return nil, err
	}
	if len(found) == 0 && a.Where == "" && call.History != nil && strings.TrimSpace(a.Query) != "" {
		return fromSession(call, a)
	}
	if len(found) == 0 {
		return &tool.Result{Text: "Nothing is remembered about that."}, nil
	}
	lines := make([]string, len(found))
	for i, m := range found {
		lines[i] = Line(m, maxShown)
	}
	return &tool.Result{Text: strings.Join(lines, "\n")}, nil
}

// fromSession returns passages from the calling session's history.
func fromSession(call *tool.Call, a recallArgs) (*tool.Result, error) {
	if call.History == nil {
		return nil, errors.New("this session's history cannot be searched")
	}
	if strings.TrimSpace(a.Query) == "" {
		return nil, errors.New("query is empty; send the words to search for")
	}
	if a.Limit <= 0 {
		a.Limit = DefaultTopK
	}
	found := agent.FindInHistory(call.History(), a.Query, min(a.Limit, MaxTopK))
	if found == "" {
		found = "Nothing is remembered about that, and no earlier message of this session contains it."
	}
	return &tool.Result{Text: found}, nil
}

// Line formats a memory for the model, with its content cut at limit bytes.
func Line(m Memory, limit int) string {
	content := m.Content
	if len(content) > limit {
		content = strings.ToValidUTF8(content[:limit], "") + "… (cut; recall key " + m.Key +
			" returns all of it)"
	}
	tags := ""
	if len(m.Tags) > 0 {
		tags = " [" + strings.Join(m.Tags, ", ") + "]"
	}
	return fmt.Sprintf("%s (%s, %s)%s: %s", m.Key, m.Scope, m.UpdatedAt.Format("2006-01-02"), tags,
		content)
}
