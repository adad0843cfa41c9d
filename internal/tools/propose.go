package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
	"github.com/agent-lsp/agent-lsp/internal/workspace/edit"
)

// maxEditFailures is the number of failed edits of a file after which the file must be read again.
const maxEditFailures = 2

// promptOf returns the ID of the message that started the call's turn, for the checkpoint, or "" if
// it is not known.
func promptOf(call *tool.Call) (id string) {
	if call.History == nil {
		return ""
	}
	for _, m := range slices.Backward(call.History()) {
		switch {
		case m.TurnID != call.TurnID && m.TurnID != "":
			return id
		case m.Role == message.RoleUser && m.TurnID == call.TurnID && !m.Hidden:
			id = m.ID
		}
	}
	return id
}

// propose turns changes into a proposal and waits for its outcome if the policy requires it. The
// result for the model contains the outcome and, if some changes were not rejected, the summary.
func (e *sessionEnv) propose(ctx context.Context, call *tool.Call, title, summary string,
	changes []workspace.Change) (*tool.Result, error) {
	turn := call.TurnID
	if e.Owner != "" {
		turn = e.OwnerTurn
	}
	req := workspace.ProposeRequest{SessionID: e.owner(), Reader: e.ID, TurnID: turn,
		ItemID: call.ItemID, MessageID: promptOf(call), Title: title, Policy: e.policy(),
		Changes: changes}
	p, err := e.Workspace.Propose(ctx, req)
	if errors.Is(err, workspace.ErrNoChange) {
		return text("%s", strings.TrimSpace("Nothing to change: the text is already as requested.\n"+
			summary)), nil
	}
	if err != nil {
		return nil, err
	}
	update := tool.Update{ProposalID: p.ID, Locations: proposedPlaces(p)}
	wait, cancel := ctx, context.CancelFunc(func() {})
	if p.Policy == workspace.Ask || p.Policy == workspace.Confirm {
		update.Status = tool.StatusAwaitingReview
		wait, cancel = call.WaitContext(ctx)
	}
	defer cancel()
	call.Report(update)
	out, err := e.Workspace.Await(wait, p.ID)
	if err != nil {
		return nil, &workspace.UncertainError{Err: err}
	}
	if out.CutOff {
		return &tool.Result{Text: out.Text, IsError: true, CutOff: true}, nil
	}
	if p.Policy == workspace.Collect {
		e.sawPending(ctx, changes)
	}
	shown := map[string]any{"proposalId": p.ID, "policy": p.Policy, "state": out.State,
		"accepted": out.Accepted, "hunks": out.Total}
	e.addUserChanges(shown, p)
	return outcomeResult(p, out, summary, shown), nil
}

// maxChanged limits the size of the texts that are repeated in the details of a call, in bytes.
const maxChanged = 64 << 10

// decidedHunk is a hunk in the details of a call, for clients.
type decidedHunk struct {
	URI     string              `json:"uri"`
	Line    uint32              `json:"line"` // line in the original file, from 0
	OldText string              `json:"oldText"`
	NewText string              `json:"newText"`
	State   workspace.HunkState `json:"state"`
}

// addUserChanges adds the hunks of a proposal to the details if the user accepted a hunk with
// another text. In this case, the arguments of the call do not contain the applied text, and the
// proposal does not outlive the daemon. If the texts are too large, the details only report that
// they are omitted.
func (e *sessionEnv) addUserChanges(shown map[string]any, p *workspace.Proposal) {
	now, _, err := e.Workspace.Get(p.ID)
	if err != nil || len(now.Files) != len(p.Files) {
		return
	}
	proposed := map[string]workspace.Hunk{}
	for _, f := range p.Files {
		for _, h := range f.Hunks {
			proposed[h.ID] = h
		}
	}
	var out []decidedHunk
	size, changed := 0, false
	for _, f := range now.Files {
		for _, h := range f.Hunks {
			was := proposed[h.ID]
			changed = changed || h.State == workspace.HunkAccepted && h.NewText != was.NewText
			size += len(h.OldText) + len(h.NewText)
			out = append(out, decidedHunk{URI: f.URI, Line: was.Range.Start.Line,
				OldText: h.OldText, NewText: h.NewText, State: h.State})
		}
	}
	switch {
	case changed && size > maxChanged:
		shown["changesOmitted"] = true
	case changed:
		shown["changes"] = out
	}
}

// changedByUser reports whether the details contain changes by the user. If they do, the file does
// not contain the proposed text.
func changedByUser(shown map[string]any) bool {
	return shown["changes"] != nil || shown["changesOmitted"] != nil
}

// saysUnchanged wraps the function do. If an edit is refused, the error then also says that nothing
// was changed.
func saysUnchanged(do run) run {
	return func(ctx context.Context, call *tool.Call) (*tool.Result, error) {
		res, err := do(ctx, call)
		if ctx.Err() != nil {
			return res, err
		}
		return res, workspace.SayUnchanged(err)
	}
}

// proposedPlaces returns the files of a proposal, each with the position of its first hunk.
func proposedPlaces(p *workspace.Proposal) (locs []tool.Location) {
	for _, f := range p.Files {
		loc := tool.Location{URI: f.URI}
		if len(f.Hunks) > 0 {
			r := f.Hunks[0].Range
			loc.Range = &message.Range{Start: message.Position(r.Start),
				End: message.Position(r.End)}
		}
		locs = append(locs, loc)
	}
	return locs
}

// Propose turns another tool's changes into a proposal in a session, as the edit tools do.
func (s *Set) Propose(ctx context.Context, sess Session, call *tool.Call, title string,
	changes []workspace.Change) (*tool.Result, error) {
	e := &sessionEnv{Deps: &s.d, Session: sess, failures: map[string]int{}}
	return e.propose(ctx, call, title, "", changes)
}

// sawPending records that the session knows the text of its own collected edits.
func (e *sessionEnv) sawPending(ctx context.Context, changes []workspace.Change) {
	for _, c := range changes {
		if f, err := e.Workspace.ReadFor(ctx, e.owner(), c.Ref); err == nil {
			e.Workspace.Stamp(e.ID, f, true)
		}
	}
}

func outcomeResult(p *workspace.Proposal, out workspace.Outcome, summary string,
	shown map[string]any) *tool.Result {
	s := strings.TrimRight(out.Text, "\n")
	if summary = strings.TrimRight(summary, "\n"); summary != "" && out.Accepted+out.Pending > 0 {
		head := "The proposed text:"
		if p.Policy == workspace.Auto || p.Policy == workspace.Review ||
			out.Accepted == out.Total && !changedByUser(shown) {
			head = ""
		}
		s = strings.TrimRight(s+"\n"+head, "\n") + "\n" + summary
	}
	res := text("%s: %s", p.Title, s)
	res.Denied = out.Denied
	res.Missed = out.Accepted+out.Pending < out.Total
	res.IsError = out.Accepted == 0 &&
		(out.State == workspace.StateConflict || out.State == workspace.StateWithdrawn)
	res.Details = details(shown)
	for _, f := range p.Files {
		res.Locations = append(res.Locations, tool.Location{URI: f.URI})
	}
	if len(p.Files) == 1 {
		res.Meta = tool.Meta{Kind: "file", Key: p.Files[0].Ref.Key, Changed: out.Accepted+
			out.Pending > 0}
	}
	return res
}

// target is the file that an edit changes.
type target struct {
	ref  workspace.Ref
	file *workspace.File
	name string
}

func (e *sessionEnv) target(ctx context.Context, call *tool.Call, file named) (*target, error) {
	if strings.TrimSpace(file.path) == "" {
		return nil, errNoPath
	}
	if file.err != nil {
		return nil, file.err
	}
	ref := file.ref
	t := &target{ref: ref, name: ref.Rel}
	if ref.IsFile() {
		t.name = e.shown(call, ref.Path)
		if info, err := e.Workspace.Stat(ref); err == nil && info.IsDir() {
			return nil, fmt.Errorf("%s is a folder, not a file", t.name)
		}
	}
	var err error
	t.file, err = e.Workspace.ReadFor(ctx, e.owner(), ref)
	return t, err
}

// options returns the edit engine's options for a file. They include the other versions of the file
// in which a search text may occur.
func (e *sessionEnv) options(t *target) edit.Options {
	opt := edit.Options{Path: t.name}
	if t.file == nil {
		return opt
	}
	if t.file.Dirty && t.file.Disk != nil {
		opt.Elsewhere = append(opt.Elsewhere,
			edit.Elsewhere{Name: "the version on disk", Data: t.file.Disk})
	}
	for _, p := range e.Workspace.Undecided("", t.file.Ref.URI) {
		if _, proposed, err := e.Workspace.Sides(p.ID, t.file.Ref.URI); err == nil &&
			len(opt.Elsewhere) < 4 {
			opt.Elsewhere = append(opt.Elsewhere,
				edit.Elsewhere{Name: "the pending proposal " + p.ID, Data: proposed})
		}
	}
	return opt
}

// mustRead refuses edits of a file that must be read again because earlier edits failed.
func (e *sessionEnv) mustRead(t *target) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.failures[t.ref.Key] >= maxEditFailures {
		return fmt.Errorf("%d edits of %s have failed; read it again first, then edit its current text", maxEditFailures, t.name)
	}
	return nil
}

// failed counts an edit that did not match. From the second failure on, the message shows the
// nearest region of the file.
func (e *sessionEnv) failed(t *target, err error) error {
	var m *edit.MatchError
	if !errors.As(err, &m) {
		return err
	}
	e.mu.Lock()
	e.failures[t.ref.Key]++
	n := e.failures[t.ref.Key]
	e.mu.Unlock()
	if n < maxEditFailures {
		return err
	}
	e.Workspace.DropStamp(e.ID, t.ref)
	return fmt.Errorf("%w\nThis was failure %d on %s. Read it again before the next edit. The text was expected here:\n%s", err, n, t.name, nearest(t.file, m))
}

// Limits of the region of a file that an error shows: the lines before and after the position of
// the edit, and the lines in total.
const (
	regionAround = 15
	regionMax    = 120
)

// nearest shows the region of the file that is most similar to a search text that was not found, or
// the first match of a search text that is not unique.
func nearest(f *workspace.File, m *edit.MatchError) string {
	line, end := m.Line, m.EndLine
	if line == 0 && len(m.Places) > 0 {
		line, end = m.Places[0], m.Places[0]
	}
	return region(f, line, end)
}

func region(f *workspace.File, line, end int) string {
	from := max(1, line-regionAround)
	v := newView(readArgs{Offset: from, Limit: min(max(end, line)+regionAround-from+1, regionMax)},
		readBytes/4)
	v.all(f.Text.Data)
	return v.result(nil)
}

// known checks that the session has read at least a part of the file in its current version.
// Otherwise, the error shows the unread lines that the edit changes, or the changes since the last
// read. After that, the same edit can be sent again.
func (e *sessionEnv) known(call *tool.Call, t *target, plan *edit.Plan) (note string, err error) {
	note, err = e.Workspace.CheckStamp(e.ID, t.file, false)
	var unread *workspace.UnreadError
	var changed *workspace.ChangedError
	switch {
	case errors.As(err, &unread) && readBefore(call, t.file):
		e.Workspace.Stamp(e.ID, t.file, false)
		return "", nil
	case errors.As(err, &unread):
		e.Workspace.Stamp(e.ID, t.file, false)
		return "", fmt.Errorf("%w. Nothing was changed. This is the current text; send the edit again if it is still right:\n%s", err, around(t.file, plan))
	case errors.As(err, &changed) && changed.Complete:
		e.Workspace.Stamp(e.ID, t.file, false)
		return "", fmt.Errorf("%w\nNothing was changed. Send the edit again if it still is right",
			err)
	}
	return note, err
}

// isUnread reports whether an edit failed only because the file was not read in its current
// version.
func isUnread(err error) bool {
	var unread *workspace.UnreadError
	var changed *workspace.ChangedError
	return errors.As(err, &unread) || errors.As(err, &changed)
}

// readBefore reports whether the session's history contains a read of the file in its current
// version. Read records do not survive a restart and are not copied by a fork.
func readBefore(call *tool.Call, f *workspace.File) bool {
	if call.History == nil {
		return false
	}
	for _, m := range slices.Backward(call.History()) {
		var meta tool.Meta
		if raw, ok := m.Meta[tool.MetaKey]; !ok || json.Unmarshal(raw, &meta) != nil {
			continue
		}
		if meta.Kind == "file" && meta.SHA256 == f.SHA256 &&
			strings.HasPrefix(meta.Key, f.Ref.Key+":") {
			return true
		}
	}
	return false
}

// around shows the lines that a plan would change.
func around(f *workspace.File, plan *edit.Plan) string {
	if len(plan.Spans) == 0 {
		return region(f, 1, 1)
	}
	first, last := plan.Spans[0].Start, plan.Spans[len(plan.Spans)-1].End
	line := countLines(f.Text.Data[:first])
	return region(f, max(line, 1), line+countLines(f.Text.Data[first:last]))
}

// resetFailures forgets the failures recorded for a file.
func (e *sessionEnv) resetFailures(ref workspace.Ref) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.failures, ref.Key)
}
