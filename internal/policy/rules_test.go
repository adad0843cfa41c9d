package policy

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// slipRules returns the rules that are used with the table of bypass attempts.
func slipRules(t testing.TB) []Rule {
	t.Helper()
	b, err := os.ReadFile(tables + "/slips.txt")
	if err != nil {
		t.Fatal(err)
	}
	head, _, _ := strings.Cut(string(b), "\n# none")
	_, list, ok := strings.Cut(head, "#   allow ")
	if !ok {
		t.Fatal("the table does not name its rules")
	}
	var rules []Rule
	for _, s := range strings.Split(list, "), ") {
		r, perr := ParseRule("allow " + strings.TrimSuffix(s, ")") + ")")
		if perr != nil {
			t.Fatal(perr)
		}
		rules = append(rules, r)
	}
	return rules
}

func TestSlipsNeverRideOnAnAllowRule(t *testing.T) {
	rules := slipRules(t)
	for _, line := range lines(t, "slips.txt") {
		script := unquote(line)
		if v := judgeCommand(rules, script, Classify(script)); v.action == Allow {
			t.Errorf("%q is allowed", script)
		}
	}
}

func TestAllowRules(t *testing.T) {
	for _, tc := range []struct {
		rules  []string
		script string
		want   Action
	}{
		{[]string{"allow bash(go test *)"}, "go test ./...", Allow},
		{[]string{"allow bash(go test *)"}, "go test", Allow},
		{[]string{"allow bash(go test *)"}, "go testing", Ask},
		{[]string{"allow bash(go test*)"}, "go test ./...", Allow},
		{[]string{"allow bash(go test *)"}, `go test -run "$T" ./...`, Allow},
		{[]string{"allow bash(go test ./x)"}, "go test $T", Ask},
		{[]string{"allow bash(go test *)"}, "cd src && go test ./...", Allow},
		{[]string{"allow bash(go test *)"}, "go test ./... | tail -5", Allow},
		{[]string{"allow bash(go test *)"}, "timeout 60 env CI=1 go test ./...", Allow},
		{[]string{"allow bash(go test *)"}, "sh -c 'go test ./...'", Allow},
		{[]string{"allow bash(go test *)"}, "go test ./... && go build", Ask},
		{[]string{"allow bash(go test *)", "allow bash(go build *)"}, "go test ./... && go build",
			Allow},
		{[]string{"allow bash(mkdir build/*)"}, "mkdir build/a", Allow},
		{[]string{"allow bash(mkdir build/*)"}, "mkdir build/../../a", Ask},
		{[]string{"allow bash(> out.txt)"}, "ls > out.txt", Allow},
		{[]string{"allow bash(> out.txt)"}, "ls > other.txt", Ask},
		{[]string{"allow bash('a b' c)"}, "'a b' c", Allow},
		{[]string{"allow bash('a b' c)"}, "a b c", Ask},
		{[]string{"allow bash(=rm -rf build; $x)"}, "rm -rf build; $x", Allow},
		{[]string{"allow bash(=rm -rf build)"}, "rm -rf build ", Ask},
		{[]string{"allow bash(*)"}, "make; npm test", Allow},
		{[]string{"allow bash(*)"}, "$x", Ask},
		{[]string{"allow bash(*)", "deny bash(rm *)"}, "make; rm x", Deny},
		{[]string{"allow bash(*)", "deny bash(rm *)"}, "sudo /bin/rm x", Deny},
		{[]string{"allow bash(*)", "deny bash(rm *)"}, "xargs rm < list", Deny},
		{[]string{"allow bash(*)", "deny bash(rm *)"}, "sh -c 'nohup rm x'", Deny},
		{[]string{"allow bash(*)", "deny bash(rm *)"}, "find . -exec rm {} +", Deny},
		{[]string{"allow bash(*)", "deny bash(rm *)"}, "docker run x rm y", Deny},
		{[]string{"allow bash(*)", "deny bash(git push *)"}, "git -C x push", Deny},
		{[]string{"allow bash(*)", "deny bash(git push *)"}, "git --no-pager push origin", Deny},
		{[]string{"allow bash(*)", "deny bash(git push *)"}, "git $sub", Ask},
		// No part of the command needs a rule, so the profile decides.
		{[]string{"allow bash(*)", "deny bash(git push *)"}, "git log", Ask},
		{[]string{"allow bash(*)", "deny bash(git push *)"}, "A=1 git push", Deny},
		{[]string{"allow bash(*)", "deny bash(git push *)"}, "f() { git push; }; f", Deny},
		{[]string{"allow bash(*)", "deny bash(git push *)"}, "echo $(git push)", Deny},
		{[]string{"allow bash(*)", "ask bash(git push*)"}, "git push origin main", Ask},
		{[]string{"allow bash(*)", "ask bash(git push*)", "deny bash(*--force*)"},
			"git push --force", Ask},
		{[]string{"allow bash(*)", "ask bash(git push*)", "deny bash(git push * --force *)"},
			"git push a --force", Deny},
	} {
		rules, errs := ParseRules("rules", tc.rules)
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		if got := judgeCommand(rules, tc.script, Classify(tc.script)); got.action != tc.want {
			t.Errorf("%q under %q: %v, want %v", tc.script, tc.rules, got.action, tc.want)
		}
	}
}

func TestARuleThatDoesNotParseIsNamedWithItsPlace(t *testing.T) {
	for _, tc := range []struct{ rule, want string }{
		{"", `rules[1] (""), column 1: a rule begins with`},
		{"permit bash(x)", "column 1: a rule begins with"},
		{"allow", `column 6: a tool's name and "("`},
		{"allow bash", `column 7: a tool's name and "("`},
		{"allow (x)", `column 7: a tool's name and "("`},
		{"allow bash(x", `column 13: the closing ")" is missing`},
		{"allow bash()", "column 12: the pattern is empty"},
		{"allow ba sh(x)", "column 9: a tool's name has no spaces"},
		{"allow bash(a 'b)", "column 14: the quote is not closed"},
		{"allow bash('a*')", "column 12: a quoted word cannot contain *"},
		{"deny edit(a[)", "column 11: the pattern is not a valid glob"},
	} {
		rules, errs := ParseRules("rules", []string{"allow bash(x)", tc.rule})
		if len(rules) != 1 || len(errs) != 1 || !strings.Contains(errs[0].Error(), tc.want) {
			t.Errorf("%q: got %v, want an error with %q", tc.rule, errs, tc.want)
		}
	}
}

func TestPropose(t *testing.T) {
	for _, tc := range []struct {
		script, want string
		whole        bool
	}{
		{"go test ./...", "go test *", false},
		{"npm run build -- --x", "npm run build *", false},
		{"git commit -m 'a b'", "git commit *", false},
		{"mkdir -p a", "mkdir *", false},
		{"./configure --prefix=/x", "./configure --prefix=/x", false},
		{"python3 -c 'print( 1)'", "python3 -c 'print( 1)'", false},
		{"curl https://example.org", "curl https://example.org", false},
		{"go build ./... && go test ./... | tail", "go build *|go test *", false},
		{"docker run alpine sh", "docker run alpine sh", false},
		{"ls > out.txt", "> out.txt", false},
		{"rm -rf build", "=rm -rf build", true},
		{"touch $x", "touch *", false},
		{"unknown $x", "=unknown $x", true},
		{"$x", "=$x", true},
		{"A=1 make", "=A=1 make", true},
		{"git -c a=b log", "=git -c a=b log", true},
	} {
		c := Classify(tc.script)
		got, whole := Propose(tc.script, c)
		if strings.Join(got, "|") != tc.want || whole != tc.whole {
			t.Errorf("%q: proposed %q (whole %v), want %q (%v)", tc.script, got, whole, tc.want,
				tc.whole)
		}
		rules := Grant{Tool: "bash", Patterns: got}.rules()
		if len(rules) != len(got) {
			t.Errorf("%q: the proposal %q does not parse", tc.script, got)
		} else if judgeCommand(rules, tc.script, c).action != Allow {
			t.Errorf("%q: its own proposal %q does not allow it", tc.script, got)
		}
	}
}

// TestProposalsOfTheTableAllowTheirCommand checks that the patterns proposed for an "always" answer
// allow the command, so that the user is not asked about it again.
func TestProposalsOfTheTableAllowTheirCommand(t *testing.T) {
	for _, line := range lines(t, "commands.txt") {
		_, script, _ := strings.Cut(line, " | ")
		script = unquote(script)
		c := Classify(script)
		if c.Class == ReadOnly {
			continue
		}
		patterns, _ := Propose(script, c)
		if judgeCommand(Grant{Tool: "bash", Patterns: patterns}.rules(), script,
			c).action != Allow {
			t.Errorf("%q is not allowed by its own proposal %q", script, patterns)
		}
	}
}

// wrapped are ways to hide a command inside another one. %s stands for the hidden command.
var wrapped = []string{"%s", "ls; %s", "ls && %s", "ls | %s", "%s & ls", "ls\n%s", "(%s)",
	"{ %s; }", "echo $(%s)", "echo `%s`", "echo \"$(%s)\"", "cat <(%s)", "x=$(%s)",
	"if ls; then %s; fi", "while ls; do %s; done", "for f in $(%s); do ls; done",
	"case a in a) %s;; esac", "f() { %s; }; f", "! %s", "time %s", "nohup %s", "env %s",
	"env A=1 %s",
	"timeout 5 %s", "nice -n 3 %s", "command %s", "exec %s", "xargs %s", "sh -c '%s'",
	"bash -c \"%s\"", "eval '%s'", "eval %s", "trap '%s' EXIT", "find . -exec %s \\;",
	"find . -name a -execdir %s +",
	"sudo %s", "stdbuf -o0 %s", "setsid %s", "cat <<EOF\n$(%s)\nEOF", "[[ -n $(%s) ]]",
	"echo ${x:-$(%s)}", "ls > $(%s)", "coproc %s", "a=1 %s", "PATH=. %s", "watch %s", "parallel %s"}

var plainCommand = regexp.MustCompile(`^[a-z]+( [a-zA-Z0-9./_-]+)*$`)

// FuzzWrappedDenied checks that a command that contains a denied one is never read-only and never
// allowed.
func FuzzWrappedDenied(f *testing.F) {
	for i := range wrapped {
		f.Add("touch x", byte(i), byte(i*7), byte(i*3))
	}
	for _, line := range lines(f, "slips.txt") {
		f.Add(unquote(line), byte(len(line)), byte(0), byte(1))
	}
	allow, _ := ParseRules("rules", []string{"allow bash(*)", "deny bash(touch *)"})
	f.Fuzz(func(t *testing.T, inner string, a, b, c byte) {
		Classify(inner) // must not panic for any input
		if !plainCommand.MatchString(inner) {
			inner = "touch x"
		}
		name, _, _ := strings.Cut(inner, " ")
		if readOnly()[name] != nil || wrappers()[name] != nil || len(inner) > 200 {
			inner = "touch x"
		}
		inner = "touch " + strings.TrimPrefix(inner, "touch ")
		script := inner
		for _, i := range []byte{a, b, c} {
			w := wrapped[int(i)%len(wrapped)]
			if strings.Contains(w, "'%s'") && strings.ContainsAny(script, "'\n") ||
				strings.Contains(w, `"%s"`) && strings.ContainsAny(script, "\"`$\n\\") ||
				strings.Contains(script, "<<") || strings.ContainsAny(script, "`") &&
				strings.Contains(w, "`") {
				continue // otherwise the quotes would end too early and form another command
			}
			if wordsOnly(w) && !plainCommand.MatchString(script) {
				continue // this wrapper accepts only a simple command
			}
			script = strings.Replace(w, "%s", script, 1)
		}
		got := Classify(script)
		if got.Class == ReadOnly {
			t.Fatalf("%q is read_only", script)
		}
		if v := judgeCommand(allow, script, got); v.action == Allow {
			t.Fatalf("%q is allowed", script)
		}
	})
}

// wordsOnly reports whether the wrapper accepts only a simple command, and not a list of commands.
func wordsOnly(w string) bool {
	return strings.HasSuffix(w, " %s") && !strings.ContainsAny(w, ";|&\n") ||
		strings.HasPrefix(w, "find")
}

// Some file systems ignore case, so rules that deny or ask ignore it too. Rules that allow do not.
func TestDenyRulesIgnoreCase(t *testing.T) {
	for rule, want := range map[string]bool{
		"deny read(**/secrets/**)": true, "ask edit(=src/a.go)": true, "allow read(secrets/**)": false,
	} {
		r, err := ParseRule(rule)
		if err != nil {
			t.Fatal(err)
		}
		path := "/w/Secrets/a"
		if r.exact != "" {
			path = "/w/SRC/A.go"
		}
		if got := r.matchPath(path, []string{"/w"}); got != want {
			t.Errorf("%s: %v", rule, got)
		}
	}
}
