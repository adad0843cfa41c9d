package policy

import "strings"

// certainty describes how certain it is that a rule matches a command that contains unknown words.
type certainty int

const (
	no certainty = iota
	maybe
	yes
)

// allows reports whether an allow rule certainly covers a complete part.
func (r *Rule) allows(p Part) bool {
	if r.exact != "" || len(p.Words) == 0 {
		return false
	}
	words := append(append([]string(nil), p.Assigns...), p.Words...)
	dynamic := append(make([]bool, len(p.Assigns)), p.Dynamic...)
	return matchWords(r.tokens, words, dynamic) && (p.Class < Dangerous || r.spellsDanger())
}

// spellsDanger reports whether a rule spells out the dangerous form of its program. A * never
// matches a dangerous form.
func (r *Rule) spellsDanger() bool {
	var args []arg
	for _, t := range r.tokens {
		if !t.glob {
			args = append(args, arg{text: t.text})
		}
	}
	return len(args) > 0 && !r.tokens[0].glob &&
		dangerous(commandName(args[0].text), args[1:]) != ""
}

// matchWords matches a pattern with words. A lone * matches any number of words. A last token that
// ends in * matches a word with that prefix and any words after it. Every other token matches one
// word. A word that the shell expands matches only a lone *.
func matchWords(tokens []token, words []string, dynamic []bool) bool {
	return matchTokens(tokens, len(words),
		func(t token, i int) bool { return !dynamic[i] && t.fits(words[i]) })
}

// matchTokens matches a pattern with n words in time proportional to the product of their lengths.
// It backtracks to the last lone * only, because an earlier * never has to match more words.
func matchTokens(tokens []token, n int, fits func(t token, word int) bool) bool {
	t, w := 0, 0
	star, from := -1, 0 // the last lone *, and the first word after the text that it covers
	for {
		switch {
		case t < len(tokens) && tokens[t].star():
			star, from = t, w
			t++
			continue
		case t == len(tokens) && w == n:
			return true
		case t < len(tokens) && w < n && fits(tokens[t], w):
			if t == len(tokens)-1 && tokens[t].open() {
				return true
			}
			t, w = t+1, w+1
			continue
		}
		if star < 0 || from >= n {
			return false
		}
		from++
		t, w = star+1, from
	}
}

// open reports whether the token, at the end of a pattern, matches any number of words after the
// first word that it matches.
func (t token) open() bool { return t.glob && strings.HasSuffix(t.text, "*") }

// fits matches one word. A glob does not match a path with ".." that could leave the pattern's
// folder.
func (t token) fits(word string) bool {
	if !t.glob {
		return t.text == word
	}
	return wildcard(t.text, word) &&
		(!strings.Contains(word, "..") || strings.Contains(t.text, ".."))
}

// hits returns the certainty that a deny or ask rule matches a part in any of its forms.
func (r *Rule) hits(p Part) certainty {
	best := no
	for i, words := range append([][]string{p.Words}, p.Forms...) {
		dynamic := make([]bool, len(words))
		if from := len(p.Dynamic) - len(words); from >= 0 {
			// Except for the forms of git and the plain name, forms are suffixes of the command
			// line.
			copy(dynamic, p.Dynamic[from:])
		}
		if i > 0 && len(words) > 0 {
			dynamic[0] = false
		}
		best = max(best, r.hitsWords(words, dynamic))
	}
	return best
}

// hitsWords matches words that may be expansions. An expansion may produce any words, so words
// after an expansion never rule out a match.
func (r *Rule) hitsWords(words []string, dynamic []bool) certainty {
	if r.exact != "" {
		return no
	}
	if denyWords(r.tokens, words) {
		return yes
	}
	for i, d := range dynamic {
		if d && mayBegin(r.tokens, words[:i]) {
			return maybe
		}
	}
	return no
}

// denyWords is matchWords for deny and ask rules. A glob also matches paths that contain "..", and
// a word that the shell expands is compared as written.
func denyWords(tokens []token, words []string) bool {
	return matchTokens(tokens, len(words),
		func(t token, i int) bool { return wildcard(t.text, words[i]) })
}

// mayBegin reports whether the pattern could match if more words followed the given ones.
func mayBegin(tokens []token, words []string) bool {
	for i, w := range words {
		if i >= len(tokens) {
			return false
		}
		if tokens[i].star() {
			return true
		}
		if !wildcard(tokens[i].text, w) {
			return false
		}
	}
	return true
}

// commandVerdict is the rules' decision about a command. Deny and ask rules take precedence, and
// each part must be allowed separately.
type commandVerdict struct {
	action  Action
	decided bool // whether a rule decided
	reason  string
	used    []int // indexes of the allow rules that covered the parts
}

func judgeCommand(rules []Rule, script string, c Classification) commandVerdict {
	v := commandVerdict{action: Allow}
	held := false
	for _, r := range rules {
		if r.Action == Allow {
			continue
		}
		held = true
		sure := no
		if r.exact != "" && r.exact == script {
			sure = yes
		}
		for _, p := range c.Parts {
			sure = max(sure, r.hits(p))
		}
		switch {
		case sure == yes && r.Action > v.action:
			v = commandVerdict{action: r.Action, decided: true, reason: "the rule " + r.String() +
				" says so"}
		case sure == maybe && v.action < Ask:
			v = commandVerdict{action: Ask, decided: true, reason: "the rule " +
				r.String() + " may apply to it"}
		}
	}
	if v.action != Allow {
		return v
	}
	if i := exactRule(rules, script); i >= 0 {
		return commandVerdict{action: Allow, decided: true, used: []int{i}}
	}
	if c.Opaque {
		if held {
			return commandVerdict{action: Ask, decided: true,
				reason: "the programs that it runs are not known, and some rules could apply to them"}
		}
		return commandVerdict{action: Ask}
	}
	return allowedByParts(rules, c)
}

func exactRule(rules []Rule, script string) int {
	for i, r := range rules {
		if r.Action == Allow && r.exact != "" && r.exact == script {
			return i
		}
	}
	return -1
}

// allowedByParts checks the parts separately. Every part that does more than read needs a rule that
// allows it.
func allowedByParts(rules []Rule, c Classification) commandVerdict {
	v := commandVerdict{action: Allow}
	for _, p := range c.Parts {
		if p.Wrapper || p.Class == ReadOnly {
			continue
		}
		i := coveringRule(rules, p)
		if i < 0 {
			return commandVerdict{action: Ask}
		}
		v.used, v.decided = append(v.used, i), true
	}
	if !v.decided {
		v.action = Ask // no part needed a rule, so the profile decides
	}
	return v
}

func coveringRule(rules []Rule, p Part) int {
	for i := range rules {
		if rules[i].Action == Allow && rules[i].allows(p) {
			return i
		}
	}
	return -1
}
