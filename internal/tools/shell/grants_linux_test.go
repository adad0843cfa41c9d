package shell

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/policy"
	"github.com/agent-lsp/agent-lsp/internal/policy/sandbox"
)

// answers simulates a user who gives the same answer to the questions about some commands and
// rejects all others.
type answers struct {
	option   string
	to       string // the command for which option is chosen; "" for every command
	outside  bool   // also agrees to run outside the sandbox
	question []policy.Question
}

func (a *answers) Ask(_ context.Context, qs []policy.Question) []policy.Reply {
	out := make([]policy.Reply, len(qs))
	for i, q := range qs {
		a.question = append(a.question, q)
		switch {
		case a.outside && q.Sandbox == policy.Outside:
			out[i].OptionID = "allow_outside"
		case a.to == "" || a.to == q.Subject.Command:
			out[i].OptionID = a.option
		default:
			out[i].OptionID = "reject_once"
		}
	}
	return out
}

// leave describes how a command might leave the sandbox because of a permission that the user gave
// earlier.
type leave struct {
	name    string
	profile policy.Profile
	rules   []string
	first   string // first command, whose question the user answers with option
	option  string
	command string
	effect  string
	asked   bool // the model asks to run it outside the sandbox
	named   bool // a rule names the command, so it runs outside the sandbox
}

var leaves = []leave{
	{name: "allowed once", option: "allow_once", command: "touch OUT/pwned", effect: "outside"},
	{
		name: "allowed once, a copy", option: "allow_once",
		command: "cp src.txt OUT/pwned", effect: "outside",
	},
	{
		name: "allowed once, a process", option: "allow_once",
		command: "cat /proc/VICTIM/environ", effect: "secret",
	},
	{
		name: "allowed once, a connection", option: "allow_once",
		command: "exec 3<>/dev/tcp/127.0.0.1/PORT", effect: "connect",
	},
	{
		name: "allowed in the session", option: "allow_session",
		command: "make -f evil.mk", effect: "outside",
	},
	{
		name:  "always for touch",
		first: "touch a", option: "allow_always",
		command: "touch ../out/pwned", effect: "outside",
	},
	{
		name:  "always for mkdir",
		first: "mkdir a", option: "allow_always",
		command: "mkdir OUT/pwned", effect: "outside",
	},
	{
		name:  "always for cp",
		first: "cp src.txt a", option: "allow_always",
		command: "cp src.txt OUT/file", effect: "outside",
	},
	{
		name:  "always for mv",
		first: "mv src.txt a", option: "allow_always",
		command: "mv run.sh OUT/pwned", effect: "outside",
	},
	{
		name:  "always for ln",
		first: "ln src.txt a", option: "allow_always",
		command: "ln -s /etc/passwd OUT/pwned", effect: "outside",
	},
	{
		name:    "a rule for touch",
		rules:   []string{"allow bash(touch *)"},
		command: "touch ../out/pwned", effect: "outside",
	},
	{
		name:    "a rule for touch, absolute",
		rules:   []string{"allow bash(touch *)"},
		command: "touch OUT/pwned", effect: "outside",
	},
	{
		name:    "a rule for touch, by a variable",
		rules:   []string{"allow bash(touch *)"},
		command: "d=OUT; touch $d/pwned", effect: "outside",
	},
	{
		name:    "a rule for touch, after cd",
		rules:   []string{"allow bash(touch *)"},
		command: "cd .. && touch out/pwned", effect: "outside",
	},
	{
		name:    "a rule for touch, by an option",
		rules:   []string{"allow bash(touch *)"},
		command: "touch -rsrc.txt ../out/file", effect: "outside",
	},
	{
		name:    "a rule for touch, jobs",
		rules:   []string{"allow bash(touch *)"},
		command: `touch a; jobs -x sh -c 'touch OUT/pwned'`, effect: "outside",
	},
	{
		name:    "a rule for touch, find and env",
		rules:   []string{"allow bash(touch *)"},
		command: `touch a; find . -maxdepth 0 -exec env -u + sh -c 'touch OUT/pwned' \;`,
		effect:  "outside",
	},
	{
		name:    "a rule for touch, a starting program",
		rules:   []string{"allow bash(touch *)"},
		command: "touch .envrc", effect: "protected",
	},
	{
		name:    "a rule for a program of the workspace",
		rules:   []string{"allow bash(make *)"},
		command: "make -f evil.mk", effect: "outside", named: true,
	},
	{
		name:    "the profile trust",
		profile: policy.ProfileTrust,
		command: "sh run.sh", effect: "outside",
	},
	{
		name:    "the profile trust, a connection",
		profile: policy.ProfileTrust,
		command: "exec 3<>/dev/tcp/127.0.0.1/PORT", effect: "connect",
	},
	{
		name:    "the profile trust, asked outside",
		profile: policy.ProfileTrust,
		command: "touch OUT/pwned", effect: "outside", asked: true,
	},
	{
		name:    "the profile workspace",
		profile: policy.ProfileWorkspace,
		command: "sh run.sh", effect: "outside",
	},
	{
		name:    "a rule, asked outside",
		rules:   []string{"allow bash(*)"},
		command: "touch OUT/pwned", effect: "outside", asked: true,
	},
}

// lets runs a command if the policy allows it, in the same way as the bash tool, and returns the
// command's effects.
func (c *leave) lets(
	t *testing.T,
	s *scene,
	r *Runner,
	box sandbox.Support,
	user *answers,
) map[string]bool {
	t.Helper()
	e, err := policy.NewEngine(policy.Options{
		Asker: user, Sandbox: func() sandbox.Support { return box },
	})
	if err != nil {
		t.Fatal(err)
	}
	rules, errs := policy.ParseRules("rules", c.rules)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	e.Configure("s", policy.Settings{Profile: c.profile, Rules: rules, Roots: []string{s.work}})
	ask := func(command string, outside bool) tool.Decision {
		d, err := e.Approve(t.Context(), tool.ApprovalRequest{
			SessionID: "s", Tool: tool.Spec{Name: "bash"}, Waiting: func() {},
			Subject: &tool.Subject{
				Kind: tool.SubjectCommand, Command: command, Cwd: s.work, Unboxed: outside,
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	command := s.names.Replace(c.command)
	user.to = command
	if c.first != "" {
		if user.to = c.first; !ask(c.first, false).Allow {
			if !box.Enforces() {
				return nil // without enforcement, "always" is not offered
			}
			t.Fatalf("%q was not allowed", c.first)
		}
	}
	d := ask(command, c.asked)
	if !d.Allow {
		return nil
	}
	own := policy.Folders{Tmp: s.base + "/tmp", Layer: s.base + "/layer"}
	plan, err := e.SandboxPlan("s", command, own, policy.Granted{
		Outside: d.Unboxed, Secrets: d.Secrets,
	})
	if err != nil {
		t.Fatal(err)
	}
	effects, _ := s.run(r, &attack{command: command}, plan, time.Minute)
	return effects
}

// TestNothingAllowedLeavesTheSandbox runs commands that an answer, a rule or a profile allows. In a
// sandbox, no such command has its effect. Without a sandbox, only a command that the user has seen
// completely has its effect.
func TestNothingAllowedLeavesTheSandbox(t *testing.T) {
	home, victim := attackHome(t), startVictim(t)
	r := newRunner(t)
	for _, box := range append(boxes(t), sandbox.Support{Kind: sandbox.None, Why: "a test"}) {
		for _, c := range leaves {
			profile := "workspace"
			if isGap(box.Kind, profile, c.effect) {
				continue
			}
			s := newScene(t, &attack{}, victim, home)
			user := &answers{option: c.option}
			effects := c.lets(t, s, r, box, user)
			allowed := c.named || c.first == "" && c.option != "" ||
				c.profile == policy.ProfileTrust
			if want := allowed && box.Kind == sandbox.None; effects[c.effect] != want {
				t.Errorf("%s, %s: %q, effect %q: %v, want %v",
					box.Kind, c.name, c.command, c.effect, !want, want)
			}
			for _, q := range user.question {
				if want := c.place(box); q.Sandbox != want {
					t.Errorf("%s, %s: asked with %q, want %q", box.Kind, c.name, q.Sandbox, want)
				}
			}
			s.close()
		}
	}
}

func (c *leave) place(box sandbox.Support) policy.Place {
	switch {
	case box.Kind == sandbox.None:
		return policy.NoSandbox
	case c.asked:
		return policy.Outside
	}
	return policy.Inside
}

// TestOnlyItsOwnQuestionLeavesTheSandbox checks that a command runs outside the sandbox only if the
// user agrees to a separate question, and that this answer is not remembered.
func TestOnlyItsOwnQuestionLeavesTheSandbox(t *testing.T) {
	home, victim := attackHome(t), startVictim(t)
	r := newRunner(t)
	for _, profile := range []policy.Profile{
		policy.ProfileAsk, policy.ProfileWorkspace, policy.ProfileTrust,
	} {
		for _, box := range boxes(t) {
			c := leave{profile: profile, command: "touch OUT/pwned", effect: "outside", asked: true}
			s := newScene(t, &attack{}, victim, home)
			user := &answers{outside: true}
			if !c.lets(t, s, r, box, user)[c.effect] {
				t.Errorf("%s, %s: the command did not run outside", box.Kind, profile)
			}
			if len(user.question) != 1 {
				t.Fatalf("%s, %s: %d questions", box.Kind, profile, len(user.question))
			}
			q := user.question[0]
			for _, o := range q.Options {
				if o.Pattern != "" || o.Kind != policy.AllowOnce && o.Kind != policy.RejectOnce {
					t.Errorf("the option %+v would be remembered", o)
				}
			}
			if !strings.HasPrefix(q.Title, "Outside the sandbox: ") || len(q.Options) != 2 {
				t.Errorf("the question is %+v", q)
			}
			s.close()
		}
	}
}

// TestAGrantEndsWithItsFilesContent checks that a grant for a script that a command runs by path
// ends when the script changes.
func TestAGrantEndsWithItsFilesContent(t *testing.T) {
	home, victim := attackHome(t), startVictim(t)
	for _, box := range append(boxes(t), sandbox.Support{Kind: sandbox.None, Why: "a test"}) {
		s := newScene(t, &attack{}, victim, home)
		user := &answers{option: "allow_always"}
		e, err := policy.NewEngine(policy.Options{
			Asker: user, Sandbox: func() sandbox.Support { return box },
		})
		if err != nil {
			t.Fatal(err)
		}
		e.Configure("s", policy.Settings{Roots: []string{s.work}})
		questions := func(command, cwd string) int {
			before := len(user.question)
			if _, err := e.Approve(t.Context(), tool.ApprovalRequest{
				SessionID: "s", Tool: tool.Spec{Name: "bash"}, Waiting: func() {},
				Subject: &tool.Subject{Kind: tool.SubjectCommand, Command: command, Cwd: cwd},
			}); err != nil {
				t.Fatal(err)
			}
			return len(user.question) - before
		}
		s.write(s.work+"/deep/run.sh", "touch OUT/pwned\n")
		for i, want := range []int{1, 0} {
			if got := questions("./run.sh", s.work); got != want {
				t.Errorf("%s, run %d: %d questions, want %d", box.Kind, i, got, want)
			}
		}
		user.option = "reject_once"
		for command, cwd := range map[string]string{
			"./run.sh": s.work + "/deep", "cd deep && ./run.sh": s.work, "./deep/run.sh": s.work,
			"env -C deep ./run.sh": s.work, `find deep/run.sh -execdir ./run.sh \;`: s.work,
		} {
			if questions(command, cwd) != 1 {
				t.Errorf("%s: %q in %s runs another file unasked", box.Kind, command, cwd)
			}
		}
		s.write(s.work+"/run.sh", "rm -rf deep\n")
		if questions("./run.sh", s.work) != 1 {
			t.Errorf("%s: the changed file runs without a question", box.Kind)
		}
		// In agent-lsp's own sandbox, a grant for an interpreter does not depend on its script.
		after := 1
		if box.Enforces() {
			after = 0
		}
		for _, command := range []string{
			"sh run.sh", "bash ./run.sh", "python3 run.sh", "awk -f run.sh", ". ./run.sh",
			"cat run.sh | sh", "sh < run.sh",
		} {
			user.option = "allow_session"
			for i, want := range []int{1, 0} {
				if got := questions(command, s.work); got != want && !box.Enforces() {
					t.Errorf("%s: %q, run %d: %d questions, want %d",
						box.Kind, command, i, got, want)
				}
			}
			s.write(s.work+"/run.sh", "rm -rf deep # "+command+"\n")
			user.option = "reject_once"
			if got := questions(command, s.work); got != after {
				t.Errorf("%s: %q runs a changed script: %d questions, want %d",
					box.Kind, command, got, after)
			}
		}
		user.option = "allow_session"
		questions("make", s.work)
		s.write(s.work+"/Makefile", "all:\n\ttouch pwned\n")
		if got := questions("make", s.work); got != 0 {
			t.Errorf("%s: make, with another Makefile: %d questions", box.Kind, got)
		}
		s.close()
	}
}
