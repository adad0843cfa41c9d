package rpctest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Script commands for plain LSP clients. They are named after the actions of users with a command
// palette, a menu of code actions or a code lens.
func init() {
	commands["command"] = cmdCommand
	commands["action"] = cmdAction
	commands["lens"] = cmdLens
	commands["at"] = cmdAt
}

// command NAME [argument] sends workspace/executeCommand and waits for its response.
func cmdCommand(r *runner, rest string) error {
	name, arg, _ := strings.Cut(rest, " ")
	params := map[string]any{"command": name}
	if arg = strings.TrimSpace(arg); arg != "" {
		if !json.Valid([]byte(arg)) {
			return fmt.Errorf("the argument is not JSON: %s", arg)
		}
		params["arguments"] = []any{json.RawMessage(arg)}
	}
	if err := r.call("workspace/executeCommand", params); err != nil {
		return err
	}
	if r.answer.Error == nil && name == "agent.prompt" {
		return r.keepIDs()
	}
	return nil
}

// lspCommand is a command, either on its own or in a code action or code lens.
type lspCommand struct {
	Title     string            `json:"title"`
	Command   json.RawMessage   `json:"command"`
	Arguments []json.RawMessage `json:"arguments"`
}

// inner returns the command to execute, which is either the command itself or the command that it
// contains.
func (c lspCommand) inner() (lspCommand, string) {
	var name string
	if json.Unmarshal(c.Command, &name) == nil {
		return c, name
	}
	var in lspCommand
	_ = json.Unmarshal(c.Command, &in)
	_ = json.Unmarshal(in.Command, &name)
	return in, name
}

func (r *runner) execute(c lspCommand) error {
	in, name := c.inner()
	params := map[string]any{"command": name}
	if len(in.Arguments) > 0 {
		params["arguments"] = in.Arguments
	}
	if err := r.call("workspace/executeCommand", params); err != nil {
		return err
	}
	if r.answer.Error == nil && name == "agent.prompt" {
		return r.keepIDs()
	}
	return nil
}

// at FILE L:C-L:C requests the code actions for a range, as editors do when the cursor moves.
func cmdAt(r *runner, rest string) error {
	_, err := r.actionsAt(rest)
	return err
}

func (r *runner) actionsAt(rest string) ([]lspCommand, error) {
	file, where, _ := strings.Cut(rest, " ")
	span, err := r.parseRange(r.uri(file), strings.TrimSpace(where))
	if err != nil {
		return nil, err
	}
	params := map[string]any{"textDocument": map[string]any{"uri": r.uri(file)}, "range": span,
		"context": map[string]any{"diagnostics": []any{}}}
	return r.titled("textDocument/codeAction", params)
}

func (r *runner) titled(method string, params any) ([]lspCommand, error) {
	if err := r.call(method, params); err != nil {
		return nil, err
	}
	if r.answer.Error != nil {
		return nil, r.answer.Error
	}
	var out []lspCommand
	return out, json.Unmarshal(r.answer.Result, &out)
}

// action "REGEXP" FILE L:C-L:C runs the code action whose title matches.
func cmdAction(r *runner, rest string) error {
	title, rest, err := quotedFirst(rest)
	if err != nil {
		return err
	}
	actions, err := r.actionsAt(rest)
	if err != nil {
		return err
	}
	return r.choose(title, actions)
}

// lens "REGEXP" FILE N runs the N-th (counted from 0) code lens whose title matches.
func cmdLens(r *runner, rest string) error {
	title, rest, err := quotedFirst(rest)
	if err != nil {
		return err
	}
	file, n, _ := strings.Cut(rest, " ")
	lenses, err := r.titled("textDocument/codeLens",
		map[string]any{"textDocument": map[string]any{"uri": r.uri(file)}})
	if err != nil {
		return err
	}
	skip, _ := strconv.Atoi(strings.TrimSpace(n))
	for i, l := range lenses {
		in, _ := l.inner()
		if ok, _ := regexp.MatchString(title, in.Title); ok {
			if skip--; skip < 0 {
				return r.execute(lenses[i])
			}
		}
	}
	return fmt.Errorf("no code lens %q in %s", title, r.answer.Result)
}

func (r *runner) choose(title string, actions []lspCommand) error {
	for _, a := range actions {
		if ok, _ := regexp.MatchString(title, a.Title); ok {
			return r.execute(a)
		}
	}
	return fmt.Errorf("no code action %q in %s", title, r.answer.Result)
}

func quotedFirst(rest string) (text, after string, err error) {
	quoted, err := strconv.QuotedPrefix(rest)
	if err != nil {
		return "", "", fmt.Errorf("the first argument must be a quoted title: %s", rest)
	}
	text, err = strconv.Unquote(quoted)
	return text, strings.TrimSpace(strings.TrimPrefix(rest, quoted)), err
}
