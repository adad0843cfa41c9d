package cli

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/session"
	"github.com/agent-lsp/agent-lsp/internal/rpc/rpctest"
)

// envKills is the number of daemons that TestDaemonsKilledAtRandom kills. `make test` sets it to
// 100 unless KILLS is set.
const envKills = "AGENT_LSP_KILLS"

// killedSteps is the number of commands that the scripted model requests one after another. No
// daemon runs long enough to complete all of them.
const killedSteps = 300

// TestDaemonsKilledAtRandom kills a daemon at a random point of a scripted run. Afterwards, its
// session must load. Up to the call that was running, the history must be the same as in an
// uninterrupted run, and the result of that call must report the interruption. No command may run
// twice, and the history must list every command that ran. In every fourth run, another daemon then
// continues the session.
func TestDaemonsKilledAtRandom(t *testing.T) {
	kills := 8
	if s := os.Getenv(envKills); s != "" {
		var err error
		if kills, err = strconv.Atoi(s); err != nil {
			t.Fatalf("%s: %v", envKills, err)
		}
	}
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	interrupted, steps := 0, 0
	for i := range kills {
		k := newKilled(t)
		k.run(time.Duration(random.IntN(400)) * time.Millisecond)
		n, cut := k.check()
		steps += n
		if cut {
			interrupted++
		}
		if i%4 == 0 {
			k.goOn()
		}
		if t.Failed() {
			t.Fatalf("kill %d of seed %d", i, seed)
		}
	}
	t.Logf("%d daemons killed, %d of them during a call, after %d commands in total: each session loaded, and every fourth continued",
		kills, interrupted, steps)
}

// killed is a workspace whose daemon is killed.
type killed struct {
	t        *testing.T
	home, ws string
	env      []string
	id       string
	before   int // number of messages loaded after the kill
}

func newKilled(t *testing.T) *killed {
	home, ws := t.TempDir(), t.TempDir()
	k := &killed{t: t, home: home, ws: ws,
		env: []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "XDG_STATE_HOME=" +
			filepath.Join(home, "state"),
			"AGENT_LSP_SCRIPT=" + filepath.Join(home, "model.jsonl"), "GORACE=atexit_sleep_ms=0"}}
	var model strings.Builder
	for i := range killedSteps {
		fmt.Fprintf(&model, "{\"text\": \"step %d\", \"toolCalls\": [{\"id\": \"c%d\", \"name\": \"bash\", \"arguments\": {\"command\": \"echo c%d >> effects\"}}]}\n", i, i, i)
	}
	mustStore(t, filepath.Join(home, "model.jsonl"), []byte(model.String()))
	return k
}

func (k *killed) start() (*rpctest.Editor, rpctest.Daemon) {
	k.t.Helper()
	d := startProcess(k.t, []string{"serve"}, k.env)
	ed := rpctest.NewEditor(d.Stdout, d.Stdin)
	params := map[string]any{"processId": os.Getpid(), "rootUri": rpctest.URIOf(k.ws),
		"capabilities": json.RawMessage(rpctest.DefaultCapabilities),
		"initializationOptions": map[string]any{"permissions": map[string]any{"profile": "trust"},
			"sandbox": "off", "maxModelCalls": 2 * killedSteps}}
	if err := ed.Call("initialize", params, nil); err != nil {
		k.t.Fatal(err, d.Log())
	}
	if err := ed.Notify("initialized", map[string]any{}); err != nil {
		k.t.Fatal(err)
	}
	return ed, d
}

func (k *killed) run(after time.Duration) {
	k.t.Helper()
	ed, d := k.start()
	var accepted struct{ SessionID string }
	if err := ed.Call("agent/prompt", map[string]any{"prompt": "go"}, &accepted); err != nil {
		k.t.Fatal(err, d.Log())
	}
	k.id = accepted.SessionID
	time.Sleep(after) // kill at a random point
	d.Kill()
	d.Wait()
	wantNoneLeft(k.t, "HOME="+k.home) // a command may still be writing
}

func (k *killed) library() *session.Library {
	return session.Open(session.Dir(filepath.Join(k.home, "state", "agent-lsp"), k.ws))
}

// check checks the stored history. It returns how many commands ran, and whether the kill
// interrupted one.
func (k *killed) check() (steps int, cut bool) {
	k.t.Helper()
	library := k.library()
	defer library.Close()
	in, err := library.Load(k.id)
	if err != nil {
		k.t.Fatal(err)
	}
	k.before = len(in.Messages)
	effects, _ := os.ReadFile(filepath.Join(k.ws, "effects"))
	ran := map[string]int{}
	for call := range strings.FieldsSeq(string(effects)) {
		ran[call]++
	}
	for i, m := range in.Messages {
		switch want := (i - 1) / 2; {
		case i == 0:
			k.want(m.TextContent() == "go", "message %d is %q", i, m.TextContent())
		case i%2 == 1:
			k.want(m.Role == message.RoleAssistant && m.TextContent() == fmt.Sprint("step ", want),
				"message %d is %s %q", i, m.Role, m.TextContent())
		default:
			call, text := fmt.Sprint("c", want), m.TextContent()
			last, clean := i == len(in.Messages)-1, text == "(no output)"
			k.want(m.Role == message.RoleTool && m.CallID == call, "message %d is %s of %s", i,
				m.Role, m.CallID)
			k.want(clean || last && strings.Contains(text, "interrupted"), "%s has the result %q",
				call, text)
			k.want(!clean || ran[call] == 1, "%s has a result and ran %d times", call, ran[call])
			k.want(!strings.Contains(text, "no effect") || ran[call] == 0,
				"%s ran and its result is %q", call, text)
			cut = cut || !clean
			delete(ran, call)
		}
	}
	k.want(len(ran) == 0, "ran without a call in the history: %v", ran)
	return strings.Count(string(effects), "\n"), cut
}

func (k *killed) want(ok bool, format string, args ...any) {
	k.t.Helper()
	if !ok {
		k.t.Errorf(format, args...)
	}
}

// goOn continues the session in another daemon, whose model sends one more reply.
func (k *killed) goOn() {
	k.t.Helper()
	mustStore(k.t, filepath.Join(k.home, "model.jsonl"), []byte(`{"text": "All done."}`+"\n"))
	ed, d := k.start()
	var turn struct{ TurnID, Status string }
	if err := ed.Call("agent/continue", map[string]any{"sessionId": k.id}, &turn); err != nil {
		k.t.Fatal(err, d.Log())
	}
	if err := ed.Call("agent/turn/wait", map[string]any{"sessionId": k.id, "turnId": turn.TurnID},
		&turn); err != nil || turn.Status != "completed" {
		k.t.Errorf("going on: %+v, %v", turn, err)
	}
	_ = ed.CloseStdin()
	d.Wait()
	library := k.library()
	defer library.Close()
	in, err := library.Load(k.id)
	if err != nil || len(in.Messages) <= k.before ||
		in.Messages[len(in.Messages)-1].TextContent() != "All done." {
		k.t.Errorf("the continued session was not stored: %v", err)
	}
}
