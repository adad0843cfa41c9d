package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// absent is the content of a file that does not exist.
const absent = "(absent)"

// TestCheckpointDiffIsWhatARestoreReverts runs random turns with edits by the agent and the user,
// and restores a random checkpoint. The diff before the restore, applied in reverse to the files,
// must produce the files after the restore. Its comments must name the restore's conflicts.
func TestCheckpointDiffIsWhatARestoreReverts(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b := newBench(t,
			map[string]string{"a.txt": ten, "b.txt": "one\ntwo\nthree", "empty.txt": ""},
			func(o *Options, _ *fakeEditor) { o.StateDir = "" })
		defer b.Workspace.Close()
		for _, name := range []string{"a.txt", "b.txt"} {
			if rapid.Bool().Draw(rt, "open") {
				b.ed.open(b.uri(name), b.disk(name))
			}
		}
		for turn := range rapid.IntRange(1, 4).Draw(rt, "turns") {
			b.anyTurn(rt, turn)
		}
		cps := b.Checkpoints("s")
		if len(cps) == 0 {
			return
		}
		id := rapid.SampledFrom(cps).Draw(rt, "checkpoint").ID
		before := b.contents()
		diff, err := b.CheckpointDiff(context.Background(), id)
		must(rt, err)
		equal(rt, "after the diff", fmt.Sprint(b.contents()), fmt.Sprint(before))
		r, err := b.Restore(context.Background(), id)
		must(rt, err)
		b.editorIdle()
		inDiff := reverseApply(rt, before, diff)
		equal(rt, "restored by\n"+diff, fmt.Sprint(before), fmt.Sprint(b.contents()))
		var restored []string
		for _, c := range r.Changes {
			restored = append(restored, strings.TrimPrefix(c.URI, b.uri("")+"/"))
		}
		slices.Sort(restored)
		equal(rt, "files in\n"+diff, fmt.Sprint(inDiff), fmt.Sprint(restored))
		conflicts := regexp.MustCompile(`(?m)^# not restored: `).FindAllString(diff, -1)
		equal(rt, "conflicts in\n"+diff, len(conflicts), len(r.Conflicts))
	})
}

// diffed contains the names of the files that the test changes.
var diffed = []string{"a.txt", "b.txt", "c.txt", "e.txt", "empty.txt"}

// anyTurn makes random changes by the agent and the user. Sometimes it then undoes the turn.
func (b *bench) anyTurn(rt *rapid.T, turn int) {
	for k := range rapid.IntRange(1, 4).Draw(rt, "edits") {
		_, err := b.Propose(context.Background(), ProposeRequest{
			SessionID: "s", TurnID: fmt.Sprint("t", turn), Policy: Auto, Title: "edit",
			Changes: []Change{b.anyChange(rt, fmt.Sprintf("agent %d.%d", turn, k))}})
		if !errors.Is(err, ErrNoChange) {
			must(rt, err)
		}
		b.editorIdle()
		b.typeSomewhere(rt, fmt.Sprintf("user %d.%d", turn, k))
	}
	if cps := b.Checkpoints("s"); len(cps) > 0 && rapid.IntRange(0, 4).Draw(rt, "undo") == 4 {
		_, err := b.Restore(context.Background(), cps[0].ID)
		must(rt, err)
		b.editorIdle()
	}
}

// editorIdle waits until the editor has reported the documents of its last file operation. An
// operation is complete as soon as the file has changed on disk.
func (b *bench) editorIdle() {
	b.ed.mu.Lock()
	defer b.ed.mu.Unlock()
}

// anyChange returns a random change by the agent.
func (b *bench) anyChange(rt *rapid.T, mark string) Change {
	now := b.contents()
	name := rapid.SampledFrom(diffed).Draw(rt, "agent's file")
	ref := b.ref(name)
	if now[name] == absent {
		text := rapid.SampledFrom([]string{"", mark, mark + "\nmore\n"}).Draw(rt, "new text")
		return Change{Op: Create, Ref: ref, Data: []byte(text)}
	}
	free := slices.DeleteFunc(slices.Clone(diffed), func(n string) bool { return now[n] != absent })
	switch op := rapid.IntRange(0, 5).Draw(rt, "operation"); {
	case op == 0:
		return Change{Op: Delete, Ref: ref}
	case op == 1 && len(free) > 0:
		return Change{Op: Rename, Ref: ref, NewRef: b.ref(free[0])}
	}
	lines := strings.SplitAfter(now[name], "\n")
	lines[rapid.IntRange(0, len(lines)-1).Draw(rt, "agent's line")] = mark + "\n"
	return Change{Op: Modify, Ref: ref, Data: []byte(strings.Join(lines, ""))}
}

// typeSomewhere inserts a line into a random file, as the user, or does nothing.
func (b *bench) typeSomewhere(rt *rapid.T, mark string) {
	now := b.contents()
	name := rapid.SampledFrom(diffed).Draw(rt, "user's file")
	if now[name] == absent || rapid.Bool().Draw(rt, "user rests") {
		return
	}
	lines := strings.SplitAfter(now[name], "\n")
	start := len(strings.Join(lines[:rapid.IntRange(0, len(lines)-1).Draw(rt, "line")], ""))
	if b.isOpen(b.ref(name).Key) {
		b.ed.type_(b.uri(name), start, start, mark+"\n")
		return
	}
	text := now[name][:start] + mark + "\n" + now[name][start:]
	must(rt, os.WriteFile(b.path(name), []byte(text), 0o644))
}

// contents returns the current texts of the files, including unsaved buffers.
func (b *bench) contents() map[string]string {
	out := map[string]string{}
	for _, name := range diffed {
		f, err := b.Read(context.Background(), b.ref(name))
		switch {
		case err == nil:
			out[name] = string(f.Text.Data)
		case errors.Is(err, fs.ErrNotExist):
			out[name] = absent
		default:
			b.t.Fatal(err)
		}
	}
	return out
}

var (
	fileHeader = regexp.MustCompile(`(?m)^--- (.*)\n\+\+\+ (.*)\n`)
	hunkHeader = regexp.MustCompile(`^@@ -\d+(?:,\d+)? \+(\d+)(?:,(\d+))? @@`)
)

// reverseApply applies a unified diff in reverse: from its new texts to its old texts. It returns
// the sorted names of the files in the diff.
func reverseApply(t failer, files map[string]string, diff string) (names []string) {
	t.Helper()
	parts := fileHeader.FindAllStringSubmatchIndex(diff, -1)
	for i, at := range parts {
		end := len(diff)
		if i+1 < len(parts) {
			end = parts[i+1][0]
		}
		from, to, hunks := diff[at[2]:at[3]], diff[at[4]:at[5]], diff[at[1]:end]
		if to == "/dev/null" {
			equal(t, "new text of "+from, files[from], absent)
			files[from] = before(t, "", hunks)
			names = append(names, from)
			continue
		}
		old := before(t, files[to], hunks)
		if from == "/dev/null" {
			equal(t, "old text of "+to, old, "")
			old = absent
		}
		files[to] = old
		names = append(names, to)
	}
	slices.Sort(names)
	return names
}

// before returns the old text of a file with the new text and the hunks of a diff.
func before(t failer, text, hunks string) string {
	t.Helper()
	lines, next, out := strings.SplitAfter(text, "\n"), 0, ""
	last := byte(0)
	for _, line := range strings.SplitAfter(hunks, "\n") {
		if m := hunkHeader.FindStringSubmatch(line); m != nil {
			start, err := strconv.Atoi(m[1])
			must(t, err)
			if m[2] != "0" {
				start--
			}
			out += strings.Join(lines[next:start], "")
			next = start
		}
		if line == "" {
			continue
		}
		switch line[0] {
		case ' ', '+':
			equal(t, "line", strings.TrimSuffix(lines[next], "\n")+"\n", line[1:])
			next++
		case '\\':
			if last != '+' {
				out = strings.TrimSuffix(out, "\n")
			}
		}
		if line[0] == ' ' || line[0] == '-' {
			out += line[1:]
		}
		last = line[0]
	}
	return out + strings.Join(lines[next:], "")
}
