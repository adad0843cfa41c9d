package policy

import "strings"

// certainty is how a rule fits a command of which not every word is known.
type certainty int

const (
	no certainty = iota
	maybe
	yes
)

// allows reports whether an allow rule surely covers the whole of a part.
func (r *Rule) allows(p Part) bool {
	if r.exact != "" || len(p.Words) == 0 {
		return false
	}
	words := append(append([]string(nil), p.Assigns...), p.Words...)
	dynamic := append(make([]bool, len(p.Assigns)), p.Dynamic...)
	return matchWords(r.tokens, words, dynamic) && (p.Class < Dangerous || r.spellsDanger())
}

// spellsDanger reports whether a rule names the dangerous form of its program in words of its own:
// a * never stands for one.
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

// matchWords: a lone * stands for any words; a last token that ends in * for what begins so,
// with any words behind it; other tokens for one word. A word that expands fits a lone * only.
func matchWords(tokens []token, words []string, dynamic []bool) bool {
	return matchTokens(tokens, len(words),
		func(t token, i int) bool { return !dynamic[i] && t.fits(words[i]) })
}

// matchTokens matches a pattern with n words in time proportional to the product of their
// lengths. It goes back to the last lone * only: what an earlier one covers never has to grow.
func matchTokens(tokens []token, n int, fits func(t token, word int) bool) bool {
	t, w := 0, 0
	star, from := -1, 0 // the last lone *, and the first word behind what it covers
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

// open reports whether the token, as the last one, allows any words behind its own.
func (t token) open() bool { return t.glob && strings.HasSuffix(t.text, "*") }

// fits matches one word. A glob does not let a path climb out of where it seems to lie.
func (t token) fits(word string) bool {
	if !t.glob {
		return t.text == word
	}
	return wildcard(t.text, word) &&
		(!strings.Contains(word, "..") || strings.Contains(t.text, ".."))
}

// hits is how a deny or ask rule fits a part, in any of its readings.
func (r *Rule) hits(p Part) certainty {
	best := no
	for i, words := range append([][]string{p.Words}, p.Forms...) {
		dynamic := make([]bool, len(words))
		if from := len(p.Dynamic) - len(words); from >= 0 {
			// forms are ends of the line, but for git's and the name
			copy(dynamic, p.Dynamic[from:])
		}
		if i > 0 && len(words) > 0 {
			dynamic[0] = false
		}
		best = max(best, r.hitsWords(words, dynamic))
	}
	return best
}

// hitsWords matches words that may be expansions. An expansion may become any words, so the words
// after one never yield a definite no.
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

// denyWords is matchWords for rules that hold back: globs are not limited, expansions are
// taken as they are written.
func denyWords(tokens []token, words []string) bool {
	return matchTokens(tokens, len(words),
		func(t token, i int) bool { return wildcard(t.text, words[i]) })
}

// mayBegin reports whether some words behind these could make the pattern fit.
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

// commandVerdict is what the rules decide about a command. Deny and ask rules win, and each part
// must be allowed separately. unruled names the first part that no rule covers.
type commandVerdict struct {
	action  Action
	decided bool // a rule decided
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
			v = commandVerdict{action: Ask, decided: true, reason: "it may be what the rule " +
				r.String() + " is about"}
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
				reason: "what it runs cannot be known, and there are rules that could be about it"}
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

// allowedByParts: every part that does more than read needs a rule of its own.
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
		v.action = Ask // nothing in it needed a rule: the profile decides
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
