package shell

import (
	"slices"
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/policy"
	"github.com/agent-lsp/agent-lsp/internal/policy/sandbox"
)

// secretReaders are commands that print a secret file, each with the file that it prints.
var secretReaders = []struct{ command, file string }{
	{"cat .env", "WORK/.env"},
	{"cat < .env", "WORK/.env"},
	{"cat ./deep/../.env", "WORK/.env"},
	{"cat .e*", "WORK/.env"},
	{"cat deep/*/*.pem", "WORK/deep/down/server.pem"},
	{"grep -h TOKEN .env", "WORK/.env"},
	{"cp .env copy && cat copy", "WORK/.env"},
	{"cat link", "WORK/.env"},
	{"head -1 li*k", "WORK/.env"},
	{"cat toHome", "HOME/.ssh/id_rsa"},
	{"cat ~/.ssh/id_rsa", "HOME/.ssh/id_rsa"},
	{"cat HOME/.ssh/id_rsa", "HOME/.ssh/id_rsa"},
	{"sed -n 1p HOME/.aws/credentials", "HOME/.aws/credentials"},
}

func secretScene(t *testing.T, victim int, home string) *scene {
	return newScene(t, &attack{setup: []setup{
		{"symlink", "link", ".env"},
		{"symlink", "toHome", "HOME/.ssh/id_rsa"},
	}}, victim, home)
}

// TestASecretFileIsReadableOnceTheUserAllowsIt runs commands that name a secret file, with every
// profile and sandbox and without a sandbox. The user is asked about each command, and the question
// names the file. A command that the user allows can read that file.
func TestASecretFileIsReadableOnceTheUserAllowsIt(t *testing.T) {
	home, victim := attackHome(t), startVictim(t)
	r := newRunner(t)
	for _, box := range append(boxes(t), sandbox.Support{Kind: sandbox.None, Why: "a test"}) {
		for _, profile := range []policy.Profile{
			policy.ProfileReadOnly, policy.ProfileAsk, policy.ProfileWorkspace, policy.ProfileTrust,
		} {
			for _, x := range secretReaders {
				s := secretScene(t, victim, home)
				refuses, allows := &answers{option: "reject_once"}, &answers{option: "allow_once"}
				c := leave{profile: profile, command: x.command, option: "allow_once"}
				c.rules = []string{"allow bash(cat *)", "allow bash(head *)"}
				if c.lets(t, s, r, box, refuses) != nil {
					t.Errorf("%s, %s: %q runs unasked", box.Kind, profile, x.command)
				}
				effects := c.lets(t, s, r, box, allows)
				if want := profile != policy.ProfileReadOnly; effects["secret"] != want {
					t.Errorf("%s, %s: %q shows the file: %v, want %v",
						box.Kind, profile, x.command, !want, want)
				}
				for _, q := range allows.question {
					if file := s.names.Replace(x.file); !slices.Contains(q.Subject.Paths, file) {
						t.Errorf("%q: the question names %q, want %q",
							x.command, q.Subject.Paths, file)
					}
				}
				s.close()
			}
		}
	}
}

// TestAnAnswerShowsNoOtherSecretFile allows one secret file. The daemon's own sandbox must still
// hide the others, and a search must skip them and report that it did.
func TestAnAnswerShowsNoOtherSecretFile(t *testing.T) {
	home, victim := attackHome(t), startVictim(t)
	r := newRunner(t)
	box := boxes(t)[0]
	if box.Kind != sandbox.Own {
		t.Fatalf("the first sandbox is %s", box.Kind)
	}
	for _, command := range []string{
		"cat .env > /dev/null; grep -rh CANARY deep",
		"cat .env > /dev/null; cat $(find deep -type f)",
		"cat ~/.ssh/id_rsa > /dev/null; find ~ -name .netrc -exec cat {} +",
		"cat ~/.ssh/id_rsa > /dev/null; grep -rh CANARY . ~/.aws",
	} {
		s := secretScene(t, victim, home)
		c := leave{command: command, option: "allow_once"}
		user := &answers{option: "allow_once"}
		if effects := c.lets(t, s, r, box, user); effects == nil || effects["secret"] {
			t.Errorf("%q: effects %v", c.command, effects)
		}
		s.close()
	}
	for _, command := range []string{"grep -rn TOKEN .", "rg -uuu TOKEN .", "cat $(ls -A)"} {
		s := secretScene(t, victim, home)
		plan := planFor(t, box, s, "readOnly")
		res := run(t, r, Command{Script: command, Dir: s.work, Sandbox: plan})
		out := string(res.Head)
		if strings.Contains(out, canary) || !strings.Contains(out, "ermission denied") {
			t.Errorf("%q: %s", command, out)
		}
		s.close()
	}
}

// TestARuleForASecretFileIsAboutThatFile checks that a rule allows reading a secret file only if
// the rule names that file. A rule with a wildcard, or with the name of a link to the file, does
// not allow it.
func TestARuleForASecretFileIsAboutThatFile(t *testing.T) {
	home, victim := attackHome(t), startVictim(t)
	r := newRunner(t)
	for _, box := range boxes(t) {
		for _, x := range []struct {
			rule, command string
			want          bool
		}{
			{"allow bash(cat .env)", "cat .env", true},
			{"allow bash(=cat .env)", "cat .env", true},
			{"allow bash(cat .env.link)", "cat .env.link", false},
			{"allow bash(cat deep/.env)", "cat deep/.env", false},
			{"allow bash(=cat link)", "cat link", false},
			{"allow bash(cat .env)", "cat .env deep/down/server.pem", false},
			{"allow bash(cat *)", "cat .env", false},
			{"allow bash(*)", "cat .env", false},
		} {
			s := newScene(t, &attack{setup: []setup{
				{"symlink", "link", ".env"}, {"symlink", "deep/.env", "WORK/.env"},
				{"symlink", ".env.link", "HOME/.ssh/id_rsa"},
			}}, victim, home)
			c := leave{command: x.command, rules: []string{x.rule}}
			refuses := &answers{option: "reject_once"}
			if got := c.lets(t, s, r, box, refuses); got["secret"] != x.want {
				t.Errorf("%s: %q under %q: %v, want %v",
					box.Kind, x.command, x.rule, !x.want, x.want)
			}
			s.close()
		}
	}
}
