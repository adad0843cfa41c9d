package agent

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
)

// slowDisk is a store whose syncs wait until the test releases them.
type slowDisk struct {
	*log
	sync func() error
}

func (d *slowDisk) Sync() error { return d.sync() }

// onSlowDisk returns a rig whose store uses a slow disk.
func onSlowDisk(t *testing.T, m *scripted, sync func() error, tools ...tool.Tool) *rig {
	return newRig(t, m, func(o *Options) { o.Store = &slowDisk{o.Store.(*log), sync} }, tools...)
}

// promptBeside sends a prompt and calls answered when Prompt returns. Call it in a new goroutine,
// because Prompt waits for the disk.
func (r *rig) promptBeside(answered func()) {
	if _, err := r.s.Prompt(Prompt{Content: text("go")}); err != nil {
		r.t.Error(err)
	}
	answered()
}

// The model is called while the prompt is still being synced to disk. Prompt returns after the
// sync.
func TestTheDiskIsNotWaitedForByTheModel(t *testing.T) {
	bubble(t, func(t *testing.T) {
		there := make(chan struct{})
		asked := false
		m := script(step{do: func(context.Context, *Request, func(Delta)) (*Reply, error) {
			asked = true
			return &Reply{Message: message.NewText(message.RoleAssistant, "done")}, nil
		}})
		r := onSlowDisk(t, m, func() error { <-there; return nil })
		answered := false
		go r.promptBeside(func() { answered = true })
		synctest.Wait()
		if !asked || answered {
			t.Errorf("before the prompt is on disk: asked %v, answered %v", asked, answered)
		}
		close(there)
		synctest.Wait()
		if !answered {
			t.Error("not answered after the prompt is on disk")
		}
		r.close()
	})
}

// A tool that may have an effect runs only after the sync to disk. A read-only tool does not wait
// for it.
func TestToolsWithAnEffectWaitForTheDisk(t *testing.T) {
	for effect, waits := range map[tool.Effect]bool{tool.ReadOnly: false, tool.Mutates: true,
		tool.Dangerous: true} {
		bubble(t, func(t *testing.T) {
			there := make(chan struct{})
			ran := false
			act := fake("act", effect, func(context.Context, *tool.Call) (*tool.Result,
				error) {
				ran = true
				return &tool.Result{}, nil
			})
			r := onSlowDisk(t, script(step{calls: []message.ToolCall{call("c", "act", "")}},
				step{text: "done"}), func() error { <-there; return nil }, act)
			go r.promptBeside(func() {})
			synctest.Wait()
			if ran == waits {
				t.Errorf("%s: ran %v before the disk was synced", effect, ran)
			}
			close(there)
			synctest.Wait()
			if !ran {
				t.Errorf("%s: it did not run after the disk was synced", effect)
			}
			r.close()
		})
	}
}

// A tool gets ready while the reply is synced to disk, but not before the call is allowed.
func TestAToolGetsReadyDuringTheSync(t *testing.T) {
	bubble(t, func(t *testing.T) {
		allowed, there := make(chan struct{}), make(chan struct{})
		var did []string
		act := fake("act", tool.Mutates,
			func(context.Context, *tool.Call) (*tool.Result, error) {
				did = append(did, "run")
				return &tool.Result{}, nil
			}).saying(tool.Prepared{
			Subject: &tool.Subject{Kind: tool.SubjectCommand},
			Ready:   func(*tool.Call) { did = append(did, "ready") },
		})
		r := newRig(t, script(step{calls: []message.ToolCall{call("c", "act", "")}},
			step{text: "done"}), func(o *Options) {
			o.Store = &slowDisk{o.Store.(*log), func() error { <-there; return nil }}
			o.Approver = approverFunc(func(context.Context, tool.ApprovalRequest) (tool.Decision,
				error) {
				<-allowed
				return tool.Decision{Allow: true}, nil
			})
		}, act)
		go r.promptBeside(func() {})
		for _, step := range []struct {
			next chan struct{}
			want string
		}{{allowed, ""}, {there, "ready"}} {
			synctest.Wait()
			if got := strings.Join(did, " "); got != step.want {
				t.Errorf("the tool did %q, want %q", got, step.want)
			}
			close(step.next)
		}
		synctest.Wait()
		if got := strings.Join(did, " "); got != "ready run" {
			t.Errorf("at the end the tool did %q", got)
		}
		r.close()
	})
}

// If the sync to disk fails, no tool with an effect runs. The model and the user are notified.
func TestADiskThatFails(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ran := false
		act := fake("act", tool.Mutates,
			func(context.Context, *tool.Call) (*tool.Result,
				error) {
				ran = true
				return &tool.Result{}, nil
			})
		r := onSlowDisk(t, script(step{calls: []message.ToolCall{call("c", "act", "")}},
			step{text: "done"}), func() error { return errors.New("input/output error") }, act)
		r.run("go")
		if got := r.results(); ran || !strings.Contains(got, "input/output error") {
			t.Errorf("ran %v, the result is %s", ran, got)
		}
		reported := false
		for _, e := range r.log.all() {
			done, ok := e.(ItemCompleted)
			reported = reported || ok && done.Item.Type == ItemNotice &&
				strings.Contains(done.Item.Text, "input/output error")
		}
		if !reported {
			t.Errorf("the user was not informed:\n%s", r.log.lines())
		}
		r.close()
	})
}

// A message that cannot be synced to disk is not queued.
func TestAQueueOnADiskThatFails(t *testing.T) {
	bubble(t, func(t *testing.T) {
		fails := false
		end := make(chan struct{})
		m := script(step{do: func(context.Context, *Request, func(Delta)) (*Reply, error) {
			<-end
			return &Reply{Message: message.NewText(message.RoleAssistant, "done")}, nil
		}})
		r := onSlowDisk(t, m, func() error {
			if fails {
				return errors.New("input/output error")
			}
			return nil
		})
		first := r.prompt("go")
		fails = true
		if _, err := r.s.Prompt(Prompt{Content: text("next")}); err == nil ||
			len(r.s.State().Queue) != 0 {
			t.Errorf("queued: %v, %d wait", err, len(r.s.State().Queue))
		}
		close(end)
		r.wait(first.TurnID)
		r.close()
	})
}
