package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// acp is an agent that speaks the Agent Client Protocol over stdio. Examples are opencode acp and
// gemini --acp.
type acp struct {
	name   string
	find   func(p *acp, e *Env) (Info, error)
	launch func(p *acp, e *Env, home string) (Launch, error)
	auth   string // method of the authenticate request, which is sent before session/new
	bin    string
	node   string
}

func (p *acp) Name() string                                { return p.name }
func (p *acp) Find(e *Env) (Info, error)                   { return p.find(p, e) }
func (p *acp) Prepare(e *Env, home string) (Launch, error) { return p.launch(p, e, home) }

func (p *acp) Init(c *Conn) error {
	_, err := c.Call("initialize", map[string]any{"protocolVersion": 1,
		"clientCapabilities": map[string]any{"fs": map[string]any{"readTextFile": false,
			"writeTextFile": false}, "terminal": false},
		"clientInfo": map[string]any{"name": "peerbench", "version": "0"}}, 60*time.Second,
		nil)
	return err
}

func (p *acp) Session(c *Conn, e *Env) error {
	if p.auth != "" {
		if _, err := c.Call("authenticate", map[string]any{"methodId": p.auth}, 30*time.Second,
			nil); err != nil {
			return err
		}
	}
	r, err := c.Call("session/new", map[string]any{"cwd": e.WS, "mcpServers": []any{}},
		60*time.Second, nil)
	if err != nil {
		return err
	}
	var res struct {
		SessionID string `json:"sessionId"`
	}
	json.Unmarshal(r, &res)
	c.session = res.SessionID
	return nil
}

func (p *acp) Prompt(c *Conn, text string) (int64, error) {
	c.nextID++
	c.pending = c.nextID
	return c.Send(map[string]any{"jsonrpc": "2.0", "id": c.nextID, "method": "session/prompt",
		"params": map[string]any{"sessionId": c.session,
			"prompt": []any{map[string]any{"type": "text", "text": text}}}})
}

func (p *acp) Abort(c *Conn) (int64, error) {
	return c.Send(map[string]any{"jsonrpc": "2.0", "method": "session/cancel",
		"params": map[string]any{"sessionId": c.session}})
}

func (p *acp) Read(c *Conn, m Msg) Event {
	if bytes.Contains(m.Data, []byte(`"sessionUpdate":"agent_message_chunk"`)) {
		return Event{evDelta, textField(m.Data, `"text":"`)}
	}
	var r rpcMsg
	if json.Unmarshal(m.Data, &r) != nil {
		return Event{}
	}
	switch {
	case r.Method == "session/request_permission":
		var q struct {
			Options []struct {
				OptionID string `json:"optionId"`
				Kind     string `json:"kind"`
			} `json:"options"`
		}
		json.Unmarshal(r.Params, &q)
		pick := ""
		for _, o := range q.Options {
			if strings.HasPrefix(o.Kind, "allow") {
				pick = o.OptionID
			}
		}
		c.Send(map[string]any{"jsonrpc": "2.0", "id": r.ID,
			"result": map[string]any{"outcome": map[string]any{"outcome": "selected",
				"optionId": pick}}})
	case r.Method == "" && string(r.ID) == strconv.Itoa(c.pending):
		if r.Error != nil {
			return Event{evFail, r.Error.Message}
		}
		return Event{Kind: evDone}
	}
	return Event{}
}

func newOpencode() Peer {
	return acpAnthropic{&acp{name: "opencode",
		find: func(p *acp, e *Env) (Info, error) {
			root := filepath.Join(e.PeersDir, "opencode")
			p.bin = glob1(root+"/node_modules/opencode-linux-x64/bin/opencode", root+
				"/node_modules/opencode-linux-*/bin/opencode")
			if p.bin == "" {
				return Info{}, fmt.Errorf("no opencode under %s", root)
			}
			return Info{Version: packageVersion(filepath.Dir(filepath.Dir(p.bin))),
				Protocol: "opencode acp, JSON-RPC lines (ACP)", WireAPI: "chat",
				SizeBytes: fileSize(p.bin), Binary: fileSize(p.bin),
				Note: "size is that of the one binary; npm also installs a second (baseline) build of it"}, nil
		},
		launch: func(p *acp, e *Env, home string) (Launch, error) {
			adapter := "@ai-sdk/openai-compatible"
			if e.Anthropic {
				adapter = "@ai-sdk/anthropic"
			}
			err := writeFile(
				home+"/config/opencode/opencode.json",
				`{"provider":{"mock":{"npm":"`+adapter+`","name":"Mock",
"options":{"baseURL":"`+e.BaseURL+`/v1","apiKey":"none"},"models":{"`+e.model()+`":{"name":"Mock",
"tool_call":true,"limit":{"context":1000000,"output":32000}}}}},
"model":"mock/`+e.model()+`","small_model":"mock/`+e.model()+`","enabled_providers":["mock"],
"autoupdate":false,"share":"disabled","permission":"allow","lsp":false,"formatter":false}`,
			)
			return Launch{Args: []string{p.bin, "acp"},
				Env: e.vars(home, "OPENCODE_DISABLE_AUTOUPDATE=1",
					"OPENCODE_DISABLE_MODELS_FETCH=1",
					"OPENCODE_DISABLE_LSP_DOWNLOAD=1", "OPENCODE_DISABLE_DEFAULT_PLUGINS=1",
					"OPENCODE_DISABLE_SHARE=1")}, err
		}}}
}

func newGemini() Peer {
	return &acp{name: "gemini", auth: "gemini-api-key",
		find: func(p *acp, e *Env) (Info, error) {
			root := filepath.Join(e.PeersDir, "gemini")
			dir := root + "/node_modules/@google/gemini-cli"
			b, err := os.ReadFile(dir + "/package.json")
			if err != nil {
				return Info{}, fmt.Errorf("no gemini under %s", root)
			}
			var pk struct {
				Bin map[string]string `json:"bin"`
			}
			json.Unmarshal(b, &pk)
			p.bin, p.node = filepath.Join(dir, pk.Bin["gemini"]), e.Node
			rt := fileSize(p.node)
			return Info{Version: packageVersion(dir),
				Protocol: "gemini --acp, JSON-RPC lines (ACP)", WireAPI: "gemini",
				SizeBytes: diskUse(root+"/node_modules") + rt, Runtime: rt,
				Note: "speaks the Gemini API only; run by " + nodeVersion(p.node)}, nil
		},
		launch: func(p *acp, e *Env, home string) (Launch, error) {
			err := writeFile(home+"/.gemini/settings.json", `{"general":{"disableAutoUpdate":true,
"disableUpdateNag":true,"enableAutoUpdate":false,"enableAutoUpdateNotification":false},
"privacy":{"usageStatisticsEnabled":false},"telemetry":{"enabled":false},
"model":{"name":"gemini-2.5-flash","disableLoopDetection":true},
"security":{"auth":{"selectedType":"gemini-api-key"},"folderTrust":{"enabled":false}}}`)
			return Launch{Args: []string{p.node, p.bin, "--acp", "--approval-mode", "yolo"},
				Env: e.vars(home, "GEMINI_API_KEY=none", "GOOGLE_GEMINI_BASE_URL="+e.BaseURL,
					"GEMINI_CLI_NO_RELAUNCH=true", "GEMINI_TELEMETRY_ENABLED=false")}, err
		}}
}
