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

// Everything that the benchmark assumes about agent-lsp's protocol and command
// line is in this file. Adjust here when the daemon differs. It follows
// shared/protocol.md, version 1. LSP framing (Content-Length) on stdio:
//
//	-> initialize {..., initializationOptions: Config}   <- result
//	-> initialized {}
//	-> agent/session/new {cwd}                           <- {sessionId}
//	-> agent/prompt {sessionId, prompt}                  <- answered on acceptance
//	<- agent/delta {kind:"text", text}                   notifications
//	<- agent/turn/completed {turnId, turn}               ends the turn
//	-> agent/abort {sessionId}                           <- answered at once
//
// The answer to agent/prompt is NOT the end of the turn. For a daemon where it
// is, set lspTurnEnd to "". bench refuses a turn that is said to be over before
// the model server was, so that a wrong choice here shows as an error.
const (
	lspSessionNew = "agent/session/new" // "" when there is none
	lspPrompt     = "agent/prompt"
	lspAbort      = "agent/abort"
	lspDelta      = "agent/delta"
	lspDeltaKind  = `"kind":"text"` // only these deltas are text of the answer; "" for all
	lspDeltaKey   = `"text":"`      // the text inside the notification
	lspTurnEnd    = "agent/turn/completed"
)

// lspInitOptions is the daemon's Config: which model server to use, and nothing to ask about.
func lspInitOptions(e *Env) any {
	return map[string]any{"model": "mock-model", "provider": map[string]any{"baseUrl": e.BaseURL + "/v1", "api": "chat"},
		"editPolicy": "auto", "permissions": map[string]any{"profile": "trust"}, "sandbox": "off", "context": map[string]any{"window": 4000000}}
}

// lspEnv says the same by environment.
func lspEnv(e *Env) []string {
	return []string{"OPENAI_BASE_URL=" + e.BaseURL + "/v1", "OPENAI_API_KEY=none", "OPENAI_MODEL=mock-model"}
}

// lspArgs is the daemon's command line; AGENTLSP_ARGS (split at blanks) replaces it.
func lspArgs(bin string) []string {
	if a := os.Getenv("AGENTLSP_ARGS"); a != "" {
		return append([]string{bin}, strings.Fields(a)...)
	}
	return []string{bin}
}

type agentlsp struct {
	name, bin string
	env       *Env
}

func (p *agentlsp) Name() string { return p.name }

func (p *agentlsp) Find(e *Env) (Info, error) {
	p.env = e
	if p.name == "agentlsp" {
		p.bin = os.Getenv("AGENTLSP_BIN")
	} else {
		p.bin = filepath.Join(e.Work, "bin", p.name)
	}
	if p.bin == "" || fileSize(p.bin) == 0 {
		return Info{}, fmt.Errorf("no %s binary (AGENTLSP_BIN=%q)", p.name, p.bin)
	}
	info := Info{Version: "local build", Protocol: "LSP framing, JSON-RPC", WireAPI: "chat", SizeBytes: fileSize(p.bin), Binary: fileSize(p.bin)}
	if p.name == "refdaemon" {
		info.Note = "not an agent: a minimal Go daemon of this harness, the floor for the protocol"
	}
	return info, nil
}

func (p *agentlsp) Prepare(e *Env, home string) (Launch, error) {
	args := []string{p.bin}
	if p.name == "agentlsp" {
		args = lspArgs(p.bin)
	}
	return Launch{Args: args, Env: e.vars(home, lspEnv(e)...), LSP: true}, os.MkdirAll(home, 0o755)
}

// answer agrees to any request of the daemon.
func (p *agentlsp) answer(c *Conn, r *rpcMsg) {
	var result any
	switch r.Method {
	case "agent/requestPermission":
		var q struct {
			Options []struct{ OptionID, Kind string } `json:"options"`
		}
		json.Unmarshal(r.Params, &q)
		for _, o := range q.Options {
			if strings.HasPrefix(o.Kind, "allow") {
				result = map[string]any{"optionId": o.OptionID}
			}
		}
	case "workspace/applyEdit":
		result = map[string]any{"applied": true}
	case "workspace/configuration":
		var q struct{ Items []any }
		json.Unmarshal(r.Params, &q)
		result = make([]any, len(q.Items))
	case "agent/ask":
		result = map[string]any{"declined": true}
	}
	c.Send(map[string]any{"jsonrpc": "2.0", "id": r.ID, "result": result})
}

func (p *agentlsp) Init(c *Conn) error {
	uri := "file://" + p.env.WS
	_, err := c.Call("initialize", map[string]any{"processId": os.Getpid(), "rootUri": uri,
		"workspaceFolders": []any{map[string]any{"uri": uri, "name": "ws"}}, "capabilities": map[string]any{},
		"clientInfo": map[string]any{"name": "peerbench", "version": "0"}, "initializationOptions": lspInitOptions(p.env)},
		30*time.Second, func(r *rpcMsg) { p.answer(c, r) })
	if err == nil {
		_, err = c.Send(map[string]any{"jsonrpc": "2.0", "method": "initialized", "params": map[string]any{}})
	}
	return err
}

func (p *agentlsp) Session(c *Conn, e *Env) error {
	if lspSessionNew == "" {
		return nil
	}
	r, err := c.Call(lspSessionNew, map[string]any{"cwd": e.WS}, 30*time.Second, func(r *rpcMsg) { p.answer(c, r) })
	if err != nil {
		return err
	}
	var res struct {
		SessionID string `json:"sessionId"`
	}
	if err := json.Unmarshal(r, &res); err != nil || res.SessionID == "" {
		return fmt.Errorf("%s: no sessionId in %s", lspSessionNew, clip(r))
	}
	c.session = res.SessionID
	return nil
}

func (p *agentlsp) Prompt(c *Conn, text string) (int64, error) {
	c.nextID++
	c.pending = c.nextID
	return c.Send(map[string]any{"jsonrpc": "2.0", "id": c.nextID, "method": lspPrompt, "params": map[string]any{"sessionId": c.session, "prompt": text}})
}

func (p *agentlsp) Abort(c *Conn) (int64, error) {
	c.nextID++
	return c.Send(map[string]any{"jsonrpc": "2.0", "id": c.nextID, "method": lspAbort, "params": map[string]any{"sessionId": c.session}})
}

var (
	lspDeltaMark = []byte(`"method":"` + lspDelta + `"`)
	lspKindMark  = []byte(lspDeltaKind)
)

func (p *agentlsp) Read(c *Conn, m Msg) Event {
	if bytes.Contains(m.Data, lspDeltaMark) {
		if lspDeltaKind != "" && !bytes.Contains(m.Data, lspKindMark) {
			return Event{}
		}
		return Event{evDelta, textField(m.Data, lspDeltaKey)}
	}
	var r rpcMsg
	if json.Unmarshal(m.Data, &r) != nil {
		return Event{}
	}
	switch {
	case r.Method != "" && r.Method == lspTurnEnd:
		if bytes.Contains(r.Params, []byte(`"status":"failed"`)) {
			return Event{evFail, clip(r.Params)}
		}
		return Event{Kind: evDone}
	case r.Method != "" && r.ID != nil:
		p.answer(c, &r)
	case r.Method == "" && string(r.ID) == strconv.Itoa(c.pending):
		if r.Error != nil {
			return Event{evFail, r.Error.Message}
		}
		if lspTurnEnd == "" {
			return Event{Kind: evDone}
		}
	}
	return Event{}
}
