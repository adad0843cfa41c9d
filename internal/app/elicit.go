package app

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/host"
	"github.com/agent-lsp/agent-lsp/internal/tools/mcp"
)

const (
	// acceptLabel is the answer that accepts a request from an MCP server.
	acceptLabel = "Accept"
	// skipLabel is the answer that skips an optional field.
	skipLabel = "Skip"
	// maxAsked is the maximum number of times that the user is asked for a field if the answers are
	// invalid.
	maxAsked = 3
)

// elicited asks one question for each property of the schema. If the schema has no properties, it
// only asks the user to confirm.
func elicited(
	ctx context.Context,
	q mcp.Elicitation,
	session string,
	ask questioner,
) (string, map[string]any) {
	var s struct {
		Properties map[string]property
		Required   []string
	}
	b, err := json.Marshal(q.Schema)
	if err != nil || json.Unmarshal(b, &s) != nil {
		return "decline", nil
	}
	if len(s.Properties) == 0 {
		return agreed(ctx, q, session, ask), map[string]any{}
	}
	out := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		f := field{
			property: s.Properties[name],
			name:     name,
			required: slices.Contains(s.Required, name),
		}
		value, given, action := f.ask(ctx, q, session, ask)
		if action != "accept" {
			return action, nil
		}
		if given {
			out[name] = value
		}
	}
	return "accept", out
}

func agreed(
	ctx context.Context,
	q mcp.Elicitation,
	session string,
	ask questioner,
) (action string) {
	yes := host.Question{
		SessionID: session,
		Text:      fmt.Sprintf("%s asks: %s", q.Server, q.Message),
		Options:   []host.Option{{Label: acceptLabel}, {Label: "Decline"}},
	}
	switch res, err := ask(ctx, yes); {
	case err != nil:
		return "cancel"
	case res.Declined || res.Text != acceptLabel:
		return "decline"
	}
	return "accept"
}

// property is one property of an elicitation's schema: a primitive value or a list of choices.
type property struct {
	Type, Title, Description string
	Default                  any
	Minimum, Maximum         *float64
	Enum, EnumNames          []string
	OneOf                    []titled
	Items                    *struct {
		Enum  []string
		AnyOf []titled
	}
}

// titled is a choice with a separate title.
type titled struct{ Const, Title string }

// choices returns the possible values, with the text that the user sees for each.
func (p property) choices() []titled {
	values, names, list := p.Enum, p.EnumNames, p.OneOf
	if p.Items != nil {
		values, list = p.Items.Enum, p.Items.AnyOf
	}
	if p.Type == "boolean" {
		values = []string{"true", "false"}
	}
	out := slices.Clone(list)
	for i, v := range values {
		c := titled{Const: v, Title: v}
		if len(names) == len(values) {
			c.Title = names[i]
		}
		out = append(out, c)
	}
	for i := range out {
		out[i].Title = firstOf(out[i].Title, out[i].Const)
	}
	return out
}

// field is a property whose value the user is asked for.
type field struct {
	property
	name     string
	required bool
}

// ask repeats the question until an answer is valid, but at most maxAsked times. given is false if
// the user skipped an optional field.
func (f field) ask(
	ctx context.Context,
	q mcp.Elicitation,
	session string,
	ask questioner,
) (value any, given bool, action string) {
	problem := ""
	for range maxAsked {
		text := fmt.Sprintf("%s asks: %s (%s)", q.Server, q.Message, f.describe())
		if problem != "" {
			text += "\n" + problem
		}
		res, err := ask(
			ctx,
			host.Question{
				SessionID: session,
				Text:      text,
				Options:   f.options(),
				Multi:     f.Type == "array",
			},
		)
		switch {
		case err != nil:
			return nil, false, "cancel"
		case res.Declined:
			return nil, false, "decline"
		}
		answer := strings.TrimSpace(res.Text)
		switch {
		case answer == "" && f.Default != nil:
			return f.Default, true, "accept"
		case (answer == "" || answer == skipLabel) && !f.required:
			return nil, false, "accept"
		}
		if value, problem = f.read(answer); problem == "" {
			return value, true, "accept"
		}
	}
	return nil, false, "decline"
}

// describe returns the field's name, purpose and default, and whether it is optional.
func (f field) describe() string {
	parts := []string{firstOf(f.Title, f.Description, f.name)}
	if f.Title != "" && f.Description != "" {
		parts = append(parts, f.Description)
	}
	if f.Default != nil {
		parts = append(parts, "default: "+f.shown(f.Default))
	}
	if !f.required {
		parts = append(parts, "optional")
	}
	return strings.Join(parts, "; ")
}

// shown returns a value as the user sees it.
func (f field) shown(v any) string {
	if list, ok := v.([]any); ok {
		var names []string
		for _, item := range list {
			names = append(names, f.shown(item))
		}
		return strings.Join(names, ", ")
	}
	text := fmt.Sprint(v)
	for _, c := range f.choices() {
		if c.Const == text {
			return c.Title
		}
	}
	return text
}

func (f field) options() []host.Option {
	var out []host.Option
	for _, c := range f.choices() {
		o := host.Option{Label: c.Title}
		if f.Default != nil && f.shown(f.Default) == c.Title {
			o.Description = "default"
		}
		out = append(out, o)
	}
	if len(out) > 0 && !f.required && f.Default == nil {
		out = append(out, host.Option{Label: skipLabel, Description: "skip this field"})
	}
	return out
}

// read parses an answer as the type that the schema requires. problem is a message for the user.
func (f field) read(answer string) (value any, problem string) {
	switch f.Type {
	case "integer", "number":
		return f.readNumber(answer)
	case "array":
		return f.readList(answer)
	}
	choices := f.choices()
	if len(choices) == 0 {
		return answer, ""
	}
	v, ok := pickChoice(choices, answer)
	if !ok {
		return nil, fmt.Sprintf("%q is not one of the choices.", answer)
	}
	if f.Type == "boolean" {
		return v == "true", ""
	}
	return v, ""
}

func (f field) readNumber(answer string) (value any, problem string) {
	n, err := strconv.ParseFloat(answer, 64)
	switch {
	case err != nil || math.IsInf(n, 0) || math.IsNaN(n):
		return nil, fmt.Sprintf("%q is not a number.", answer)
	case f.Type == "integer" && n != math.Trunc(n):
		return nil, fmt.Sprintf("%q is not a whole number.", answer)
	case f.Minimum != nil && n < *f.Minimum:
		return nil, fmt.Sprintf("It must be at least %v.", *f.Minimum)
	case f.Maximum != nil && n > *f.Maximum:
		return nil, fmt.Sprintf("It must be at most %v.", *f.Maximum)
	}
	return n, ""
}

// readList parses several choices: a JSON array, or labels separated by commas.
func (f field) readList(answer string) (value any, problem string) {
	var labels []string
	if json.Unmarshal([]byte(answer), &labels) != nil {
		labels = strings.Split(answer, ",")
	}
	out := []string{}
	for _, l := range labels {
		l = strings.TrimSpace(l)
		v, ok := pickChoice(f.choices(), l)
		if !ok && len(f.choices()) > 0 {
			return nil, fmt.Sprintf("%q is not one of the choices.", l)
		}
		out = append(out, firstOf(v, l))
	}
	return out, ""
}

// pickChoice returns the value for the title or value that the user entered.
func pickChoice(choices []titled, answer string) (string, bool) {
	for _, same := range []func(a, b string) bool{func(a, b string) bool { return a == b },
		strings.EqualFold} {
		for _, c := range choices {
			if same(c.Title, answer) || same(c.Const, answer) {
				return c.Const, true
			}
		}
	}
	return "", false
}
