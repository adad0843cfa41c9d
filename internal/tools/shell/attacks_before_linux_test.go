package shell

import (
	"os"
	"strings"
	"testing"
)

// TestEveryAttackHadAnEffectBefore checks testdata/attacks/f828763.txt, which records the effects
// of the attacks at a commit without today's protections. Each attack in the corpus, or another
// attack of its class, must have had its effect there. The test also counts the attacks.
func TestEveryAttackHadAnEffectBefore(t *testing.T) {
	record, err := os.ReadFile("../../../testdata/attacks/f828763.txt")
	if err != nil {
		t.Fatal(err)
	}
	outcome, class := map[string]string{}, map[string]bool{}
	for line := range strings.Lines(string(record)) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(fields) == 3 {
			how, _, _ := strings.Cut(fields[1], " ")
			outcome[fields[0]+" "+fields[2]] = how
			class[fields[0]] = class[fields[0]] || how != "none"
		}
	}
	commands := readAttacks(t, "../../../testdata/attacks/commands.txt")
	repositories := readAttacks(t, "../../../testdata/attacks/repositories.txt")
	classes := map[string]bool{}
	for _, a := range append(commands, repositories...) {
		classes[a.class] = true
		switch outcome[a.class+" "+a.command] {
		case "unasked", "allowed":
		case "none":
			if !class[a.class] {
				t.Errorf("class %s: no attack had an effect before", a.class)
			}
		default:
			t.Errorf("class %s: %q is not in the record", a.class, a.command)
		}
	}
	all := len(commands) + len(repositories)
	if all < 400 || len(classes) < 40 || len(repositories) < 60 {
		t.Errorf("%d attacks of %d classes, %d by repositories",
			all, len(classes), len(repositories))
	}
}
