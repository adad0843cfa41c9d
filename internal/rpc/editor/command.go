package editor

import (
	"context"
	"errors"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/rpc/agentapi"
	"github.com/agent-lsp/agent-lsp/internal/rpc/conn"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

// commandArgs are the arguments of a command. They are one object whose fields are all optional.
type commandArgs struct {
	Text         string `json:"text"`
	TextDocument struct {
		URI string `json:"uri"`
	} `json:"textDocument"`
	Range      *wire.Range `json:"range"`
	ProposalID string      `json:"proposalId"`
	HunkID     string      `json:"hunkId"`
	Comment    string      `json:"comment"`
	RequestID  string      `json:"requestId"`
}

// CommandNames lists the commands of workspace/executeCommand.
var CommandNames = []string{
	"agent.prompt", "agent.steer", "agent.abort", "agent.continue", "agent.accept", "agent.reject",
	"agent.acceptAll", "agent.rejectAll", "agent.undoLast", "agent.newSession",
	"agent.showTranscript", "agent.showDiff", "agent.answer",
}

// ExecuteCommand serves clients that do not support agent/*. Commands that need a session use the
// current one. agent.prompt answers when the prompt is accepted. Most other commands answer when
// they are done (see untilApplied).
func (s *Features) ExecuteCommand(ctx context.Context, raw []byte) (any, error) {
	// A prompt applies no edit. Its response must precede the turn's questions, because eglot drops
	// questions that are open when the response arrives.
	prompt := conn.ObjectFrom(raw).String("command") == "agent.prompt"
	if s.link.Client.Features.IdleChanges && !prompt {
		return s.untilApplied(
			ctx,
			func(ctx context.Context) (any, error) { return s.runCommand(ctx, raw) },
		)
	}
	return s.runCommand(ctx, raw)
}

// untilApplied answers with null as soon as the editor reports that it has applied an edit. Some
// editors send the change only after they have received the answer, so waiting for the change would
// cause a deadlock.
func (s *Features) untilApplied(
	ctx context.Context,
	run func(context.Context) (any, error),
) (any, error) {
	type outcome struct {
		result any
		err    error
	}
	applied, forget := s.peer.applied()
	defer forget()
	ended := make(chan outcome, 1)
	// From here on, the command no longer depends on the end of the request or on notifications
	// that the response releases.
	alone := agentapi.Detached(ctx)
	alone, cancel := context.WithCancel(alone)
	stop := context.AfterFunc(s.link.Context(), cancel)
	s.link.Go("running a command", func() {
		defer cancel()
		defer stop()
		result, err := run(alone)
		ended <- outcome{result, err}
	})
	select {
	case got := <-ended:
		return got.result, got.err
	case <-applied:
		return nil, nil
	case <-ctx.Done():
		cancel()
		got := <-ended
		return got.result, got.err
	}
}

func (s *Features) runCommand(ctx context.Context, raw []byte) (any, error) {
	params := conn.ObjectFrom(raw)
	var args commandArgs
	if list := params.Objects("arguments"); len(list) > 0 {
		if err := agentapi.DecodeParams(agentapi.Encode(list[0]), &args); err != nil {
			return nil, err
		}
	}
	if args.TextDocument.URI != "" && args.Range != nil {
		s.place.seen(args.TextDocument.URI, workspaceRangeOf(args.Range))
	}
	switch name := params.String("command"); name {
	case "agent.answer":
		return s.answerCommand(ctx, args)
	case "agent.prompt":
		return s.promptCommand(ctx, args)
	case "agent.newSession":
		return agentapi.Sessions{API: s.api}.New(ctx, &wire.SessionNewParams{})
	case "agent.acceptAll":
		return s.decideAll(ctx, workspace.Accept, args)
	case "agent.rejectAll":
		return s.decideAll(ctx, workspace.Reject, args)
	case "agent.accept":
		return s.decideHunk(ctx, workspace.Accept, args)
	case "agent.reject":
		return s.decideHunk(ctx, workspace.Reject, args)
	case "agent.showDiff":
		return s.showDiff(ctx, args)
	case "agent.steer", "agent.abort", "agent.continue", "agent.undoLast", "agent.showTranscript":
		id := s.api.Current()
		if id == "" {
			return nil, noSession(name)
		}
		return s.sessionCommand(ctx, name, id, args)
	default:
		return nil, agentapi.Invalid(
			"command",
			"unknown command %q; the commands are %v",
			name,
			CommandNames,
		)
	}
}

func noSession(name string) error {
	return agentapi.Fail(
		wire.CodeUnknownSession,
		"%s: there is no session yet; start one with agent.prompt",
		name,
	)
}

func (s *Features) sessionCommand(
	ctx context.Context,
	name, id string,
	args commandArgs,
) (any, error) {
	switch name {
	case "agent.steer":
		return s.steerCommand(ctx, id, args)
	case "agent.abort":
		return s.abort(ctx, &wire.AbortParams{SessionID: id})
	case "agent.continue":
		return s.continueCommand(ctx, id)
	case "agent.undoLast":
		return s.undoLast(ctx, id)
	}
	return s.showTranscript(ctx, id)
}

func textPrompt(text string) wire.Prompt { return wire.Prompt{{Type: "text", Text: text}} }

// promptCommand sends a prompt about the named document, or else about the document that was used
// last.
func (s *Features) promptCommand(ctx context.Context, args commandArgs) (any, error) {
	uri, span := s.meant(args)
	if strings.TrimSpace(args.Text) == "" {
		var err error
		if args.Text, err = s.impliedPrompt(ctx, uri, span); err != nil {
			return nil, err
		}
	}
	if instructions, ok := s.asksToCompact(ctx, args.Text); ok {
		return s.compactCommand(ctx, instructions)
	}
	p := &wire.PromptParams{Prompt: textPrompt(args.Text)}
	if uri != "" {
		p.Context = &wire.PromptContext{URI: uri, Selection: wireRangeOf(span)}
	}
	return agentapi.Turns{API: s.api}.Prompt(ctx, p)
}

// steerCommand steers with the given text, or else with the text that impliedPrompt returns.
func (s *Features) steerCommand(ctx context.Context, id string, args commandArgs) (any, error) {
	if strings.TrimSpace(args.Text) == "" {
		var err error
		uri, span := s.meant(args)
		if args.Text, err = s.impliedPrompt(ctx, uri, span); err != nil {
			return nil, err
		}
	}
	return agentapi.Turns{
		API: s.api,
	}.Steer(
		ctx,
		&wire.SteerParams{SessionID: id, Prompt: textPrompt(args.Text)},
	)
}

// meant returns the document and range that a command refers to. If the command names none, meant
// returns the document and range where the user was last seen. The range is nil if it is unknown.
func (s *Features) meant(args commandArgs) (uri string, span *workspace.Range) {
	if args.Range != nil {
		r := workspaceRangeOf(args.Range)
		span = &r
	}
	if uri = args.TextDocument.URI; uri != "" {
		return uri, span
	}
	if uri = s.lastDocument(); span == nil {
		span = s.place.at(uri)
	}
	return uri, span
}

// lastDocument returns the document in which the user was last seen or, if it is not open, another
// open document. It returns "" if no document is open.
func (s *Features) lastDocument() string {
	if uri := s.place.document(); uri != "" {
		if _, _, open := s.core.Workspace.TextAt(uri, &workspace.Range{}); open {
			return uri
		}
	}
	if docs := s.core.Workspace.Documents(); len(docs) > 0 {
		return docs[0].Ref.URI
	}
	return ""
}

func workspaceRangeOf(r *wire.Range) workspace.Range {
	return workspace.Range{Start: workspace.Position(r.Start), End: workspace.Position(r.End)}
}

func wireRangeOf(r *workspace.Range) *wire.Range {
	if r == nil {
		return nil
	}
	return &wire.Range{Start: wire.Position(r.Start), End: wire.Position(r.End)}
}

// continueCommand runs a turn to its end. Canceling the request aborts the turn.
func (s *Features) continueCommand(ctx context.Context, id string) (any, error) {
	r, err := agentapi.Turns{API: s.api}.Continue(ctx, &wire.SessionParams{SessionID: id})
	if err != nil {
		return nil, err
	}
	turn, err := agentapi.Turns{
		API: s.api,
	}.Wait(
		ctx,
		&wire.TurnWaitParams{SessionID: id, TurnID: r.TurnID},
	)
	if errors.Is(err, agentapi.ErrCancelled) || errors.Is(err, context.Canceled) {
		if l := s.api.Loaded(id); l != nil {
			_, _ = l.Engine.Abort(
				agent.AbortRequest{TurnID: r.TurnID},
			) // fails if the turn has already ended
		}
	}
	return turn, err
}

// decideAll decides every pending hunk of the named proposal. Without a proposal, it decides those
// of the current session, or only those in the named document. A rejection includes the stale
// hunks, because a client that cannot show them must still be able to end the wait of an edit call.
func (s *Features) decideAll(
	ctx context.Context,
	action workspace.Action,
	args commandArgs,
) (any, error) {
	proposals := s.core.Workspace.Undecided(s.api.Current(), args.TextDocument.URI)
	if args.ProposalID != "" {
		p, _, err := s.core.Workspace.Get(args.ProposalID)
		if err != nil {
			return nil, err
		}
		proposals = []workspace.Proposal{p}
	}
	if len(proposals) == 0 {
		return nil, errNoHunk
	}
	out := make([]wire.ProposalResolveResult, 0, len(proposals))
	for _, p := range proposals {
		hunks := []string{"*"}
		if action == workspace.Reject {
			hunks = append(hunks, hunksIn(p, workspace.HunkStale)...)
		}
		r, err := s.decide(ctx, p.ID, action, args.Comment, hunks...)
		if err != nil {
			return out, err
		}
		out = append(out, r)
	}
	return out, nil
}

// errNoHunk reports that there is no hunk to decide.
var errNoHunk = agentapi.Fail(wire.CodeUnknownProposal, "no hunk is waiting for a decision")

// decideHunk decides the named hunk, or else the first pending one at the selection, in the
// document, or in the session. If no hunk is pending, a rejection applies to the first stale hunk.
func (s *Features) decideHunk(
	ctx context.Context,
	action workspace.Action,
	args commandArgs,
) (any, error) {
	if args.ProposalID != "" && args.HunkID != "" {
		return s.decide(ctx, args.ProposalID, action, args.Comment, args.HunkID)
	}
	uri, span := s.meant(args)
	proposal, hunk := firstWithin(s.pendingHunks(uri), span)
	if hunk == "" {
		proposal, hunk = firstIn(s.undecided(), workspace.HunkPending)
	}
	if hunk == "" && action == workspace.Reject {
		proposal, hunk = firstIn(s.undecided(), workspace.HunkStale)
	}
	if hunk == "" {
		return nil, errNoHunk
	}
	return s.decide(ctx, proposal, action, args.Comment, hunk)
}

// undecided returns the current session's proposals that wait for a decision.
func (s *Features) undecided() []workspace.Proposal {
	return s.core.Workspace.Undecided(s.api.Current(), "")
}

// firstWithin returns the first hunk that touches a range, or else the first hunk.
func firstWithin(hunks []hunkAt, span *workspace.Range) (proposalID, hunkID string) {
	for _, h := range hunks {
		if span != nil && overlap(h.span, *span) {
			return h.proposalID, h.hunkID
		}
	}
	if len(hunks) > 0 {
		return hunks[0].proposalID, hunks[0].hunkID
	}
	return "", ""
}

// firstIn returns the first hunk that has the given state.
func firstIn(
	proposals []workspace.Proposal,
	state workspace.HunkState,
) (proposalID, hunkID string) {
	for _, p := range proposals {
		if ids := hunksIn(p, state); len(ids) > 0 {
			return p.ID, ids[0]
		}
	}
	return "", ""
}

// hunksIn returns the IDs of the hunks that have the given state.
func hunksIn(p workspace.Proposal, state workspace.HunkState) (ids []string) {
	for _, f := range p.Files {
		for _, h := range f.Hunks {
			if h.State == state {
				ids = append(ids, h.ID)
			}
		}
	}
	return ids
}

func (s *Features) decide(
	ctx context.Context,
	proposalID string,
	action workspace.Action,
	comment string,
	hunkIDs ...string,
) (wire.ProposalResolveResult, error) {
	p := &wire.ProposalResolveParams{ProposalID: proposalID, Comment: comment}
	for _, id := range hunkIDs {
		p.Decisions = append(p.Decisions, wire.Decision{HunkID: id, Action: string(action)})
	}
	return agentapi.Proposals{API: s.api}.Resolve(ctx, p)
}

// undoLast reverts the session's latest changes that have a checkpoint and have not been reverted
// yet.
func (s *Features) undoLast(ctx context.Context, id string) (any, error) {
	checkpoint := s.undoable(id)
	if checkpoint == "" {
		return nil, agentapi.Fail(
			wire.CodeUnknownCheckpoint,
			"there is nothing to undo: the agent has not changed any files in this session",
		)
	}
	return agentapi.Checkpoints{
		API: s.api,
	}.Restore(
		ctx,
		&wire.CheckpointRestoreParams{CheckpointID: checkpoint},
	)
}

// undoable returns the latest checkpoint that can be reverted, or "" if there is none. A checkpoint
// without files cannot be reverted. It only lists files that commands have changed.
func (s *Features) undoable(id string) string {
	for _, c := range s.core.Workspace.Checkpoints(id) {
		if !c.Undone && !c.Restore && len(c.Files) > 0 {
			return c.ID
		}
	}
	return ""
}
