package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/rpc/rpctest"
)

// script returns the scripted model's replies for several turns. Each step edits lines that no
// other step edits, so that the text alone shows whether a change was accepted or rejected.
func (w *world) script(turns int) (lines []string) {
	for range turns {
		for range 1 + w.rng.IntN(3) {
			lines = append(lines, w.step()...)
		}
		lines = append(lines, fmt.Sprintf(`{"text":"That was it for this turn.","chunks":5,`+
			`"delayMs":%d}`, w.rng.IntN(8)))
	}
	for range 12 { // replies for steers and follow-ups
		lines = append(lines, `{"text":"Yes."}`)
	}
	return lines
}

func (w *world) step() []string {
	switch w.rng.IntN(8) {
	case 0:
		// the last command needs permission
		command := []string{"sleep 0.2", "sleep 20", "setsid sleep 30 >/dev/null 2>&1 & echo on",
			"echo out; echo err >&2; exit 3", "kill -0 $$ && sleep 0.2"}[w.rng.IntN(5)]
		return []string{calls(toolCall("bash",
			map[string]any{"command": command, "timeout": 1 + w.rng.IntN(2)}),
			toolCall("read", map[string]any{"path": "c.txt"}))}
	case 1:
		return []string{calls(toolCall("echo_echo", map[string]any{"text": "hello"}),
			toolCall("read", map[string]any{"path": "a.txt"}))}
	case 2:
		return []string{calls(toolCall("agent",
			map[string]any{"agent": "general", "task": "look around"})),
			`{"text":"I looked.","chunks":3,"delayMs":2}`}
	}
	return []string{w.editStep()}
}

// editStep reads a file and edits some of its lines that no earlier step has edited.
func (w *world) editStep() string {
	f := w.rng.IntN(chaosFiles)
	var edits []any
	for range 1 + w.rng.IntN(3) {
		l := w.rng.IntN(chaosLines)
		if old := lineText(f, l, 0); !w.edited[old] {
			w.edited[old] = true
			edits = append(edits, map[string]any{"old_string": old,
				"new_string": lineText(f, l, 1)})
		}
	}
	read := toolCall("read", map[string]any{"path": fileName(f)})
	if len(edits) == 0 {
		return calls(read)
	}
	return calls(read, toolCall("edit", map[string]any{"path": fileName(f), "edits": edits}))
}

func toolCall(name string, args any) map[string]any {
	return map[string]any{"name": name, "arguments": args}
}

func calls(list ...map[string]any) string {
	return string(encodeArgs(map[string]any{"text": "Next.", "toolCalls": list}))
}

// turn sends a prompt and waits for the turn to end. gone reports whether the daemon has stopped
// running.
func (w *world) turn(blow bool) (gone bool, err error) {
	var res struct{ TurnID string }
	if err := w.ed.Call("agent/prompt", map[string]any{"sessionId": w.session, "prompt": "go on"},
		&res); err != nil {
		w.note("prompt: %v", err)
		if w.fullDisk {
			w.freeDisk()
			return false, nil
		}
		return false, fmt.Errorf("prompt: %w", err)
	}
	strike := -1
	if blow {
		strike = w.rng.IntN(25)
	}
	for step, end := 0, time.Now().Add(turnPatience); time.Now().Before(end); step++ {
		w.take()
		if w.running == "" && (res.TurnID == "" || w.ended[res.TurnID]) {
			return false, nil
		}
		if step == strike {
			return true, w.strike()
		}
		w.act()
		time.Sleep(time.Duration(w.rng.IntN(20)) * time.Millisecond)
	}
	return false, errors.New("the turn does not end")
}

// strike either kills the daemon or disconnects the editor. It chooses at random.
func (w *world) strike() error {
	killed := oneIn(w.rng, 2)
	if killed {
		w.tally.add("daemon killed")
		w.note("daemon killed")
		w.daemon.Kill()
	} else {
		w.tally.add("editor died")
		w.note("editor died")
		if err := w.ed.CloseStdin(); err != nil {
			return err
		}
	}
	_ = w.ed.Ended()
	w.daemon.Wait()
	w.take()
	w.running = ""
	return w.leave(killed)
}

// chaosEvent contains the message fields that the driver reads.
type chaosEvent struct {
	TurnID   string
	Proposal chaosProposal
	Item     struct {
		Type, Name, Status, Result string
		IsError                    bool
		Args                       struct {
			Edits []struct {
				New string `json:"new_string"`
			}
		}
	}
}

type chaosProposal struct {
	ProposalID string
	Revision   int
	State      string
	Files      []struct{ Hunks []chaosHunk }
}

type chaosHunk struct{ HunkID, OldText, NewText, State string }

// take handles the messages that have arrived since take was last called.
func (w *world) take() {
	for _, m := range w.ed.Log(w.read) {
		w.read++
		var e chaosEvent
		if !strings.HasPrefix(m.Method, "agent/") || json.Unmarshal(m.Params, &e) != nil {
			continue
		}
		switch m.Method {
		case "agent/turn/started":
			w.running = e.TurnID
		case "agent/turn/completed":
			w.ended[e.TurnID] = true
			if w.running == e.TurnID {
				w.running = ""
			}
		case "agent/proposal/created", "agent/proposal/updated":
			w.open[e.Proposal.ProposalID] = e.Proposal
		case "agent/item/completed":
			if it := e.Item; w.policy == "auto" && it.Type == "toolCall" && it.Name == "edit" &&
				it.Status == "completed" && !it.IsError && appliedAll(it.Result) {
				for _, edit := range it.Args.Edits {
					w.promise(chaosHunk{NewText: edit.New, State: "accepted"})
				}
			}
		}
	}
}

// appliedAll reports whether an edit call applied all of its hunks. A hunk is skipped if the user
// changes its lines while the call runs.
func appliedAll(result string) bool {
	var applied, all int
	n, _ := fmt.Sscanf(result, "applied %d/%d hunks", &applied, &all)
	return n == 2 && applied == all
}

// act performs one random action that may happen at any time.
func (w *world) act() {
	if w.granted && oneIn(w.rng, 5) {
		w.revoke()
		return
	}
	switch n := w.rng.IntN(40); {
	case n < 10:
		w.answer()
	case n < 20:
		w.decide()
	case n < 25:
		w.typeLine()
	case n < 27:
		_ = w.ed.Save(rpctest.URIOf(w.path(w.rng.IntN(chaosFiles - 1))))
	case n < 29:
		w.change()
	case n < 30:
		w.tally.add("steered")
		_ = w.ed.Call("agent/steer", map[string]any{"sessionId": w.session, "prompt": "rather this",
			"ifIdle": "error"}, nil)
	case n < 31:
		w.tally.add("aborted")
		_ = w.ed.Call("agent/abort", map[string]any{"sessionId": w.session}, nil)
	case n < 34:
		w.killOne("sleep", "command killed")
	case n < 35:
		w.killOne(mcpArg, "MCP server killed")
	case n < 36 && oneIn(w.rng, 3):
		w.restore()
	case w.fullDisk:
		w.toggleDisk()
	}
}

// answer answers one question from the daemon.
func (w *world) answer() {
	for _, m := range w.ed.Unanswered() {
		switch m.Method {
		case "workspace/applyEdit":
			continue // the test editor answers these requests itself; see Behave
		case "agent/requestPermission":
			replies := []string{`{"optionId":"allow_once"}`, `{"optionId":"allow_session"}`,
				`{"optionId":"allow_session"}`, `{"optionId":"reject_once","feedback":"no"}`,
				`{"cancelled":true}`, `null`}
			reply := replies[w.rng.IntN(len(replies))]
			w.granted = w.granted || strings.Contains(reply, "session")
			_ = w.ed.Reply(m, json.RawMessage(reply))
		default:
			_ = w.ed.Reply(m, json.RawMessage("null"))
		}
		return
	}
}

// decide accepts or rejects some hunks of one proposal and records the outcome that each decision
// guarantees.
func (w *world) decide() {
	ids := make([]string, 0, len(w.open))
	for id, p := range w.open {
		if p.State == "proposed" {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return
	}
	slices.Sort(ids)
	p := w.open[ids[w.rng.IntN(len(ids))]]
	var decisions []any
	for _, f := range p.Files {
		for _, h := range f.Hunks {
			if h.State == "pending" && !oneIn(w.rng, 4) {
				decisions = append(decisions, map[string]any{"hunkId": h.HunkID,
					"action": []string{"accept", "accept", "reject"}[w.rng.IntN(3)]})
			}
		}
	}
	if len(decisions) == 0 {
		return
	}
	var res struct {
		Proposal  chaosProposal
		Conflicts []struct{ HunkID string }
	}
	err := w.ed.Call("agent/proposal/resolve",
		map[string]any{"proposalId": p.ProposalID, "decisions": decisions}, &res)
	w.note("resolve %s: %s -> %s, conflicts %v, error %v", p.ProposalID, encodeArgs(decisions),
		encodeArgs(res.Proposal), res.Conflicts, err)
	if err != nil {
		return
	}
	for _, f := range res.Proposal.Files {
		for _, h := range f.Hunks {
			if h.State == "accepted" || h.State == "rejected" {
				w.promise(h)
			}
		}
	}
}

var editedLine = regexp.MustCompile(`line \d\d of [a-z]\.txt, version 1`)

// promise records the outcome that a decided hunk guarantees: at the end of the run, its new lines
// are present or absent.
func (w *world) promise(h chaosHunk) {
	for _, line := range editedLine.FindAllString(h.NewText, -1) {
		if !strings.Contains(h.OldText, line) && w.fate[line] == "" {
			w.fate[line] = h.State
			w.tally.add(h.State)
		}
	}
}

// typeLine inserts a line into an open document, as a user would.
func (w *world) typeLine() {
	f := w.rng.IntN(chaosFiles - 1)
	b := w.ed.Buffer(rpctest.URIOf(w.path(f)))
	if b == nil {
		return
	}
	line := fmt.Sprintf("typed %d in %s", len(w.inserted), fileName(f))
	at := rpctest.Position{Line: w.rng.IntN(strings.Count(b.Text, "\n") + 1)}
	if w.ed.Edit(b.URI, rpctest.TextEdit{Range: rpctest.Range{Start: at, End: at}, NewText: line +
		"\n"}) == nil {
		w.inserted[line] = true
		w.tally.add("typed")
		w.note("typed %q at line %d of %q", line, at.Line, b.Text)
	}
}

// change simulates another program that appends to the file that is not open in the editor. It does
// nothing under policies with which the daemon may write that file at the same moment, because an
// append between the daemon's comparison and its rename would be lost.
func (w *world) change() {
	if w.policy == "auto" || w.policy == "review" {
		return
	}
	line := fmt.Sprintf("added %d by another program", len(w.inserted))
	f, err := os.OpenFile(w.path(chaosFiles-1), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return
	}
	defer f.Close()
	if _, err := f.WriteString(line + "\n"); err == nil {
		w.inserted[line] = true
		w.tally.add("file changed")
		w.note("added %q", line)
	}
}

// killOne kills one process that descends from the daemon and whose command line contains the given
// word.
func (w *world) killOne(word, what string) {
	for _, p := range marked(w.mark) {
		pid, line, _ := strings.Cut(p, " ")
		n, err := strconv.Atoi(pid)
		if err != nil || !strings.Contains(line, word) || strings.Contains(line, "--state-dir") {
			continue
		}
		if proc, err := os.FindProcess(n); err == nil && proc.Kill() == nil {
			w.tally.add(what)
			w.note("%s: %s", what, p)
			return
		}
	}
}

func (w *world) revoke() {
	var list struct{ Grants []struct{ GrantID string } }
	if w.ed.Call("agent/permission/list", map[string]any{}, &list) != nil || len(list.Grants) == 0 {
		return
	}
	if w.ed.Call("agent/permission/revoke", map[string]any{"grantId": list.Grants[0].GrantID},
		nil) == nil {
		w.tally.add("revoked")
		w.granted = len(list.Grants) > 1
	}
}

// restore restores a checkpoint, which is the state before a turn. Afterwards it is unknown which
// accepted changes remain, but text that the user typed must remain.
func (w *world) restore() {
	var list struct {
		Checkpoints []struct{ CheckpointID string }
	}
	if w.ed.Call("agent/checkpoint/list", map[string]any{"sessionId": w.session}, &list) != nil ||
		len(list.Checkpoints) == 0 {
		return
	}
	id := list.Checkpoints[w.rng.IntN(len(list.Checkpoints))].CheckpointID
	err := w.ed.Call("agent/checkpoint/restore", map[string]any{"checkpointId": id}, nil)
	w.note("restored %s: %v", id, err)
	w.tally.add("restored")
	for old := range w.edited { // w.edited also contains edits whose outcome is not known yet
		// With the policy "review", a rejected text was in the file until it was rejected, so a
		// restore may bring that text back.
		if line := strings.Replace(old, "version 0", "version 1", 1); w.fate[line] != "rejected" ||
			w.policy == "review" {
			w.fate[line] = "restored"
		}
	}
}

var knownLine = regexp.MustCompile(`^line (\d\d) of ([a-z]\.txt), version [01]$`)

// check checks the files. No file may be torn, text that the user typed must not be lost, accepted
// changes must be present, and rejected changes must be absent.
func (w *world) check() error {
	all := ""
	for f := range chaosFiles {
		disk, err := os.ReadFile(w.path(f))
		if err != nil {
			return err
		}
		text := string(disk)
		if err := w.whole(f, text); err != nil {
			return fmt.Errorf("on disk: %w", err)
		}
		if b := w.ed.Buffer(rpctest.URIOf(w.path(f))); b != nil {
			text = b.Text
			if err := w.whole(f, text); err != nil {
				return fmt.Errorf("in the buffer: %w", err)
			}
		}
		all += text
	}
	for line := range w.inserted {
		if n := strings.Count(all, line+"\n"); n != 1 {
			return fmt.Errorf("%q occurs %d times in\n%s", line, n, all)
		}
	}
	for line, fate := range w.fate {
		if stands := strings.Contains(all, line+"\n"); fate == "accepted" && !stands ||
			fate == "rejected" && stands {
			return fmt.Errorf("%q was %s, present: %v, in\n%s", line, fate, stands, all)
		}
	}
	return w.noStray()
}

// whole checks that a text consists only of known lines, and that each of the file's original lines
// appears once and in order.
func (w *world) whole(f int, text string) error {
	next := 0
	for _, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		if w.inserted[line] {
			continue
		}
		m := knownLine.FindStringSubmatch(line)
		if m == nil || m[2] != fileName(f) || m[1] != fmt.Sprintf("%02d", next) {
			return fmt.Errorf("%s is torn at %q, line %02d expected:\n%s", fileName(f), line, next,
				text)
		}
		next++
	}
	if next != chaosLines {
		return fmt.Errorf("%s ends after %d lines:\n%s", fileName(f), next, text)
	}
	return nil
}

// noStray finds files that should not exist, such as temporary files left over from a write.
func (w *world) noStray() error {
	entries, err := os.ReadDir(w.ws)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if match, _ := filepath.Match("[abc].txt", e.Name()); !match {
			return fmt.Errorf("%s was left in the workspace", e.Name())
		}
	}
	return nil
}
