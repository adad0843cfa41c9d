package session

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/testspeed"
)

// crashDir is the environment variable that makes the test binary act as the daemon that is killed.
const crashDir = "AGENT_LSP_TEST_CRASH_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(crashDir); dir != "" {
		if err := daemon(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(testspeed.Run(m))
}

// daemon runs turn after turn of the session in dir until it is killed. Each call adds a line to
// the file effects, which stands for the effect of a command.
func daemon(dir string) error {
	l := Open(dir)
	in, err := l.Load("s1")
	if err != nil {
		return err
	}
	effects, err := os.OpenFile(filepath.Join(dir, "effects"), os.O_APPEND|os.O_CREATE|os.O_WRONLY,
		0o600)
	if err != nil {
		return err
	}
	n := 0
	for _, m := range in.Messages {
		if m.Role == message.RoleUser {
			n++
		}
	}
	if _, err := os.Stdout.WriteString("up\n"); err != nil {
		return err
	}
	for n++; ; n++ {
		if err := crashTurn(in.Session, n, effects); err != nil {
			return err
		}
	}
}

// crashTurn performs one turn in the same steps as the engine.
func crashTurn(s *Session, n int, effects *os.File) error {
	id, now := fmt.Sprint(n), time.Now()
	turn := &agent.Turn{TurnID: "t" + id}
	call := "k" + id
	add := func(item string, typ agent.ItemType, messageID, text string) {
		it := agent.Item{ID: item, Type: typ, MessageID: messageID, Text: text}
		if typ == agent.ItemToolCall {
			it.Text, it.Call = "", &agent.CallItem{CallID: call, Name: "bash", Result: text}
		}
		s.AddItem(Item{Seq: s.NextSeq(), TurnID: turn.TurnID, Item: it})
	}
	message := func(m *message.Message) error {
		m.TurnID, m.Time = turn.TurnID, now
		return s.Append(agent.Record{Type: agent.RecordMessage, Message: m, Time: now})
	}
	add("u"+id, agent.ItemUser, "u"+id, "prompt "+id)
	if err := s.Append(agent.Record{Type: agent.RecordTurnStart, Turn: turn,
		Time: now}); err != nil {
		return err
	}
	if err := message(msg("u"+id, "user", "prompt "+id)); err != nil {
		return err
	}
	if err := message(msg("a"+id, "assistant", "calling", call)); err != nil {
		return err
	}
	if err := s.Append(toolStart(call)); err != nil {
		return err
	}
	if _, err := effects.WriteString(call + "\n"); err != nil {
		return err
	}
	add("i"+id, agent.ItemToolCall, "a"+id, "result "+id)
	if err := message(result("r"+id, call, "result "+id)); err != nil {
		return err
	}
	if err := message(msg("b"+id, "assistant", "done "+id)); err != nil {
		return err
	}
	return s.Append(agent.Record{Type: agent.RecordTurnEnd, Turn: turn, Time: now})
}

// TestKilledAtRandom repeatedly kills a daemon at random points while it runs the same session. The
// session must always load with paired calls and results, and it must be possible to continue it.
// No call may run twice, a call that was executed may not be reported as "had no effect", and
// sequence numbers must increase.
func TestKilledAtRandom(t *testing.T) {
	runs := 100
	if testing.Short() {
		runs = 20
	}
	if os.Getenv("AGENT_LSP_CHAOS") != "" {
		runs = 2000
	}
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	interrupted := 0
	for done := 0; done < runs; done += killsEach {
		interrupted += killAgain(t, random,
			fmt.Sprintf("seed %d, session %d", seed, done/killsEach))
	}
	t.Logf("%d kills, %d calls interrupted", runs, interrupted)
}

// killsEach is the number of times that each session's daemon is killed.
const killsEach = 10

// killAgain repeatedly kills the daemon of one session. It returns the number of interrupted calls.
func killAgain(t *testing.T, random *rand.Rand, when string) (interrupted int) {
	dir := t.TempDir()
	l := Open(dir)
	s, err := l.Create(Meta{ID: "s1"})
	must(t, err)
	must(t, s.Close())
	for kill := range killsEach {
		killDaemon(t, dir, time.Duration(random.IntN(3000))*time.Microsecond)
		in := load(t, l, "s1")
		for _, p := range in.Problems {
			if !strings.Contains(p.Text, "not written completely") {
				t.Fatalf("%s, kill %d: %v", when, kill, p)
			}
		}
		interrupted += len(in.Interrupted)
		checkCrashHistory(t, in, dir, fmt.Sprintf("%s, kill %d", when, kill))
		must(t, in.Session.Close())
	}
	return interrupted
}

func killDaemon(t *testing.T, dir string, after time.Duration) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), crashDir+"="+dir, "GORACE=atexit_sleep_ms=0")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	if _, err := out.Read(make([]byte, 8)); err != nil {
		cmd.Wait()
		t.Fatalf("the daemon did not start: %v: %s", err, stderr.String())
	}
	time.Sleep(after) // kill at a random point
	must(t, cmd.Process.Kill())
	cmd.Wait()
	if stderr.Len() > 0 {
		t.Fatalf("the daemon failed: %s", stderr.String())
	}
}

func checkCrashHistory(t *testing.T, in *Loaded, dir, when string) {
	t.Helper()
	checkPaired(t, in.Messages)
	effects, err := os.ReadFile(filepath.Join(dir, "effects"))
	must(t, err)
	ran := map[string]int{}
	for call := range strings.FieldsSeq(string(effects)) {
		ran[call]++
	}
	results := map[string]string{}
	want := 0 // index in "uarb" of the first letter of the next message's ID
	for _, m := range in.Messages {
		at := strings.Index("uarb", m.ID[:1])
		if strings.HasPrefix(m.ID, "interrupted-") {
			at = 2
		}
		if at != want && at != 0 {
			t.Fatalf("%s: message %s where %c was expected", when, m.ID, "uarb"[want])
		}
		want = (at + 1) % 4
		if m.Role == message.RoleTool {
			results[m.CallID] = m.TextContent()
		}
	}
	for call, n := range ran {
		if n > 1 || strings.Contains(results[call], "no effect") || results[call] == "" {
			t.Fatalf("%s: call %s ran %d times, its result is %q", when, call, n, results[call])
		}
	}
	items, err := in.Session.Items(0)
	must(t, err)
	var last uint64
	for _, it := range items {
		if it.Seq <= last {
			t.Fatalf("%s: item %s has number %d after %d", when, it.Item.ID, it.Seq, last)
		}
		if c := it.Item.Call; c != nil && c.Result != results[c.CallID] {
			t.Fatalf("%s: item of %s shows %q, the history has %q", when, c.CallID, c.Result,
				results[c.CallID])
		}
		last = it.Seq
	}
	if in.LastSeq < last {
		t.Fatalf("%s: number %d is less than the items' %d", when, in.LastSeq, last)
	}
}
