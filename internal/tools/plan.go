package tools

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
)

// Limits of the plan.
const (
	maxPlanEntries = 50
	maxPlanEntry   = 500 // bytes
)

type planArgs struct {
	Entries []planEntry `json:"entries" jsonschema:"the whole list, in order"`
}

type planEntry struct {
	Content string `json:"content,omitempty"`
	Status  string `json:"status,omitempty" jsonschema:"pending, inProgress or completed"`
}

// UnmarshalMapstructure accepts the spellings of other agents' task lists, and a bare string.
func (p *planEntry) UnmarshalMapstructure(v any) error {
	if content, ok := v.(string); ok {
		p.Content = content
		return nil
	}
	var other struct{ Content, Step, Text, Title, Task, Status, State string }
	if err := tool.Assign(v, &other); err != nil {
		return fmt.Errorf("an entry must be {content, status}: %w", err)
	}
	for _, s := range []string{other.Content, other.Step, other.Text, other.Title, other.Task} {
		if p.Content == "" {
			p.Content = s
		}
	}
	if p.Status = other.Status; p.Status == "" {
		p.Status = other.State
	}
	return nil
}

func (e *sessionEnv) planTool() tool.Tool {
	return newTool(definition[planArgs]{
		spec: tool.Spec{
			Name: "plan", Label: "Plan", Effect: tool.ReadOnly, Deferred: true, Hidden: true,
			Aliases: []string{"todo", "todo_write", "todowrite", "update_plan", "write_todos",
				"update_todo_list"},
			BareItems: map[string]string{"entries": "content"},
			ParamAliases: map[string]string{"todos": "entries", "plan": "entries",
				"items": "entries", "steps": "entries", "tasks": "entries"},
		},
		prepare: func(_ *tool.Call, a planArgs) tool.Prepared {
			return tool.Prepared{Reads: []string{}, Run: bind(runPlan, a)}
		},
	})
}

func runPlan(_ context.Context, call *tool.Call, a planArgs) (*tool.Result, error) {
	if len(a.Entries) == 0 {
		return nil, errors.New("the plan has no entries; send the whole list")
	}
	if len(a.Entries) > maxPlanEntries {
		return nil, fmt.Errorf("the plan has %d entries; at most %d are allowed; combine small steps", len(a.Entries), maxPlanEntries)
	}
	var plan []tool.PlanEntry
	done, now := 0, ""
	for i, p := range a.Entries {
		status, err := planStatus(p.Status)
		if err != nil {
			return nil, fmt.Errorf("entry %d: %w", i+1, err)
		}
		content := strings.TrimSpace(p.Content)
		if content == "" {
			return nil, fmt.Errorf("entry %d has no content", i+1)
		}
		plan = append(plan, tool.PlanEntry{Content: cutRune(content, maxPlanEntry), Status: status})
		switch {
		case status == "completed":
			done++
		case status == "inProgress" && now == "":
			now = "; in progress: " + oneLine(content, 80)
		}
	}
	call.Report(tool.Update{Plan: plan})
	return text("The plan is displayed: %d of %d completed%s.", done, len(plan), now), nil
}

func planStatus(s string) (string, error) {
	switch strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(s)) {
	case "", "pending", "todo", "open", "notstarted":
		return "pending", nil
	case "inprogress", "doing", "active", "current":
		return "inProgress", nil
	case "completed", "complete", "done", "finished":
		return "completed", nil
	}
	return "", fmt.Errorf("unknown status %q; use pending, inProgress or completed", s)
}
