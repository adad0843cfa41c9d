package hooks

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/tools/shell"
)

func TestMain(m *testing.M) {
	shell.MaybeHelper()
	os.Exit(m.Run())
}

// hook returns a hook that runs a shell script.
func hook(t *testing.T, point, script string) agent.Hook {
	t.Helper()
	runner, err := shell.New(shell.Options{SpillDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(runner.Close)
	hs, err := New(runner, map[string][]Config{point: {{Command: "sh", Args: []string{"-c", script},
		Env: os.Environ(), Timeout: 5 * time.Minute}}})
	if err != nil {
		t.Fatal(err)
	}
	return hs[0]
}

func TestHookBeforeTool(t *testing.T) {
	call := &tool.Call{ID: "c1", SessionID: "s1", Name: "bash",
		Args: json.RawMessage(`{"command":"ls"}`)}
	for _, c := range []struct{ name, script, args, result, err string }{
		{"silent", `cat >/dev/null`, "", "", ""},
		{"reads the call", `grep -q '"tool":"bash".*"args":{"command":"ls"}' || exit 1`, "", "",
			""},
		{"denies by word", `echo '{"decision":"deny","reason":"not here"}'`, "", "", "not here"},
		{"denies by code", `echo "not today" >&2; exit 2`, "", "", "not today"},
		{"rewrites", `echo '{"args":{"command":"ls -l"}}'`, `{"command":"ls -l"}`, "", ""},
		{"answers", `echo '{"result":"nothing to list"}'`, "", "nothing to list", ""},
		{"empty answer", `echo '{"result":""}'`, "", "", ""},
		{"garbage", `echo hello`, "", "", "not a decision"},
		{"fails", `echo broken >&2; exit 7`, "", "", "code 7: broken"},
		{"floods", `yes`, "", "", "more than 256 KiB"},
		{"ignores stdin", `exec 0<&-; exit 0`, "", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, err := hook(t, BeforeTool, c.script).(agent.ToolHook).BeforeTool(t.Context(), call,
				tool.Spec{Name: "bash"})
			if (err == nil) != (c.err == "") || err != nil &&
				!strings.Contains(err.Error(), c.err) {
				t.Fatalf("error %v, want %q", err, c.err)
			}
			if string(out.Args) != c.args {
				t.Errorf("args %s", out.Args)
			}
			if c.result != "" && (out.Result == nil || out.Result.Text != c.result) {
				t.Errorf("result %+v", out.Result)
			}
		})
	}
}

// A hook can replace a result with an empty one. If the hook's output does not mention the result,
// the result stays unchanged.
func TestHookAfterTool(t *testing.T) {
	call, res := &tool.Call{Name: "bash"}, &tool.Result{Text: "secret"}
	got, err := hook(t, AfterTool,
		`echo '{"result":""}'`).(agent.ToolEndHook).AfterTool(t.Context(), call, res)
	if err != nil || got == nil || got.Text != "" {
		t.Errorf("replaced by nothing: %+v, %v", got, err)
	}
	got, err = hook(t, AfterTool, `true`).(agent.ToolEndHook).AfterTool(t.Context(), call, res)
	if err != nil || got != nil {
		t.Errorf("kept: %+v, %v", got, err)
	}
}

func TestHookMatcher(t *testing.T) {
	h := hook(t, BeforeTool, `exit 2`).(beforeTool)
	h.conf.Matcher = "edit*"
	if _, err := h.BeforeTool(t.Context(), &tool.Call{}, tool.Spec{Name: "bash"}); err != nil {
		t.Error("a hook for edit ran for bash:", err)
	}
	if _, err := h.BeforeTool(t.Context(), &tool.Call{}, tool.Spec{Name: "edit"}); err == nil {
		t.Error("a hook for edit* did not run for edit")
	}
}

func TestHookVetoAndModel(t *testing.T) {
	veto, err := hook(t, BeforeFinal,
		`echo '{"decision":"deny","reason":"run the tests first"}'`).(agent.FinalHook).BeforeStop(t.Context(), agent.Turn{}, "done")
	if err != nil || veto != "run the tests first" {
		t.Errorf("veto %q, %v", veto, err)
	}
	req := &agent.Request{}
	if err := hook(t, BeforeModel,
		`echo '{"system":"Answer in French."}'`).(agent.ModelHook).BeforeModel(t.Context(),
		req); err != nil || len(req.System) != 1 {
		t.Errorf("%+v, %v", req.System, err)
	}
	if err := hook(t, BeforeRun, `exit 2`).(agent.RunHook).BeforeRun(t.Context(),
		"t1"); err == nil {
		t.Error("a denied run began")
	}
	reply := &agent.Reply{Message: message.NewText(message.RoleAssistant, "hi")}
	err = hook(t, AfterModel, `grep -q '"answer":"hi"' && exit 7`).(agent.ModelEndHook).AfterModel(
		t.Context(), req, reply)
	if err == nil || !strings.Contains(err.Error(), "code 7") {
		t.Error("after a model call:", err)
	}
	err = hook(t, AfterRun, `grep -q '"endReason":"stop"' && exit 7`).(agent.RunEndHook).AfterRun(
		t.Context(), agent.Turn{TurnID: "t1", EndReason: agent.EndStop})
	if err == nil || !strings.Contains(err.Error(), "code 7") {
		t.Error("after a turn:", err)
	}
}

func TestHookTimeout(t *testing.T) {
	h := hook(t, BeforeRun, `sleep 60`).(beforeRun)
	h.conf.Timeout = 50 * time.Millisecond
	if err := h.BeforeRun(t.Context(), "t1"); err == nil ||
		!strings.Contains(err.Error(), "did not end within") {
		t.Error(err)
	}
}

func TestHookUnknownPoint(t *testing.T) {
	if _, err := New(nil, map[string][]Config{"beforeLunch": {{Command: "true"}}}); err == nil ||
		!strings.Contains(err.Error(), "beforeLunch") {
		t.Error(err)
	}
}

// decide runs a hook's script at a lifecycle point of a session. It returns the context that the
// script added, or the reason why it denied the operation.
func decide(t *testing.T, point, script string) (string, error) {
	t.Helper()
	h, ctx := hook(t, point, script), t.Context()
	switch h := h.(type) {
	case agent.SessionHook:
		return h.SessionStarts(ctx, agent.SessionInfo{ID: "s1", Restored: true})
	case agent.SessionEndHook:
		return "", h.SessionEnds(ctx, agent.SessionInfo{ID: "s1"})
	case agent.PromptHook:
		return h.BeforePrompt(ctx, "t1", message.NewText(message.RoleUser, "hello"))
	case agent.CompactHook:
		return h.BeforeCompact(ctx, agent.CompactInfo{TurnID: "t1", Tokens: 900, Window: 1000,
			Must: true})
	case agent.CompactEndHook:
		return "", h.AfterCompact(ctx,
			agent.Compacted{Strategy: "mask", TokensBefore: 9, TokensAfter: 3})
	case PermissionHook:
		decision, reason, err := h.BeforePermission(ctx,
			Permission{Title: "Run ls", Subject: tool.Subject{Kind: tool.SubjectCommand,
				Command: "ls"}})
		return strings.TrimSpace(decision + " " + reason), err
	}
	t.Fatalf("%s has no such type: %T", point, h)
	return "", nil
}

// TestHookLifecyclePoints checks what hooks receive at each lifecycle point of a session, and what
// they may decide.
func TestHookLifecyclePoints(t *testing.T) {
	for _, c := range []struct{ point, script, got, err string }{
		{SessionStart, `grep -q '"restored":true' && echo '{"context":"on main"}'`, "on main", ""},
		{SessionStart, `exit 7`, "", "code 7"},
		{SubagentStart, `exit 7`, "", ""}, // not called, because no sub-agent starts
		{SessionEnd, `grep -q '"point":"sessionEnd"'`, "", ""},
		{SessionEnd, `exit 7`, "", "code 7"},
		{SubagentEnd, `exit 7`, "", ""},
		{BeforePrompt, `grep -q '"prompt":"hello"' && echo '{"context":"be kind"}'`, "be kind", ""},
		{BeforePrompt, `echo no >&2; exit 2`, "", "no"},
		{BeforePrompt, `echo garbage`, "", "not a decision"},
		{BeforeCompact, `grep -q '"tokens":900,"window":1000,` +
			`"must":true' && echo '{"instructions":"keep names"}'`, "keep names", ""},
		{BeforeCompact, `exit 2`, "", "denied"},
		{AfterCompact, `grep -q '"strategy":"mask","tokensBefore":9,"tokensAfter":3'`, "", ""},
		{BeforePermission, `grep -q '"kind":"command",` +
			`"command":"ls"' && echo '{"decision":"allow"}'`, "allow", ""},
		{BeforePermission, `echo '{"decision":"deny","reason":"not here"}'`, "deny not here", ""},
		{BeforePermission, `cat >/dev/null`, "", ""},
		{BeforePermission, `exit 7`, "", "code 7"},
	} {
		t.Run(c.point+" "+c.script, func(t *testing.T) {
			got, err := decide(t, c.point, c.script)
			if got != c.got || (err == nil) != (c.err == "") || err != nil &&
				!strings.Contains(err.Error(), c.err) {
				t.Errorf("%q, %v; want %q, %q", got, err, c.got, c.err)
			}
		})
	}
}

// When a sub-agent starts, the hooks for the start of a sub-agent run, but not those for the start
// of a session.
func TestHookSubagentPoints(t *testing.T) {
	child := agent.SessionInfo{ID: "s1/x-1", Parent: "s1"}
	for point, want := range map[string]string{SubagentStart: "hi", SessionStart: ""} {
		h := hook(t, point, `echo '{"context":"hi"}'`).(agent.SessionHook)
		got, err := h.SessionStarts(t.Context(), child)
		if got != want || err != nil {
			t.Errorf("%s: %q, %v", point, got, err)
		}
	}
}

func TestHookAfterToolEndsTheTurn(t *testing.T) {
	got, err := hook(t, AfterTool,
		`echo '{"stop":true}'`).(agent.ToolEndHook).AfterTool(t.Context(), &tool.Call{},
		&tool.Result{Text: "kept"})
	if err != nil || got == nil || !got.EndTurn || got.Text != "kept" {
		t.Errorf("%+v, %v", got, err)
	}
}

// docs/reference/hooks.md names every point, and its examples behave as the page describes.
func TestHooksAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/hooks.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range Points() {
		if !strings.Contains(string(page), "`"+p+"`") {
			t.Error("docs/reference/hooks.md does not name", p)
		}
	}
	_, config, _ := strings.Cut(string(page), "```json\n")
	config, _, _ = strings.Cut(config, "```")
	var settings struct {
		Hooks map[string][]struct{ Args []string }
	}
	if err := json.Unmarshal([]byte(config), &settings); err != nil {
		t.Fatal(err)
	}
	push := settings.Hooks[BeforeTool][0].Args[1]
	for command, denied := range map[string]bool{"git push": true, "git status": false} {
		_, err := hook(t, BeforeTool, push).(agent.ToolHook).BeforeTool(t.Context(),
			&tool.Call{Args: json.RawMessage(`{"command":"` + command + `"}`)},
			tool.Spec{Name: "bash"})
		if (err != nil) != denied || denied && !strings.Contains(err.Error(), "only people push") {
			t.Errorf("%s: %v", command, err)
		}
	}
	_, example, _ := strings.Cut(string(page), "```sh\n")
	example, _, _ = strings.Cut(example, "```")
	example = strings.NewReplacer("go test ./...", "(echo FAIL main_test.go; false)", "/tmp/out",
		t.TempDir()+"/out").Replace(example)
	veto, err := hook(t, BeforeFinal, example).(agent.FinalHook).BeforeStop(t.Context(),
		agent.Turn{}, "done")
	if err != nil || !strings.Contains(veto, "The tests fail:\nFAIL main_test.go") {
		t.Errorf("%q, %v", veto, err)
	}
}
