package policy

import "testing"

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
