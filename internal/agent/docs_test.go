package agent

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/agent/history"
	"github.com/agent-lsp/agent-lsp/internal/agent/repair"
	"github.com/agent-lsp/agent-lsp/internal/agent/retry"
	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/agent/toolcall"
)

const docs = "../../docs/"

func readDoc(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(docs + name)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(b), "\r\n", "\n")
}

// counting is a strict provider that records the size of every call except calls for summaries.
type counting struct {
	*strict
	sizes []int
}

func (c *counting) Generate(ctx context.Context, req *Request, on func(Delta)) (*Reply, error) {
	calls := c.n
	reply, err := c.strict.Generate(ctx, req, on)
	if c.n > calls {
		c.sizes = append(c.sizes, c.count(req))
	}
	return reply, err
}

// TestContextExample measures the example in docs/reference/context.md.
func TestContextExample(t *testing.T) {
	measure := func(window int, strategy string) (sizes []int) {
		bubble(t, func(t *testing.T) {
			m := &counting{strict: newStrict(window)}
			m.reply = bigCalls(6)
			r := newRig(t, script(), nil, bigTool(8000))
			r.env.Models = []Model{m}
			r.env.Context.Reducers = []string{strategy}
			defer r.close()
			for i := range 20 {
				r.run(fmt.Sprint("turn ", i))
			}
			sizes = m.sizes
		})
		return sizes
	}
	plain, fitted := measure(1<<30, history.StrategyNone), measure(20000, history.StrategyAdaptive)
	var b strings.Builder
	b.WriteString("| call | `none` | `adaptive` |\n|---|---|---|\n")
	sum := [2]int{}
	for i := range plain {
		sum[0], sum[1] = sum[0]+plain[i], sum[1]+fitted[i]
		if i%12 == 11 {
			fmt.Fprintf(&b, "| %d | %d | %d |\n", i+1, plain[i], fitted[i])
		}
	}
	fmt.Fprintf(&b, "| all | %d | %d |\n", sum[0], sum[1])
	checkDoc(t, "reference/context.md", "<!-- measured by", "<!-- end -->", b.String())
}

// checkDoc compares a generated part of a page with want. If UPDATE_DOCS is set, it writes that
// part instead.
func checkDoc(t *testing.T, name, from, to, want string) {
	t.Helper()
	page := readDoc(t, name)
	at := strings.Index(page, from)
	at += strings.Index(page[at:], "\n") + 1
	end := at + strings.Index(page[at:], to)
	if page[at:end] == want {
		return
	}
	if on, _ := strconv.ParseBool(os.Getenv("UPDATE_DOCS")); !on {
		t.Errorf("docs/%s does not match the measurement (run with UPDATE_DOCS=1):\n%s", name, want)
		return
	}
	if err := os.WriteFile(docs+name, []byte(page[:at]+want+page[end:]), 0o644); err != nil {
		t.Fatal(err)
	}
}

// The defaults listed in docs/contribute/engine.md match the code.
func TestDocumentedDefaults(t *testing.T) {
	want := ""
	for _, d := range []struct {
		what  string
		value any
	}{
		{"model calls in one turn (`maxModelCalls`)", DefaultMaxModelCalls},
		{"maximum queued messages in a session (`maxQueue`)", DefaultQueueLimit},
		{"time limit of one tool call (`toolTimeoutMs`)", toolcall.DefaultTimeout},
		{"maximum bytes of a tool result sent to the model (`maxToolResultBytes`)", toolcall.DefaultMaxResult},
		{"time limit of a hook call without its own limit " +
			"(a hook from the settings always has one: `timeoutMs`)", DefaultHookTimeout},
		{"maximum read-only calls that run in parallel (`tools.maxParallel`)", MaxParallelCalls},
		{"consecutive failures that open a tool's circuit breaker", toolcall.BreakerFailures},
		{"time for which an open circuit breaker refuses calls", toolcall.BreakerPause},
		{"maximum vetoes by hooks against the end of a turn", MaxVetoes},
		{"requests to rephrase after a content filter stopped a reply", MaxRephrase},
		{"retries of a model call (`retry.maxRetries`)", retry.DefaultMaxRetries},
		{"pause before the first retry, doubled for each further retry (`retry.initialDelayMs`)",
			retry.DefaultInitialDelay},
		{"longest pause before a retry (`retry.maxDelayMs`)", retry.DefaultMaxDelay},
		{"random variation of a pause, as a fraction", retry.DefaultJitter},
		{"continuations of a reply that was cut off or has no finish reason", repair.MaxContinuations},
		{"repeated requests after a blank reply", repair.MaxBlankNudges},
		{"repeated requests after a reply with reasoning only", repair.MaxReasoningNudges},
		{"repeated requests after a planning note", repair.MaxTentativeNudges},
		{"retries of a read-only call after a temporary error in its tool", toolcall.Retries},
		{"pause before the first retry of a read-only call, doubled for the next", toolcall.RetryDelay},
		{"time limit for all hooks at the end of a session", sessionEndTime},
		{"time limit for a tool to end after an abort", toolcall.Grace},
		{"time limit for a tool to end after its own time limit", toolcall.Overtime},
		{"time limit for a model call to end after an abort", modelGrace},
		{"maximum delay that a starting turn causes for other turns, if more turns start than there are processors", startHold},
		{"maximum problems listed for the arguments of a call", tool.MaxProblems},
		{"maximum bytes quoted from invalid input", tool.MaxQuote},
		{"maximum characters of a title derived from the first prompt", maxTitle},
		{"passages that `recall` returns: default, maximum",
			fmt.Sprintf("%d, %d", recallLimit, recallMax)},
		{"bytes that `recall` returns: from a passage, from a complete message",
			fmt.Sprintf("%d, %d", recallContext, recallWhole)},
		{"maximum completed turns that a session remembers", maxRemembered},
		{"KiB that the history keeps from a reply that was stopped because of its length", maxPartial >> 10},
	} {
		want += fmt.Sprintf("| %s | %v |\n", d.what, d.value)
	}
	checkDoc(t, "contribute/engine.md", "|---|---|", "\n## ", want)
	want = ""
	for _, n := range repair.Numbers() {
		want += fmt.Sprintf("| %s | %v |\n", n.What, n.Value)
	}
	checkDoc(t, "contribute/engine.md", "<!-- numbers of repair", "<!-- end numbers -->",
		"| what | number |\n|---|---|\n"+want)
}

// Each numeric constant in these packages is documented in a table, or is listed here with the
// reason why it is not.
func TestEveryNumberIsDocumented(t *testing.T) {
	untold := map[string]string{
		"tokensRune": "part of the estimate", "minRatio": "bounds of the estimate's correction",
		"maxRatio":      "bounds of the estimate's correction",
		"minCalibrated": "part of the estimate's correction", "markerTokens": "size of a marker",
		"minSummarized": "minimum for a summary",
		"minLearned":    "minimum for learning the window", "recentShare": "only for agent/compact",
		"maxMessage": "limit for a provider's error", "maxSeconds": "limit for Retry-After",
		"minWindow": "plausible window in an error",
		"maxWindow": "plausible window in an error",
	}
	number := regexp.MustCompile(`(?m)^(?:const |\t)([a-zA-Z]\w*) *= *([-0-9.][-0-9.e_<< ]*|[` +
		`\d* ]*time\.\w+|\d+ \* time\.\w+)(?:\s|//|$)`)
	for dir, tests := range map[string]string{".": "docs_test.go", "repair": "repair/numbers.go",
		"history": "history/numbers.go context.go docs_test.go", "retry": "docs_test.go"} {
		named := ""
		for _, name := range append(strings.Fields(tests), "docs_test.go") {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			named += string(b)
		}
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range number.FindAllStringSubmatch(string(b), -1) {
				if name := m[1]; untold[name] == "" &&
					!regexp.MustCompile(`\b`+name+`\b`).MatchString(named) {
					t.Errorf("%s: %s is in no table", file, name)
				}
			}
		}
	}
}

// The context sizes listed in docs/reference/context.md match the code.
func TestDocumentedContextNumbers(t *testing.T) {
	want := ""
	for _, d := range []struct {
		what  string
		value any
	}{
		{"trigger, as a fraction of the window", DefaultTrigger},
		{"target, as a fraction of the window", TargetShare},
		{"maximum target after a refusal, as a fraction of the refused size", RecoveryShare},
		{"maximum reductions for one call after refusals by the provider", MaxRefusals},
		{"reserve, as a fraction of the window", ReserveShare},
		{"minimum and maximum reserve in tokens", fmt.Sprintf("%d, %d", MinReserve, MaxReserve)},
		{"tokens to keep free in turns with tools", FreeFloor},
		{"minimum fraction that a reduction must save", minProgress},
		{"consecutive unsuccessful reductions or failed summaries that open the circuit breaker", MaxFruitless},
	} {
		want += fmt.Sprintf("| %s | %v |\n", d.what, d.value)
	}
	for _, n := range history.Numbers() {
		want += fmt.Sprintf("| %s | %v |\n", n.What, n.Value)
	}
	checkDoc(t, "reference/context.md", "<!-- numbers of the code", "<!-- end numbers -->",
		"| number | value |\n|---|---|\n"+want)
}

// Each row of docs/reference/features.md names tests and session scripts that exist, and says how a
// user reaches the feature.
func TestDocumentedTestsExist(t *testing.T) {
	have := declaredTests(t)
	named := regexp.MustCompile("`((?:Test|Benchmark|Fuzz)\\w+|[a-z]+/[a-z-]+)`")
	rows := 0
	for line := range strings.Lines(readDoc(t, "reference/features.md")) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 5 || strings.HasPrefix(cells[1], " **") ||
			strings.HasPrefix(cells[1], "---") || cells[1] == " feature " {
			continue
		}
		rows++
		tests := named.FindAllStringSubmatch(cells[2], -1)
		if len(tests) == 0 || strings.TrimSpace(cells[3]) == "" {
			t.Errorf("docs/reference/features.md: no test, or no way to reach the feature:%s",
				cells[1])
		}
		for _, m := range tests {
			if !have[m[1]] {
				t.Errorf("docs/reference/features.md names %s, which does not exist:%s", m[1],
					cells[1])
			}
		}
	}
	if rows < 150 {
		t.Errorf("only %d rows", rows)
	}
}

// declaredTests returns the names of the Go tests, benchmarks and fuzz tests of the program, and of
// all session scripts.
func declaredTests(t *testing.T) map[string]bool {
	t.Helper()
	have := map[string]bool{}
	decl := regexp.MustCompile(`(?m)^func ((?:Test|Benchmark|Fuzz)\w+)\(`)
	for _, root := range []string{"../../internal", "../../cmd", "../../testdata/session"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if name, ok := strings.CutSuffix(filepath.ToSlash(path), ".txtar"); ok {
				have[strings.TrimPrefix(name, "../../testdata/session/")] = true
			}
			if err != nil || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			b, err := os.ReadFile(path)
			for _, m := range decl.FindAllStringSubmatch(string(b), -1) {
				have[m[1]] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return have
}

// The session scripts cover each control method, option and outcome listed below.
func TestEachControlMethodHasAScript(t *testing.T) {
	var all strings.Builder
	err := filepath.WalkDir("../../testdata/session",
		func(path string, d fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".txtar") {
				return err
			}
			b, err := os.ReadFile(path)
			_, script, _ := strings.Cut(string(b), "-- script --")
			all.WriteString(script)
			return err
		})
	if err != nil {
		t.Fatal(err)
	}
	for _, use := range []string{
		`(?m)^prompt "`, `"delivery": "queue"`, `"clientMessageId"`, `"pin": true`, `"pin": \["\$`,
		`"unpin": \["\$`,
		`(?m)^steer "`, `"persist": false`, `"role": "system"`, `"expectedTurnId"`,
		`"ifIdle": "error"`, `"ifIdle": "queue"`, `"ifIdle": "startTurn"`,
		`"outcome": "injected"`, `"outcome": "startedTurn"`, `"outcome": "queued"`,
		`(?m)^abort$`, `"silent": true`, `(?m)^abort \{"turnId"`, `"abortPhase": "inference"`,
		`"abortPhase": "tool_execution"`,
		"agent/continue", "agent/session/pause", "agent/session/resume", "agent/queue/list",
		"agent/queue/remove", "agent/queue/clear",
		"agent/turn/wait", "agent/compact", "agent/session/configure",
		`agent/session/new \{"messages"`,
	} {
		if !regexp.MustCompile(use).MatchString(all.String()) {
			t.Errorf("no session script has %s", use)
		}
	}
}
