package shell

import (
	"os"
	"strings"
	"testing"
)

// generator derives commands from bytes. A command is an attacker's goal, expressed with random
// options and quoting and put behind random wrappers. The same bytes always produce the same
// command.
type generator struct {
	*grammar
	data []byte
	at   int
}

// pick returns a number less than n. If no bytes remain, it returns 0.
func (g *generator) pick(n int) int {
	if g.at >= len(g.data) {
		return 0
	}
	b := g.data[g.at]
	g.at++
	return int(b) % n
}

func (g *generator) of(list []string) string { return list[g.pick(len(list))] }

// grammar is the content of testdata/attacks/grammar.txt.
type grammar struct {
	targets, secrets, files, writers, connecters, wrappers []string
	readers                                                []reader
}

// reader is a program that normally only reads, but has options that do more.
type reader struct {
	name    string
	options []string
}

func readGrammar(t testing.TB) *grammar {
	data, err := os.ReadFile("../../../testdata/attacks/grammar.txt")
	if err != nil {
		t.Fatal(err)
	}
	g := &grammar{}
	lists := map[string]*[]string{
		"target": &g.targets, "secret": &g.secrets, "file": &g.files,
		"writer": &g.writers, "connecter": &g.connecters, "wrapper": &g.wrappers,
	}
	escapes := strings.NewReplacer(`\\`, `\`, `\n`, "\n")
	for i, line := range strings.Split(string(data), "\n") {
		word, rest, _ := strings.Cut(line, " ")
		rest = escapes.Replace(rest)
		switch list := lists[word]; {
		case list != nil:
			*list = append(*list, rest)
		case word == "reader":
			g.readers = append(g.readers, reader{name: rest})
		case word == "option":
			last := &g.readers[len(g.readers)-1]
			last.options = append(last.options, rest)
		case word != "" && word != "#":
			t.Fatalf("grammar.txt:%d: %q is not a valid line", i+1, line)
		}
	}
	return g
}

// command generates one command with up to three parts.
func (g *generator) command() string {
	parts := []string{g.wrapped(g.pick(4))}
	for len(parts) < 3 && g.pick(3) == 1 {
		parts = append(parts, g.wrapped(g.pick(3)))
	}
	return strings.Join(parts, g.of([]string{"; ", " && ", " || ", " | ", "\n"}))
}

// wrapped puts wrappers in front of a plain command.
func (g *generator) wrapped(depth int) string {
	text := g.plain()
	for range depth {
		w := g.of(g.wrappers)
		w = strings.ReplaceAll(w, "SCRIPT", shellQuoted(text))
		text = strings.ReplaceAll(w, "CMD", text)
	}
	return text
}

// plain generates a command without wrappers. Half of these commands look read-only.
func (g *generator) plain() string {
	switch g.pick(8) {
	case 0, 1:
		writer := g.of(g.writers)
		return g.quoted(strings.ReplaceAll(writer, "TARGET", g.of(g.targets)))
	case 2:
		return g.of(g.connecters)
	case 3:
		return g.quoted(g.readers[g.pick(len(g.readers))].name + " " + g.of(g.secrets))
	}
	program := g.readers[g.pick(len(g.readers))]
	words := []string{program.name}
	for range g.pick(3) {
		words = append(words, g.of(program.options))
	}
	for range g.pick(3) {
		switch g.pick(5) {
		case 0:
			words = append(words, g.of(g.secrets))
		case 1:
			words = append(words, g.of(g.targets))
		default:
			words = append(words, g.of(g.files))
		}
	}
	return g.quoted(strings.Join(words, " "))
}

// quoted spells one word of a command differently without changing its meaning.
func (g *generator) quoted(command string) string {
	if strings.ContainsAny(command, "'\"\\$`") {
		return command
	}
	words := strings.Split(command, " ")
	i := g.pick(len(words))
	w := words[i]
	if len(w) < 2 || strings.ContainsAny(w, "<>*[~|&") {
		return command
	}
	switch g.pick(9) {
	case 1:
		words[i] = "'" + w + "'"
	case 2:
		words[i] = `"` + w + `"`
	case 3:
		words[i] = w[:1] + `\` + w[1:]
	case 4:
		words[i] = w[:1] + "''" + w[1:]
	case 5:
		words[i] = "$'" + w + "'"
	case 6:
		words[i] = "${unset:-" + w + "}"
	case 7:
		words[i] = "$v"
		return "v=" + w + "; " + strings.Join(words, " ")
	case 8:
		words[i] = "{" + w + ",}"
	}
	return strings.Join(words, " ")
}

func shellQuoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
