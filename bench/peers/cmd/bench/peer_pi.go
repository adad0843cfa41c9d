package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// pi is pi --mode rpc, which sends JSON lines in its own format.
type pi struct {
	cli, node string
	settled   bool // whether this version ends a turn with agent_settled, after agent_end
}

func (*pi) Name() string { return "pi" }

func (p *pi) Find(e *Env) (Info, error) {
	root := filepath.Join(e.PeersDir, "pi")
	dir := glob1(root+"/node_modules/@earendil-works/pi-coding-agent", root+
		"/node_modules/@mariozechner/pi-coding-agent")
	if dir == "" {
		return Info{}, fmt.Errorf("no pi under %s", root)
	}
	b, _ := os.ReadFile(dir + "/package.json")
	var pk struct {
		Bin map[string]string `json:"bin"`
	}
	json.Unmarshal(b, &pk)
	p.cli, p.node = filepath.Join(dir, pk.Bin["pi"]), e.Node
	doc, _ := os.ReadFile(dir + "/docs/rpc.md")
	p.settled = bytes.Contains(doc, []byte("agent_settled"))
	rt := fileSize(p.node)
	return Info{Version: packageVersion(dir), Protocol: "pi --mode rpc, JSON lines",
		WireAPI: "chat", SizeBytes: diskUse(root+"/node_modules") + rt, Runtime: rt,
		Note: "size includes the node binary it needs; run by " + nodeVersion(p.node)}, nil
}

func nodeVersion(node string) string {
	out, _ := exec.Command(node, "--version").Output()
	return "node " + strings.TrimSpace(string(out))
}

func (p *pi) Prepare(e *Env, home string) (Launch, error) {
	url, api := e.BaseURL+"/v1", "openai-completions"
	if e.Anthropic {
		url, api = e.BaseURL, "anthropic-messages"
	}
	err := writeFile(home+"/agent/models.json", `{"providers":{"mock":{"baseUrl":"`+url+`",
"api":"`+api+`","apiKey":"none","models":[
{"id":"`+e.model()+`","name":"Mock","reasoning":false,"input":["text"],"contextWindow":1000000,
"maxTokens":32000,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0}}]}}}`)
	if err == nil {
		err = writeFile(home+"/agent/settings.json", `{"defaultProvider":"mock","defaultModel":"`+
			e.model()+`","enableInstallTelemetry":false}`)
	}
	return Launch{Args: []string{p.node, p.cli, "--mode", "rpc", "--provider", "mock", "--model",
		e.model()},
		Env: e.vars(home, "PI_CODING_AGENT_DIR="+home+"/agent", "PI_OFFLINE=1", "PI_TELEMETRY=0",
			"PI_SKIP_VERSION_CHECK=1")}, err
}

// piCall sends a command and waits for its response.
func piCall(c *Conn, cmd map[string]any, timeout time.Duration) error {
	c.nextID++
	id := strconv.Itoa(c.nextID)
	cmd["id"] = id
	if _, err := c.Send(cmd); err != nil {
		return err
	}
	deadline := time.Now().Add(timeout)
	for {
		m, err := c.Next(deadline)
		if err != nil {
			return fmt.Errorf("%v: %w", cmd["type"], err)
		}
		var r struct {
			ID, Type, Error string
			Success         bool
		}
		if json.Unmarshal(m.Data, &r) == nil && r.Type == "response" && r.ID == id {
			if !r.Success {
				return fmt.Errorf("%v: %s", cmd["type"], r.Error)
			}
			return nil
		}
	}
}

func (p *pi) Init(c *Conn) error {
	return piCall(c, map[string]any{"type": "get_state"}, 30*time.Second)
}

// Session does nothing, because pi starts with a session.
func (p *pi) Session(c *Conn, e *Env) error { return nil }

func (p *pi) Prompt(c *Conn, text string) (int64, error) {
	c.nextID++
	c.pending = c.nextID
	return c.Send(map[string]any{"id": strconv.Itoa(c.nextID), "type": "prompt", "message": text})
}

func (p *pi) Abort(c *Conn) (int64, error) { return c.Send(map[string]any{"type": "abort"}) }

var (
	piUpdate  = []byte(`{"type":"message_update"`)
	piDelta   = []byte(`"assistantMessageEvent":{"type":"text_delta"`)
	piEnd     = []byte(`{"type":"agent_end"`)
	piSettled = []byte(`{"type":"agent_settled"`)
)

func (p *pi) Read(c *Conn, m Msg) Event {
	switch {
	case bytes.HasPrefix(m.Data, piUpdate):
		// The event is in the first field, or follows a short usage field. Older versions of pi
		// then repeat the complete message so far, which is too long to search.
		if i := bytes.Index(m.Data[:min(len(m.Data), 600)], piDelta); i >= 0 {
			return Event{evDelta, textField(m.Data[i:], `"delta":"`)}
		}
	case bytes.HasPrefix(m.Data, piEnd) && !p.settled, bytes.HasPrefix(m.Data, piSettled):
		return Event{Kind: evDone}
	case bytes.HasPrefix(m.Data, []byte(`{"id":"`+strconv.Itoa(c.pending)+`","type":"response"`)) &&
		bytes.Contains(m.Data, []byte(`"success":false`)):
		return Event{evFail, clip(m.Data)}
	}
	return Event{}
}
