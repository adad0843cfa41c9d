package rpc

import (
	"encoding/json"

	"github.com/agent-lsp/agent-lsp/internal/rpc/conn"
)

// settingsSection is agent-lsp's section in an editor's settings.
const settingsSection = "agentLsp"

// initialized asks a plain client for its settings and for notifications of changes to them.
func (s *server) initialized([]byte) error {
	if s.link.Client.Claimed || s.core == nil {
		return nil
	}
	if s.link.Client.Registers {
		s.link.Go("registering", s.register)
	}
	if s.link.Client.Configures {
		s.link.Go("reading the client's settings", s.pullSettings)
	}
	return nil
}

func (s *server) register() {
	registration := map[string]any{
		"id": "agent-lsp/settings", "method": conn.MethodDidConfigure,
		"registerOptions": map[string]any{"section": settingsSection},
	}
	params := map[string]any{"registrations": []any{registration}}
	if err := s.link.Ask(s.link.Context(), conn.MethodRegister, params, nil); err != nil {
		s.link.Logger.Info(
			"the client rejected a registration",
			"method",
			conn.MethodDidConfigure,
			"error",
			err,
		)
	}
}

// pullSettings requests the client's settings and applies them.
func (s *server) pullSettings() {
	var sections []json.RawMessage
	params := map[string]any{"items": []any{map[string]any{"section": settingsSection}}}
	if err := s.link.Ask(s.link.Context(), conn.MethodConfiguration, params,
		&sections); err != nil ||
		len(sections) == 0 {
		return
	}
	if conn.ObjectFrom(sections[0]) != nil {
		s.configured(sections[0])
	}
}

// didChangeConfiguration applies the agentLsp section of the settings that the client pushed. If
// the client pushed no such section, the server requests it, provided that the client supports
// workspace/configuration.
func (s *server) didChangeConfiguration(raw []byte) error {
	section := conn.ObjectFrom(raw).Object("settings")[settingsSection]
	if section.Kind() == '{' {
		s.configured(json.RawMessage(append([]byte(nil), section...)))
		return nil
	}
	if !s.link.Client.Configures {
		return nil
	}
	s.link.Go("reading the client's settings", s.pullSettings)
	return nil
}

func (s *server) configured(section json.RawMessage) {
	notices, err := s.core.Settings.ClientChanged(section)
	if err != nil {
		notices = append(notices, "settings: "+err.Error())
	}
	for _, n := range notices {
		s.link.Message(conn.MessageWarning, n)
	}
	s.api.Host().Reconfigured()
}
