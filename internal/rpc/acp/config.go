package acp

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/agent-lsp/agent-lsp/internal/config"

	"github.com/coder/acp-go-sdk"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/agent-lsp/agent-lsp/internal/rpc/agentapi"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
)

// unset is the option value that leaves the choice to the settings or the provider.
const unset = "default"

// The IDs of the configuration options.
const (
	optionMode        = "mode"
	optionModel       = "model"
	optionThinking    = "thinking"
	optionEditPolicy  = "editPolicy"
	optionPermissions = "permissions"
)

// choice is one value of an option.
type choice struct{ value, name, description string }

var thinkingChoices = []choice{
	{unset, "Default", "The provider's default"}, {"off", "Off", ""}, {"minimal", "Minimal", ""},
	{"low", "Low", ""}, {"medium", "Medium", ""}, {"high", "High", ""}, {"xhigh", "Extra high", ""},
}

// editChoices omits the policy confirm, because only editors with their own preview support it.
var editChoices = []choice{
	{"ask", "Ask", "You decide on each hunk before it is applied"},
	{"review", "Review", "Edits are applied immediately; you keep or undo them at the end"},
	{"collect", "Collect", "Edits are collected for you to decide at the end of the turn"},
	{"auto", "Auto", "Edits are applied without asking, except edits of protected files"},
}

var permissionChoices = []choice{
	{"readOnly", "Read only", "No edits, and only read-only commands"},
	{"ask", "Ask", "All commands except read-only ones need your permission"},
	{"workspace", "Workspace", "Commands run in the sandbox without asking"},
	{"trust", "Trust", "Commands and MCP tools run; leaving the sandbox and new hosts need your permission"},
}

// configured stores the effective settings.
func (s *session) configured(raw json.RawMessage) {
	var c config.Config
	if len(raw) == 0 || json.Unmarshal(raw, &c) != nil {
		return
	}
	s.mu.Lock()
	s.config = c
	s.mu.Unlock()
}

// described adds the modes and options to a result.
func (s *session) described(result map[string]any) any {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.offer(s.core.offered(&s.config).known())
	options := encode(s.configOptions())
	s.options = string(options)
	result["modes"], result["configOptions"] = s.modes(), jsontext.Value(options)
	return result
}

// tellOptions notifies the client of options that changed for a reason other than the client's own
// request.
func (s *session) tellOptions() {
	s.mu.Lock()
	options, modes := s.configOptions(), s.modes()
	now := string(encode(options))
	same := now == s.options
	s.options = now
	s.mu.Unlock()
	if same {
		return
	}
	s.update(acp.SessionUpdate{
		ConfigOptionUpdate: &acp.SessionConfigOptionUpdate{ConfigOptions: options},
	})
	s.update(acp.SessionUpdate{
		CurrentModeUpdate: &acp.SessionCurrentModeUpdate{CurrentModeId: modes.CurrentModeId},
	})
}

// modeChoices returns the built-in modes and the modes from the settings.
func (s *session) modeChoices() []choice {
	out := []choice{{"default", "Default", "Follows the settings"},
		{"plan", "Plan", "Reads and plans; makes no changes until you approve the plan"}}
	for _, name := range slices.Sorted(maps.Keys(s.config.Modes)) {
		if name != "default" && name != "plan" {
			out = append(out, choice{name, name, s.config.Modes[name].Description})
		}
	}
	return out
}

func (s *session) modes() *acp.SessionModeState {
	out := &acp.SessionModeState{CurrentModeId: acp.SessionModeId(cmp.Or(s.config.Mode,
		"default"))}
	for _, c := range s.modeChoices() {
		out.AvailableModes = append(out.AvailableModes,
			acp.SessionMode{Id: acp.SessionModeId(c.value), Name: c.name,
				Description: optional(c.description)})
	}
	return out
}

// modelChoices returns the provider's models and the current model.
func (s *session) modelChoices() []choice {
	out := []choice{{unset, "Default", "The model in the settings, or the provider's first model"}}
	for _, id := range append([]string{s.config.Model}, s.models...) {
		if id != "" && !slices.ContainsFunc(out, func(c choice) bool { return c.value == id }) {
			out = append(out, choice{id, id, ""})
		}
	}
	return out
}

// configOptions returns all options with their current values. The caller must hold mu.
func (s *session) configOptions() []acp.SessionConfigOption {
	profile := "ask"
	if s.config.Permissions != nil {
		profile = cmp.Or(s.config.Permissions.Profile, profile)
	}
	return []acp.SessionConfigOption{
		option(optionMode, "Mode", "mode", cmp.Or(s.config.Mode, "default"), s.modeChoices()),
		option(optionModel, "Model", "model", cmp.Or(s.config.Model, unset), s.modelChoices()),
		option(optionThinking, "Thinking", "thought_level", cmp.Or(s.config.Thinking, unset),
			thinkingChoices),
		option(optionEditPolicy, "Edits", "_edits", cmp.Or(s.config.EditPolicy, "ask"),
			editChoices),
		option(optionPermissions, "Permissions", "_permissions", profile, permissionChoices),
	}
}

func option(id, name, category, current string, choices []choice) acp.SessionConfigOption {
	list := make(acp.SessionConfigSelectOptionsUngrouped, 0, len(choices)+1)
	known := false
	for _, c := range choices {
		known = known || c.value == current
		list = append(list, acp.SessionConfigSelectOption{Value: acp.SessionConfigValueId(c.value),
			Name: c.name, Description: optional(c.description)})
	}
	if !known {
		list = append(list, acp.SessionConfigSelectOption{Value: acp.SessionConfigValueId(current),
			Name: current})
	}
	o := acp.NewSessionConfigOptionSelect(acp.SessionConfigValueId(current),
		acp.SessionConfigSelectOptions{Ungrouped: &list})
	o.Select.Id, o.Select.Name, o.Select.Category = acp.SessionConfigId(id), name,
		acp.Ptr(acp.SessionConfigOptionCategory(category))
	return o
}

func (a *adapter) setMode(ctx context.Context, p *acp.SetSessionModeRequest) (any, error) {
	s, err := a.session(string(p.SessionId))
	if err != nil {
		return nil, err
	}
	if err := s.set(ctx, optionMode, string(p.ModeId)); err != nil {
		return nil, err
	}
	s.tellOptions()
	return struct{}{}, nil
}

func (a *adapter) setConfigOption(ctx context.Context,
	p *acp.SetSessionConfigOptionRequest) (any, error) {
	if p.ValueId == nil {
		return nil, fail(codeInvalidParams, "value: must be the id of one of the option's values")
	}
	s, err := a.session(string(p.ValueId.SessionId))
	if err != nil {
		return nil, err
	}
	if err := s.set(ctx, string(p.ValueId.ConfigId), string(p.ValueId.Value)); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	options := s.configOptions()
	s.options = string(encode(options))
	return acp.SetSessionConfigOptionResponse{ConfigOptions: options}, nil
}

// set changes one option in the session's settings. It takes effect with the next model call.
func (s *session) set(ctx context.Context, id, value string) error {
	if err := s.checkOption(id, value); err != nil {
		return err
	}
	var v any = value
	switch {
	case id == optionPermissions:
		v = map[string]any{"profile": value}
	case value == unset && id != optionMode:
		v = nil
	}
	return s.configure(ctx, map[string]any{id: v})
}

// checkOption rejects values that were not offered to the client.
func (s *session) checkOption(id, value string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.configOptions() {
		if string(o.Select.Id) != id {
			continue
		}
		for _, v := range *o.Select.Options.Ungrouped {
			if string(v.Value) == value {
				return nil
			}
		}
		return fail(codeInvalidParams, "value: %q is not a value of the option %s", value, id)
	}
	return fail(codeInvalidParams, "configId: there is no option %q", id)
}

func (s *session) configure(ctx context.Context, changes map[string]any) error {
	params := wire.SessionConfigureParams{SessionID: s.id, Config: encode(changes)}
	res, err := askInOrder(ctx, s.core, agentapi.Sessions.Configure, params, nil)
	if err != nil {
		return err
	}
	s.configured(res.Config)
	return nil
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
