package policy

import (
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
)

// A deny rule also applies to a command that a program starts, if this program only starts others.
func TestDenyRulesSeeThroughLaunchers(t *testing.T) {
	rules, errs := ParseRules("rules", []string{"deny bash(touch *)"})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	for _, script := range []string{
		"setarch x86_64 touch x", "linux64 touch x", "prlimit --nofile=9 touch x",
		"choom -n 0 -- touch x", "uclampset -m 0 touch x", "logsave /dev/null touch x",
		"ssh-agent touch x", "direnv exec . touch x", "mise exec -- touch x", "tini -- touch x",
		"jobs -x touch x",
		"caffeinate touch x", "faketime now touch x", "proxychains4 /usr/bin/touch x",
	} {
		if v := judgeCommand(rules, script, Classify(script)); v.action != Deny {
			t.Errorf("%s: %v", script, v.action)
		}
	}
}

// Some programs run text as a script: an argument, or the value of a variable. A deny rule also
// matches the commands in this text. If the text is not known, the command asks.
func TestDenyRulesSeeTextThatProgramsRun(t *testing.T) {
	rules, errs := ParseRules("rules", []string{"deny bash(touch x*)"})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	for script, want := range map[string]Action{
		"flock l -c 'touch x'": Deny, "flock l -c 'cd a && /bin/touch x'": Deny,
		"script -qc 'touch x' /dev/null": Deny, "su -c 'touch x'": Deny,
		`su -c "flock l -c 'touch x'"`: Deny, "ssh host 'true; touch x'": Deny,
		"GIT_PAGER='touch x' git log": Deny, "GIT_EXTERNAL_DIFF='touch x' git diff": Deny,
		"PAGER='less; touch x'": Deny, "PS4='$(touch x)'; set -x; true": Deny,
		"flock l -c 'touch y'": Allow, "GIT_PAGER='touch y' git log": Allow,
		". <(echo touch x)": Ask, "source /dev/stdin <<< 'touch x'": Ask,
		"bash <(echo touch x)": Ask, "sh /dev/fd/0 <<< 'touch x'": Ask,
		"BASH_ENV=<(echo touch x) bash -c true": Ask, "export ENV=f; sh -c true": Ask,
		"env BASH_ENV=f bash -c true": Ask,
		// Limits that docs/use/security.md lists.
		`awk 'BEGIN{system("touch x")}'`: Allow, `python3 -c 'os.system("touch x")'`: Allow,
		"make touch": Allow, "ed <<< '!touch x'": Allow, "cp /bin/touch t; ./t x": Allow,
	} {
		v := Settings{Profile: ProfileTrust}.judgeCommand(machine{readable: true}, rules,
			&tool.Subject{Kind: tool.SubjectCommand, Command: script, Cwd: t.TempDir()})
		if v.action != want {
			t.Errorf("%s: %v (%s), want %v", script, v.action, v.reason, want)
		}
	}
}
