package subagent

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"
)

// ParseAgent parses an agent's definition in Markdown. The definition begins with front matter
// between lines of three dashes (name, description, model, thinking, tools, profile,
// maxModelCalls). The instructions follow. name is the default name of the agent.
func ParseAgent(name string, data []byte) (Agent, error) {
	data = bytes.ReplaceAll(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), []byte("\r\n"),
		[]byte("\n"))
	head, body, ok := frontMatter(data)
	if !ok {
		return Agent{}, errors.New("it does not begin with front matter (--- … ---)")
	}
	var meta struct {
		Name        string
		Description string
		Model       string
		Thinking    string
		Tools       toolList
		Profile     string
		MaxCalls    int `yaml:"maxModelCalls"`
	}
	if err := yaml.Unmarshal(head, &meta); err != nil {
		return Agent{}, fmt.Errorf("reading its front matter: %w", err)
	}
	if meta.Name == "" {
		meta.Name = name
	}
	if meta.Description == "" {
		return Agent{}, errors.New("its front matter has no description, so the model would not know when to call it")
	}
	return Agent{Name: meta.Name, Description: strings.Join(strings.Fields(meta.Description), " "),
		Prompt: strings.TrimSpace(string(body)),
		Model:  meta.Model, Thinking: meta.Thinking, Tools: meta.Tools, Profile: meta.Profile,
		MaxCalls: meta.MaxCalls}, nil
}

func frontMatter(data []byte) (head, body []byte, ok bool) {
	rest, found := bytes.CutPrefix(data, []byte("---\n"))
	if !found {
		return nil, nil, false
	}
	head, body, found = bytes.Cut(append([]byte("\n"), rest...), []byte("\n---\n"))
	return head, body, found
}

// toolList is a YAML list, or a string of words, which other coding agents use.
type toolList []string

// UnmarshalYAML accepts both forms.
func (l *toolList) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		*l = strings.FieldsFunc(n.Value, func(r rune) bool { return r == ',' || r == ' ' })
		return nil
	}
	return n.Decode((*[]string)(l))
}
