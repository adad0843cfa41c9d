package internal_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/rpc/rpctest"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
)

// protocolBlocks returns the code blocks without a language in docs/reference/protocol/README.md.
func protocolBlocks(t *testing.T) []block {
	t.Helper()
	for _, p := range pages() {
		if p.path == "docs/reference/protocol/README.md" {
			if blocks := p.blocks(""); len(blocks) == 2 {
				return blocks
			}
		}
	}
	t.Fatal("the protocol page needs two code blocks without a language: the first session and the order")
	return nil
}

// TestFirstSessionOfTheProtocol sends the program the messages of the documented first session
// unchanged. The responses must match those on the page, in the same order.
func TestFirstSessionOfTheProtocol(t *testing.T) {
	t.Parallel()
	editor := startProgram(t)
	at, lines := 0, strings.Split(strings.TrimSpace(protocolBlocks(t)[0].text), "\n")
	if len(lines) < 8 {
		t.Fatalf("the session has %d lines", len(lines))
	}
	for _, line := range lines {
		switch said, isSent := strings.CutPrefix(line, "→ "); {
		case isSent:
			if err := editor.Raw([]byte("Content-Length: " + strconv.Itoa(len(said)) + "\r\n\r\n" +
				said)); err != nil {
				t.Fatal(err)
			}
		case strings.HasPrefix(line, "← …"):
			for _, method := range regexp.MustCompile(`agent/[\w/]+`).FindAllString(line, -1) {
				at = next(t, editor, at, method, "")
			}
		default:
			at = expectShown(t, editor, at, strings.TrimPrefix(line, "← "))
		}
	}
	if err := editor.CloseStdin(); err != nil {
		t.Error(err)
	}
}

// startProgram starts the program as a language server with a scripted model.
func startProgram(t *testing.T) *rpctest.Editor {
	t.Helper()
	bin := rpctest.Program(t)
	home := t.TempDir()
	cmd := exec.Command(bin)
	cmd.Dir, cmd.Env, cmd.Stderr = home, homeEnv(t, home), os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil && !t.Failed() {
			t.Errorf("the program exited with %v", err)
		}
	})
	return rpctest.NewEditor(out, in)
}

// elided converts a message from the page, in which … marks omitted parts, to a pattern for
// rpctest.
func elided(shown string) string {
	s := regexp.MustCompile(`"(\w*)…"`).ReplaceAllString(shown, `"~^$1"`)
	return strings.NewReplacer(",…", "", "…,", "", "…", "").Replace(s)
}

// expectShown waits for a message that the page shows. It returns the index after that message in
// the log or, for a response, the given index.
func expectShown(t *testing.T, editor *rpctest.Editor, at int, shown string) int {
	t.Helper()
	var want struct {
		ID, Params, Result json.RawMessage
		Method             string
	}
	if err := json.Unmarshal([]byte(elided(shown)), &want); err != nil {
		t.Fatalf("%v in %s", err, shown)
	}
	if want.Method != "" {
		return next(t, editor, at, want.Method, string(want.Params))
	}
	m, err := editor.Answer(string(want.ID))
	if err != nil {
		t.Fatal(err)
	}
	if diff := rpctest.MatchJSON(string(want.Result), m.Result); diff != "" {
		t.Fatalf("%s: %s", shown, diff)
	}
	return at
}

func next(t *testing.T, editor *rpctest.Editor, at int, method, pattern string) int {
	t.Helper()
	_, at, err := editor.Next(at, method, pattern, true)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// The diagram of notifications shows exactly the notifications that exist.
func TestOrderOfTheProtocol(t *testing.T) {
	var shown []string
	methods := regexp.MustCompile(`(?m)^[^a-z]*(agent/[\w/]+)`)
	for _, m := range methods.FindAllStringSubmatch(protocolBlocks(t)[1].text, -1) {
		shown = append(shown, m[1])
	}
	all := slices.Clone(wire.Notifications)
	slices.Sort(shown)
	slices.Sort(all)
	if !slices.Equal(shown, all) {
		t.Errorf("the diagram shows\n%q, the notifications are\n%q", shown, all)
	}
}

// If a comment cites the protocol, as in "protocol 3.3", the heading with that number exists.
func TestProtocolCitations(t *testing.T) {
	headings, number := map[string]bool{}, regexp.MustCompile(`(?m)^#+ (\d+\.\d+) `)
	for _, p := range pages() {
		if strings.HasPrefix(p.path, "docs/reference/protocol/") {
			for _, m := range number.FindAllStringSubmatch(p.text, -1) {
				headings[m[1]] = true
			}
		}
	}
	cited := regexp.MustCompile(`[Pp]rotocol,? (\d+\.\d+)\b`)
	foreign := regexp.MustCompile(`[Pp]rotocol( additions)?,? section \d|\bRow \d+\.\d+`)
	seen, kinds := 0, []string{".go", ".md", ".lua", ".ts", ".txtar", ".txt"}
	walkTree(func(path string) {
		if !slices.Contains(kinds, filepath.Ext(path)) || path == "internal/docs_protocol_test.go" {
			return
		}
		text, err := os.ReadFile(filepath.Join(top, filepath.FromSlash(path)))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range cited.FindAllSubmatch(text, -1) {
			if seen++; !headings[string(m[1])] {
				t.Errorf("%s cites %q, which is not a heading of a protocol page", path, m[0])
			}
		}
		if m := foreign.Find(text); m != nil {
			t.Errorf("%s cites %q: name a heading of docs/reference/protocol instead", path, m)
		}
	})
	if seen < 15 {
		t.Errorf("only %d citations were found", seen)
	}
}
