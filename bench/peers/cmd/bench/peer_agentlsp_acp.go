package main

import (
	"fmt"
	"os"
)

// newAgentLSPACP returns agent-lsp over ACP, controlled in the same way as opencode and gemini.
func newAgentLSPACP() *acp {
	return &acp{name: "agentlsp-acp",
		find: func(p *acp, e *Env) (Info, error) {
			p.bin = os.Getenv("AGENTLSP_BIN")
			if p.bin == "" || fileSize(p.bin) == 0 {
				return Info{}, fmt.Errorf("no agent-lsp binary (AGENTLSP_BIN=%q)", p.bin)
			}
			return Info{Version: "local build", Protocol: "agent-lsp acp, JSON-RPC lines (ACP)",
				WireAPI: "chat", SizeBytes: fileSize(p.bin), Binary: fileSize(p.bin)}, nil
		},
		launch: func(p *acp, e *Env, home string) (Launch, error) {
			// This is the same Config as in lspInitOptions, in the user's file.
			config := `{"model":"mock-model","provider":{"baseUrl":"` + e.BaseURL +
				`/v1","api":"chat"},"editPolicy":"auto","permissions":{"profile":"trust"},"sandbox":"off","context":{"window":4000000}}`
			if err := writeFile(home+"/config/agent-lsp/config.json", config); err != nil {
				return Launch{}, err
			}
			return Launch{Args: []string{p.bin, "acp"},
				Env: e.vars(home, append(lspEnv(e), "XDG_CONFIG_HOME="+home+"/config")...)}, nil
		},
	}
}
