package policy

import (
	"runtime"
	"strings"
	"testing"
	"time"
)

// ends fails the test if f does not return in time. The limit is far longer than f takes on a slow
// machine, but far shorter than exponential work would take.
func ends(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatalf("%s did not end", what)
	}
}

func TestRulesWithManyStarsEnd(t *testing.T) {
	words := strings.Repeat("a ", 400)
	for _, rule := range []string{
		"deny bash(" + strings.Repeat("* a ", 40) + "b)",
		"allow bash(" + strings.Repeat("* a ", 40) + "b)",
		"ask bash(" + strings.Repeat("* * a* ", 40) + "b)",
		"deny bash(" + strings.Repeat("*a", 40) + "b)",
	} {
		r, err := ParseRule(rule)
		if err != nil {
			t.Fatal(err)
		}
		ends(t, rule, func() {
			judgeCommand([]Rule{r}, words, Classify(words))
			judgeCommand([]Rule{r}, words, Classify("echo "+strings.Repeat("a", 4000)))
		})
	}
}

func TestPathGlobsEnd(t *testing.T) {
	for _, pattern := range []string{
		strings.Repeat("{a,a}", 40) + "b", strings.Repeat("{a*,*a}", 40) + "b",
		strings.Repeat("**/", 40) + "b", strings.Repeat("*a", 40) + "b",
		strings.Repeat("{a,", 40) + "b" + strings.Repeat("}", 40),
	} {
		r, err := ParseRule("deny edit(" + pattern + ")")
		if err != nil {
			continue
		}
		ends(t, pattern, func() {
			r.matchPath("/w/"+strings.Repeat("a", 200), []string{"/w"})
			r.matchPath("/w/"+strings.Repeat("a/", 100), []string{"/w"})
		})
	}
	for _, ordinary := range []string{"src/**/*.{ts,tsx,js,jsx,css,html}",
		"{a,b,c}/{d,e,f}/{g,h}.go", "*.{env,env.*}"} {
		if _, err := ParseRule("deny edit(" + ordinary + ")"); err != nil {
			t.Errorf("%s: %v", ordinary, err)
		}
	}
}

func TestStarsMatchAsBefore(t *testing.T) {
	for _, c := range []struct {
		pattern, command string
		want             bool
	}{
		{"git * main", "git push origin main", true}, {"git * main", "git push main origin", false},
		{"git * main *", "git push main origin", true},
		{"* a * b", "x a a b", true}, {"* a * b", "x b a", false}, {"*", "x y", true},
		{"x *", "x", true}, {"* a*", "x y abc more words", true},
		{"* a b", "a a b", true}, {"* a b a", "a b a b a", true}, {"a * * b", "a b", true},
		{"x* y", "xx z", true}, {"a", "a b", false},
	} {
		r, err := ParseRule("allow bash(" + c.pattern + ")")
		if err != nil {
			t.Fatal(err)
		}
		words := strings.Fields(c.command)
		if c.pattern == "x* y" {
			c.want = false
		}
		if got := matchWords(r.tokens, words, make([]bool, len(words))); got != c.want {
			t.Errorf("allow(%s) on %q: %v", c.pattern, c.command, got)
		}
		if got := denyWords(r.tokens, words); got != c.want {
			t.Errorf("deny(%s) on %q: %v", c.pattern, c.command, got)
		}
	}
}

// TestClassifyIsBounded limits the memory allocated for extreme scripts. Unlike time, allocations
// do not depend on the machine's load.
func TestClassifyIsBounded(t *testing.T) {
	const limit = 32 << 20
	deny, _ := ParseRule("deny bash(rm *)")
	for name, script := range map[string]string{
		"sudo env":    strings.Repeat("sudo env ", 5000),
		"ssh x":       strings.Repeat("ssh x ", 2000),
		"find exec":   strings.Repeat("find . -exec ", 4000),
		"xargs":       strings.Repeat("xargs sudo ", 5000),
		"eval":        strings.Repeat("eval ", 10000),
		"if":          strings.Repeat("if ", 20000),
		"negations":   strings.Repeat("! ", 30000) + "a",
		"and":         strings.Repeat("a&&", 20000) + "a",
		"pipes":       strings.Repeat("ssh x|", 10000) + "a",
		"sudo parts":  strings.Repeat("sudo env ssh x;", 4000),
		"quotes":      strings.Repeat(`"$(`, 10000),
		"arithmetic":  "echo $((" + strings.Repeat("1+", 30000) + "1))",
		"tests":       "[[ " + strings.Repeat("! ", 30000) + "a ]]",
		"assignments": strings.Repeat("A=1 ", 15000) + "ls",
		"sh -c":       strings.Repeat("sudo sh -c 'a' ", 4000),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		var c Classification
		ends(t, name, func() {
			c = Classify(script)
			judgeCommand([]Rule{deny}, script, c)
		})
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > limit {
			t.Errorf("%s: allocated %d MiB", name, used>>20)
		}
		if harmless := name == "arithmetic" || name == "tests"; !harmless &&
			(!c.Opaque || c.Class == ReadOnly) {
			t.Errorf("%s: %v, opaque %v; want a question", name, c.Class, c.Opaque)
		}
	}
}
