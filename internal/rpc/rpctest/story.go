package rpctest

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Story summarizes a log. The summary contains turns, completed items, proposals, requests and
// retries. It omits IDs, times and deltas, so that two runs of one script have the same story.
func Story(log []*Message, ws string) string {
	var b strings.Builder
	for _, m := range log {
		if line := storyLine(m); line != "" {
			b.WriteString(strings.ReplaceAll(strings.ReplaceAll(line, URIOf(ws), "$ws"), ws,
				"$wspath") + "\n")
		}
	}
	return b.String()
}

type storyParams struct {
	Turn struct {
		Status, EndReason, AbortPhase     string
		ModelCalls, ToolCalls, ToolErrors int
		Error                             *struct{ Kind string }
	}
	Item struct {
		Type, Text, Status, Name, Source, Level, Result string
		Args                                            json.RawMessage
	}
	Proposal struct {
		State string
		Stat  struct{ Files, Added, Removed int }
		Files []struct {
			Op, URI, Placement string
			Hunks              []struct{ State string }
		}
	}
	Subject  struct{ Kind, Command string }
	Question string
	Attempt  int
	Error    struct{ Kind string }
	Strategy string
	Message  string
	Label    string
}

func storyLine(m *Message) string {
	var p storyParams
	if m.isAnswer() || m.Method == "agent/delta" || json.Unmarshal(m.Params, &p) != nil {
		return ""
	}
	switch m.Method {
	case "agent/turn/started":
		return "turn"
	case "agent/turn/completed":
		return endLine(&p)
	case "agent/item/completed":
		return itemLine(&p)
	case "agent/proposal/created", "agent/proposal/updated", "agent/proposal/closed":
		return proposalLine(strings.TrimPrefix(m.Method, "agent/"), &p)
	case "agent/requestPermission":
		return "  permission? " + p.Subject.Kind + " " + p.Subject.Command
	case "agent/ask":
		return "  ask? " + p.Question
	case "agent/retry":
		return fmt.Sprintf("  retry %d %s", p.Attempt, p.Error.Kind)
	case "agent/compaction":
		return "  compaction " + p.Strategy
	case "workspace/applyEdit":
		return "  applyEdit"
	case "window/showMessageRequest", "window/showMessage":
		return "  message " + clip(p.Message)
	}
	return ""
}

func endLine(p *storyParams) string {
	s := fmt.Sprintf("end %s %s %s calls=%d/%d errors=%d", p.Turn.Status, p.Turn.EndReason,
		p.Turn.AbortPhase, p.Turn.ModelCalls, p.Turn.ToolCalls, p.Turn.ToolErrors)
	if p.Turn.Error != nil {
		s += " " + p.Turn.Error.Kind
	}
	return s
}

func itemLine(p *storyParams) string {
	it := &p.Item
	switch it.Type {
	case "toolCall":
		return fmt.Sprintf("  call %s %s %s\n    -> %s", it.Name, it.Status, it.Args,
			clip(it.Result))
	case "plan":
		return "  plan"
	case "notice":
		return "  notice " + it.Level + ": " + clip(it.Text)
	}
	s := "  " + strings.TrimSuffix(it.Type, "Message")
	for _, extra := range []string{it.Source, it.Status} {
		if extra != "" {
			s += " " + extra
		}
	}
	return s + ": " + clip(it.Text)
}

func proposalLine(what string, p *storyParams) string {
	s := fmt.Sprintf("  %s %s +%d -%d", what, p.Proposal.State, p.Proposal.Stat.Added,
		p.Proposal.Stat.Removed)
	for _, f := range p.Proposal.Files {
		s += fmt.Sprintf(" %s %s %s", f.Op, f.Placement, f.URI)
		for _, h := range f.Hunks {
			s += " " + h.State
		}
	}
	return s
}

func clip(s string) string {
	s = strings.ReplaceAll(s, "\n", "⏎")
	if r := []rune(s); len(r) > 300 {
		return string(r[:300]) + "…"
	}
	return s
}
