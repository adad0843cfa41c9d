package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"

	"gopkg.in/yaml.v3"
)

// rule is one file of styles/AgentLSP, interpreted as in Vale. All alternatives form one
// expression, so a word is reported once.
type rule struct {
	message string
	re      *regexp.Regexp
	instead []string // the replacement for each group of re; nil for a list of phrases
}

// ruleFile is the part of Vale's format that the rules use. Any other key is an error, because
// otherwise strings and prose would be checked against different rules.
type ruleFile struct {
	Extends    string            `yaml:"extends"`
	Message    string            `yaml:"message"`
	Level      string            `yaml:"level"`
	IgnoreCase bool              `yaml:"ignorecase"`
	NonWord    bool              `yaml:"nonword"`
	Swap       map[string]string `yaml:"swap"`
	Tokens     []string          `yaml:"tokens"`
}

func loadRules(dir string) (rules []rule, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.yml"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("no rules in %s: %w", dir, err)
	}
	sort.Strings(files)
	for _, file := range files {
		r, err := loadRule(file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		rules = append(rules, r)
	}
	return rules, nil
}

func loadRule(file string) (r rule, err error) {
	f, err := os.Open(file)
	if err != nil {
		return r, err
	}
	defer f.Close()
	var y ruleFile
	d := yaml.NewDecoder(f)
	d.KnownFields(true)
	if err := d.Decode(&y); err != nil {
		return r, err
	}
	keys := y.Tokens
	if y.Extends == "substitution" {
		keys, r.instead = split(y.Swap)
	}
	r.message = y.Message
	r.re, err = regexp.Compile(expression(keys, y.IgnoreCase, y.NonWord))
	return r, err
}

// split returns the keys and values of swap, longest key first.
func split(swap map[string]string) (keys, values []string) {
	for k := range swap {
		keys = append(keys, k)
	}
	// Longer keys come first, so that a part of a match is not reported again.
	sort.Slice(keys, func(i, j int) bool {
		if len(keys[i]) != len(keys[j]) {
			return len(keys[i]) > len(keys[j])
		}
		return keys[i] < keys[j]
	})
	for _, k := range keys {
		values = append(values, swap[k])
	}
	return keys, values
}

func expression(keys []string, ignoreCase, nonWord bool) string {
	e := "(" + strings.Join(keys, ")|(") + ")"
	if !nonWord {
		e = `\b(?:` + e + `)\b`
	}
	if ignoreCase {
		e = "(?i)" + e
	}
	return e
}

// check returns one message for each match in text.
func (r rule) check(text string) (found []match) {
	for _, m := range r.re.FindAllStringSubmatchIndex(text, -1) {
		word := text[m[0]:m[1]]
		msg := fmt.Sprintf(r.message, word)
		for i, instead := range r.instead {
			if m[2*i+2] >= 0 {
				msg = fmt.Sprintf(r.message, instead, word)
			}
		}
		found = append(found, match{offset: m[0], message: msg})
	}
	return found
}

type match struct {
	offset  int
	message string
}
