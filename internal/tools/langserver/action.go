package langserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
	"github.com/agent-lsp/agent-lsp/internal/workspace/text"
)

// maxActions limits the number of code actions in a list.
const maxActions = 50

// action is a CodeAction or a Command. In a Command, the field command is a name, not an object.
type action struct {
	Title    string
	Kind     string
	Edit     json.RawMessage
	Command  json.RawMessage
	Disabled *struct{ Reason string }
	raw      json.RawMessage
}

// codeActions lists the code actions that a server offers at a position. It always asks one of the
// daemon's own servers, because agent/editor/query has no operation for code actions.
func (h *Hub) codeActions(ctx context.Context, r *render, a args) (*tool.Result, error) {
	s, at, list, err := h.actionsAt(ctx, r, a)
	if err != nil {
		return nil, err
	}
	enc := h.opt.Workspace.Encoding()
	where, line := r.at(at.file.Ref.URI, at.position(enc), enc)
	if len(list) == 0 {
		return r.result("%s: no data: %s offers no code action here\n    %s", where, s.conf.Name,
			line), nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: code actions from %s (to apply one, pass its title to lsp_action):\n    %s\n", where,
		s.conf.Name, line)
	for i, act := range list {
		if i == maxActions {
			fmt.Fprintf(&b, "… and %d more\n", len(list)-i)
			break
		}
		fmt.Fprintf(&b, "- %s", act.Title)
		if act.Kind != "" {
			fmt.Fprintf(&b, " (%s)", act.Kind)
		}
		if act.Disabled != nil {
			fmt.Fprintf(&b, " (unavailable: %s)", act.Disabled.Reason)
		}
		b.WriteByte('\n')
	}
	return r.result("%s", b.String()), nil
}

// actionsAt asks the server for the code actions at a position. Before that, it waits a limited
// time for the server's diagnostics of the text, because a fix belongs to a diagnostic.
func (h *Hub) actionsAt(ctx context.Context, r *render,
	a args) (*server, place, []action, error) {
	at, err := h.place(ctx, r, a)
	if err != nil {
		return nil, at, nil, err
	}
	s, err := h.ready(ctx, at.file)
	if err != nil {
		return nil, at, nil, err
	}
	if !s.offers("codeActionProvider") {
		return nil, at, nil, fmt.Errorf("no data: %s does not offer code actions; use edit",
			s.conf.Name)
	}
	wait, stop := context.WithTimeout(ctx, min(h.opt.word, h.opt.QueryTimeout))
	s.spoken(wait, at.file)
	stop()
	rng, err := actionRange(at, a, s.encoding())
	if err != nil {
		return nil, at, nil, err
	}
	raw, err := s.call(ctx, protocol.MethodTextDocumentCodeAction, map[string]any{
		"textDocument": map[string]any{"uri": string(uri.File(at.file.Ref.Path))}, "range": rng,
		"context": map[string]any{"diagnostics": s.diagnosticsIn(at.file.Ref.Path, rng),
			"triggerKind": 1}})
	if err != nil {
		return nil, at, nil, err
	}
	return s, at, decodeActions(raw), nil
}

// actionRange returns the range for the request. The range is empty if a column or a symbol gives
// an exact position and end_line is not after the line. Otherwise, it extends to the end of the
// line or of end_line.
func actionRange(at place, a args, enc workspace.Encoding) (workspace.Range, error) {
	start := at.position(enc)
	if a.Column > 0 || a.Symbol != "" || a.Line == 0 {
		if a.EndLine <= a.Line {
			return workspace.Range{Start: start, End: start}, nil
		}
	}
	body := at.file.Text.Data
	index := text.NewLineIndex(body)
	last := max(a.Line, a.EndLine)
	if last > index.Lines() {
		return workspace.Range{}, fmt.Errorf("line %d is past the end: %s has %d lines", last,
			at.file.Ref, index.Lines())
	}
	end := index.Offset(body, workspace.Position{Line: uint32(last - 1), Character: 1<<31 - 1},
		workspace.UTF8)
	return workspace.Range{Start: start, End: index.Position(body, end, enc)}, nil
}

func decodeActions(raw json.RawMessage) []action {
	var list []json.RawMessage
	_ = json.Unmarshal(raw, &list)
	var out []action
	for _, item := range list {
		act := action{raw: item}
		if json.Unmarshal(item, &act) == nil && act.Title != "" {
			out = append(out, act)
		}
	}
	return out
}

// diagnosticsIn returns the diagnostics on the lines of a range, as the server sent them.
func (s *server) diagnosticsIn(path string, rng workspace.Range) []json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := []json.RawMessage{}
	p := s.last(path)
	if p == nil {
		return out
	}
	for i := range p.items {
		if d := &p.items[i]; d.Range.Start.Line <= rng.End.Line &&
			d.Range.End.Line >= rng.Start.Line {
			out = append(out, d.raw)
		}
	}
	return out
}

// act performs one code action and proposes its changes.
func (h *Hub) act(ctx context.Context, call *tool.Call, a args,
	propose Propose) (*tool.Result, error) {
	r := &render{h: h, ctx: ctx, cwd: call.Cwd}
	if strings.TrimSpace(a.Title) == "" {
		return nil, errors.New("no title is given; lsp with the operation codeActions lists the titles")
	}
	s, _, list, err := h.actionsAt(ctx, r, a)
	if err != nil {
		return nil, err
	}
	chosen, err := pick(list, a.Title)
	if err != nil {
		return nil, err
	}
	raw, err := s.editOf(ctx, chosen)
	if err != nil {
		return nil, err
	}
	changes, err := s.changes(ctx, call.Cwd, raw)
	if err != nil {
		return nil, err
	}
	if len(changes) == 0 {
		return r.result("no data: %q of %s would change nothing", chosen.Title, s.conf.Name), nil
	}
	return propose(ctx, call, chosen.Title, changes)
}

// pick finds an action by its title, or by a part of the title that no other action contains.
func pick(list []action, title string) (*action, error) {
	var parts []*action
	var titles []string
	for i := range list {
		if act := &list[i]; strings.EqualFold(act.Title, strings.TrimSpace(title)) {
			return act, nil
		} else if strings.Contains(strings.ToLower(act.Title), strings.ToLower(title)) {
			parts = append(parts, act)
		}
		titles = append(titles, list[i].Title)
	}
	if len(parts) == 1 {
		return parts[0], nil
	}
	if len(titles) == 0 {
		return nil, errors.New("no data: there is no code action here")
	}
	return nil, fmt.Errorf("no single action has the title %q. Available actions:\n- %s", title,
		strings.Join(titles[:min(len(titles), maxActions)], "\n- "))
}

// editOf returns the edit of an action. This is the action's own edit, the edit that the server
// adds when it resolves the action, or the edit that the server asks to apply when its command
// runs.
func (s *server) editOf(ctx context.Context, act *action) (json.RawMessage, error) {
	if act.Disabled != nil {
		return nil, fmt.Errorf("%s refuses this here: %s", s.conf.Name, act.Disabled.Reason)
	}
	if empty(act.Edit) && s.resolvesActions() {
		raw, err := s.call(ctx, protocol.MethodCodeActionResolve, act.raw)
		if err != nil {
			return nil, err
		}
		full := action{}
		if json.Unmarshal(raw, &full) == nil {
			act.Edit = full.Edit
			if !empty(full.Command) {
				act.Command = full.Command
			}
		}
	}
	if !empty(act.Edit) {
		return act.Edit, nil
	} else if empty(act.Command) {
		return json.RawMessage(`{}`), nil
	}
	return s.editByCommand(ctx, act)
}

func empty(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// editing reports whether actions of a kind only change text.
func editing(kind string) bool {
	for _, k := range []string{"quickfix", "refactor", "source.organizeImports", "source.fixAll"} {
		if kind == k || strings.HasPrefix(kind, k+".") {
			return true
		}
	}
	return false
}

// goplsEdits are the commands of gopls that only ask for an edit. Others write to the disk, run
// programs or open pages. Some of them belong to quick fixes, such as vendor.
const goplsEdits = " add_dependency add_import add_test apply_fix change_signature " +
	"edit_go_directive extract_to_new_file go_get_package implement_interface modify_tags " +
	"move_declaration move_type remove_dependency tidy update_go_sum upgrade_dependency "

// commandEdits reports whether a server's command may be run to get an edit. Unknown commands of
// gopls may not. For other unknown commands, only the kind of their action decides.
func commandEdits(name string) bool {
	if own, ok := strings.CutPrefix(name, "gopls."); ok {
		return strings.Contains(goplsEdits, " "+own+" ")
	}
	// The first of these commands can install packages, and the second one writes type stubs.
	return name != "_typescript.applyCodeActionCommand" && name != "pyright.createtypestub"
}

func (s *server) resolvesActions() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	var o struct{ ResolveProvider bool }
	return json.Unmarshal(s.caps["codeActionProvider"], &o) == nil && o.ResolveProvider
}

// editByCommand runs an action's command and returns the edit that the server asks to apply.
func (s *server) editByCommand(ctx context.Context, act *action) (json.RawMessage, error) {
	var name string
	params := act.Command
	if json.Unmarshal(act.Command, &name) == nil { // the action was a Command
		params = act.raw
	}
	var c struct {
		Command   string            `json:"command"`
		Arguments []json.RawMessage `json:"arguments,omitempty"`
	}
	if err := json.Unmarshal(params, &c); err != nil {
		return nil, fmt.Errorf("reading the command of %q: %w", act.Title, err)
	}
	if !editing(act.Kind) || !commandEdits(c.Command) {
		return nil, fmt.Errorf("%q (%s) runs a command in %s, which may do more than change text; use the shell", act.Title, act.Kind, s.conf.Name)
	}
	s.actions.mu.Lock()
	defer s.actions.mu.Unlock()
	taken := make(chan json.RawMessage, 1)
	s.take(taken)
	defer s.take(nil)
	if _, err := s.call(ctx, protocol.MethodWorkspaceExecuteCommand, c); err != nil {
		return nil, err
	}
	select {
	case edit := <-taken:
		return edit, nil
	default:
		return json.RawMessage(`{}`), nil
	}
}

// take sets the channel that receives the next edit that the server asks to apply. The channel must
// have room for the edit. If edits is nil, edits are refused.
func (s *server) take(edits chan json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.actions.wanted = edits
}

// applyEdit responds to workspace/applyEdit.
func (s *server) applyEdit(params json.RawMessage) map[string]any {
	var p struct{ Edit json.RawMessage }
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.actions.wanted != nil && json.Unmarshal(params, &p) == nil {
		select {
		case s.actions.wanted <- p.Edit:
			return map[string]any{"applied": true}
		default:
		}
	}
	return map[string]any{"applied": false, "failureReason": "only the agent proposes edits"}
}
