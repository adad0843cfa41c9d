package tools

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
)

// maxOptions limits the number of options of a question.
const maxOptions = 20

// Question is a question to the user.
type Question struct {
	Text    string
	Options []Option
	Multi   bool // several options may be chosen
}

// Option is an answer to choose from. The user may always answer in their own words instead.
type Option struct {
	Label       string `json:"label,omitempty"`
	Description string `json:"description,omitempty"`
}

// Answer is the user's answer.
type Answer struct {
	Text     string
	Declined bool
}

type askArgs struct {
	Question string   `json:"question"`
	Options  []Option `json:"options,omitempty"`
	Multi    bool     `json:"multi,omitempty" jsonschema:"several options may be chosen"`
}

// UnmarshalMapstructure accepts a bare string as an option.
func (o *Option) UnmarshalMapstructure(v any) error {
	if label, ok := v.(string); ok {
		o.Label = label
		return nil
	}
	type plain Option
	return tool.Assign(v, (*plain)(o))
}

func (e *sessionEnv) askTool() tool.Tool {
	return newTool(definition[askArgs]{
		spec: tool.Spec{
			Name: "ask_user", Label: "Ask", Effect: tool.Mutates, Deferred: true,
			Aliases: []string{"ask", "ask_question", "ask_followup_question",
				"askuserquestion", "request_user_input"},
			BareItems: map[string]string{"options": "label"},
			ParamAliases: map[string]string{"text": "question", "prompt": "question",
				"message": "question", "choices": "options", "follow_up": "options",
				"multi_select": "multi", "multiple": "multi"},
		},
		prepare: func(_ *tool.Call, a askArgs) tool.Prepared {
			return tool.Prepared{
				Label: "Ask: " + oneLine(a.Question, 80),
				Run:   bind(e.ask, a),
			}
		},
	})
}

func (e *sessionEnv) ask(ctx context.Context, call *tool.Call, a askArgs) (*tool.Result, error) {
	q := Question{Text: strings.TrimSpace(a.Question), Multi: a.Multi && len(a.Options) > 0}
	if q.Text == "" {
		return nil, errors.New("the question is empty")
	}
	if len(a.Options) > maxOptions {
		return nil, fmt.Errorf("there are %d options; at most %d can be shown", len(a.Options),
			maxOptions)
	}
	for i, o := range a.Options {
		if strings.TrimSpace(o.Label) == "" {
			return nil, fmt.Errorf("option %d has no label", i+1)
		}
		q.Options = append(q.Options, o)
	}
	wait, cancel := call.WaitContext(ctx)
	defer cancel()
	answer, err := e.Ask(wait, call, q)
	var steer *tool.SteerError
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.As(context.Cause(wait), &steer):
		return text("The user did not answer the question but sent a message, which follows."), nil
	case err != nil:
		return nil, fmt.Errorf("asking the user: %w", err)
	case answer.Declined:
		return text("The user declined to answer. Continue with your best judgment and say what you assumed, or stop if you cannot."), nil
	case strings.TrimSpace(answer.Text) == "":
		return text("The user gave an empty answer. Continue with your best judgment and say what you assumed."), nil
	}
	return text("The user answered: %s", answer.Text), nil
}
