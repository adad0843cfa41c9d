package project

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"gopkg.in/yaml.v3"

	"github.com/agent-lsp/agent-lsp/internal/clip"
	"github.com/agent-lsp/agent-lsp/internal/lazyregexp"
)

// Command is a prompt template. A prompt that begins with /name uses the template.
type Command struct {
	Name        string
	Description string
	Hint        string // a description of the arguments
	Source      string // workspace or user
	Template    string
}

// frontMatter contains the fields that a command file may have at its beginning, between two lines
// of three dashes.
type frontMatter struct {
	Description  string `yaml:"description"`
	Hint         string `yaml:"hint"`
	ArgumentHint string `yaml:"argument-hint"`
}

var validName = lazyregexp.New(`^[\p{L}\p{N}][\p{L}\p{N}._-]*$`)

// Commands returns the commands, sorted by name. A project's command replaces the user's command
// with the same name.
func (p *Project) Commands() (commands []Command, notices []string) {
	files, notices := p.folderFiles("commands")
	byName := map[string]Command{}
	for _, f := range files {
		c, err := parseCommand(f)
		if err != nil {
			notices = append(notices, fmt.Sprintf("command %s: %v", f.Path, err))
			continue
		}
		c.Source = "user"
		if strings.HasPrefix(f.Path, folder+"/") {
			c.Source = "workspace"
		}
		byName[c.Name] = c
	}
	for _, c := range byName {
		commands = append(commands, c)
	}
	slices.SortFunc(commands, func(a, b Command) int { return strings.Compare(a.Name, b.Name) })
	return commands, notices
}

func parseCommand(f File) (Command, error) {
	base := path.Base(strings.ReplaceAll(f.Path, `\`, "/"))
	c := Command{Name: strings.TrimSuffix(base, ".md"), Template: f.Text}
	if !validName().MatchString(c.Name) {
		return Command{}, fmt.Errorf("a name may have only letters, digits, dots, - and _")
	}
	if rest, ok := strings.CutPrefix(f.Text, "---\n"); ok {
		head, body, closed := strings.Cut("\n"+rest, "\n---\n")
		if !closed {
			head, closed = strings.CutSuffix("\n"+rest, "\n---")
		}
		if !closed {
			return Command{}, fmt.Errorf("its front matter is not closed by ---")
		}
		var m frontMatter
		if err := yaml.Unmarshal([]byte(head), &m); err != nil {
			return Command{}, fmt.Errorf("reading its front matter: %w", err)
		}
		c.Description, c.Hint, c.Template = m.Description, m.Hint, body
		if c.Hint == "" {
			c.Hint = m.ArgumentHint
		}
	}
	c.Template = strings.TrimSpace(c.Template)
	if c.Template == "" {
		return Command{}, fmt.Errorf("it is empty")
	}
	if c.Description == "" {
		line, _, _ := strings.Cut(c.Template, "\n")
		c.Description = clip.Runes(strings.TrimSpace(strings.TrimLeft(line, "# ")), maxDescription)
	}
	return c, nil
}

// maxDescription is the maximum length, in runes, of a description that comes from a template's
// first line.
const maxDescription = 80

// Expand expands a prompt that begins with the /name of a command into the text for the model. ok
// is false if the prompt does not name a command.
func (p *Project) Expand(prompt string) (expanded string, ok bool) {
	rest, isCommand := strings.CutPrefix(strings.TrimLeftFunc(prompt, unicode.IsSpace), "/")
	if !isCommand {
		return "", false
	}
	end := strings.IndexFunc(rest, unicode.IsSpace)
	if end < 0 {
		end = len(rest)
	}
	commands, _ := p.Commands()
	for _, c := range commands {
		if c.Name == rest[:end] {
			return c.Fill(strings.TrimSpace(rest[end:])), true
		}
	}
	return "", false
}

var placeholder = lazyregexp.New(`\$ARGUMENTS\b|\$[1-9]\b`)

// Fill inserts arguments into the template. $ARGUMENTS stands for all arguments as written. $1 to
// $9 are single arguments; quotes group several words into one. If the template has no placeholder,
// the arguments are appended.
func (c Command) Fill(arguments string) string {
	if !placeholder().MatchString(c.Template) {
		if arguments == "" {
			return c.Template
		}
		return c.Template + "\n\n" + arguments
	}
	words := splitWords(arguments)
	return placeholder().ReplaceAllStringFunc(c.Template, func(p string) string {
		if p == "$ARGUMENTS" {
			return arguments
		}
		if n, err := strconv.Atoi(p[1:]); err == nil && n <= len(words) {
			return words[n-1]
		}
		return ""
	})
}

// splitWords splits arguments at white space outside of quotes.
func splitWords(s string) []string {
	var words []string
	var word strings.Builder
	quote, in := rune(0), false
	for _, r := range s {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\'') && !in:
			quote, in = r, true
		case quote == 0 && unicode.IsSpace(r):
			if in {
				words = append(words, word.String())
				word.Reset()
			}
			in = false
		default:
			word.WriteRune(r)
			in = true
		}
	}
	if in {
		words = append(words, word.String())
	}
	return words
}
