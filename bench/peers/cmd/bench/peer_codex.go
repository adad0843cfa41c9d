package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"time"
)

// codex is codex app-server, which sends lines of JSON-RPC 2.0 without the field "jsonrpc".
type codex struct{ bin string }

func (*codex) Name() string { return "codex" }

func (p *codex) Find(e *Env) (Info, error) {
	root := filepath.Join(e.PeersDir, "codex")
	p.bin = glob1(root + "/node_modules/@openai/codex-linux-*/vendor/*/bin/codex")
	if p.bin == "" {
		return Info{}, fmt.Errorf("no codex under %s", root)
	}
	return Info{Version: packageVersion(root + "/node_modules/@openai/codex"),
		Protocol: "codex app-server, JSON lines", WireAPI: "responses",
		SizeBytes: diskUse(root + "/node_modules"), Binary: fileSize(p.bin)}, nil
}

// sandboxes implements sandboxer.
func (*codex) sandboxes() bool { return true }

func (p *codex) Prepare(e *Env, home string) (Launch, error) {
	mode := "danger-full-access"
	if e.Sandboxed {
		mode = "workspace-write"
	}
	err := writeFile(home+"/.codex/config.toml", `model = "mock-model"
model_provider = "mock"
model_context_window = 1000000
approval_policy = "never"
sandbox_mode = "`+mode+`"
check_for_update_on_startup = false
web_search = "disabled"
[analytics]
enabled = false
[feedback]
enabled = false
[model_providers.mock]
name = "mock"
base_url = "`+e.BaseURL+`/v1"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
`)
	return Launch{Args: []string{p.bin, "app-server"},
		Env: e.vars(home, "CODEX_HOME="+home+"/.codex")}, err
}

func (p *codex) Init(c *Conn) error {
	_, err := c.Call("initialize",
		map[string]any{"clientInfo": map[string]any{"name": "peerbench", "title": nil,
			"version": "0"}, "capabilities": nil}, 30*time.Second, nil)
	if err == nil {
		_, err = c.Send(map[string]any{"method": "initialized"})
	}
	return err
}

func (p *codex) Session(c *Conn, e *Env) error {
	r, err := c.Call("thread/start", map[string]any{"cwd": e.WS}, 30*time.Second, nil)
	if err != nil {
		return err
	}
	var res struct {
		Thread struct {
			ID string `json:"id"`
		} `json:"thread"`
	}
	json.Unmarshal(r, &res)
	c.session = res.Thread.ID
	return nil
}

func (p *codex) Prompt(c *Conn, text string) (int64, error) {
	c.nextID++
	c.pending, c.turn = c.nextID, ""
	return c.Send(map[string]any{"id": c.nextID, "method": "turn/start",
		"params": map[string]any{"threadId": c.session,
			"input": []any{map[string]any{"type": "text", "text": text,
				"text_elements": []any{}}}}})
}

func (p *codex) Abort(c *Conn) (int64, error) {
	c.nextID++
	return c.Send(map[string]any{"id": c.nextID, "method": "turn/interrupt",
		"params": map[string]any{"threadId": c.session, "turnId": c.turn}})
}

func (p *codex) Read(c *Conn, m Msg) Event {
	if bytes.HasPrefix(m.Data, []byte(`{"method":"item/agentMessage/delta"`)) {
		return Event{evDelta, textField(m.Data, `"delta":"`)}
	}
	var r rpcMsg
	if json.Unmarshal(m.Data, &r) != nil {
		return Event{}
	}
	switch {
	case r.Method == "turn/started":
		c.turn = textField(r.Params, `"turn":{"id":"`)
	case r.Method == "turn/completed":
		if bytes.Contains(r.Params, []byte(`"status":"failed"`)) {
			return Event{evFail, clip(r.Params)}
		}
		return Event{Kind: evDone}
	case r.Method != "" && r.ID != nil:
		c.Send(map[string]any{"id": r.ID, "result": map[string]any{"decision": "accept"}})
	case string(r.ID) == strconv.Itoa(c.pending) && r.Error != nil:
		return Event{evFail, r.Error.Message}
	}
	return Event{}
}

func clip(b []byte) string {
	if len(b) > 400 {
		b = b[:400]
	}
	return string(b)
}
