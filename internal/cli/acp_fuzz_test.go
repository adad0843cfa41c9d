package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// acpMethods are the methods that FuzzACP calls. The first byte of a line selects the method.
var acpMethods = []string{
	"authenticate", "initialize", "logout", "session/cancel", "session/close", "session/list",
	"session/load", "session/new",
	"session/prompt", "session/resume", "session/set_config_option", "session/set_mode",
	"_session/steering",
}

var acpSeeds = []string{
	`session/prompt {"sessionId":"$S","prompt":[{"type":"text","text":"hello"},{"type":"resource_link","uri":"file://$D/a.txt","name":"a"}]}
	session/prompt {"sessionId":"$S","prompt":[{"type":"image","data":"AAAA","mimeType":"image/png"},{"type":"audio","data":"","mimeType":""}]}
	session/cancel {"sessionId":"$S"}`,
	`_session/steering {"sessionId":"$S","prompt":[{"type":"text","text":"aside"}]}
	session/set_mode {"sessionId":"$S","modeId":"plan"}
	session/set_config_option {"sessionId":"$S","configId":"model","value":"m"}
	session/list {"cwd":"$D","cursor":"x"}`,
	`session/new {"cwd":"$D","mcpServers":[{"name":"a","command":"/nothing","args":[],"env":[]},{"type":"http","name":"b","url":"http://127.0.0.1:1","headers":[]}]}
	session/load {"sessionId":"$S","cwd":"$D","mcpServers":[]}
	session/resume {"sessionId":"$S","cwd":"$D"}
	session/close {"sessionId":"$S"}
	session/prompt {"sessionId":"$S","prompt":[]}`,
	`initialize {"protocolVersion":99,"clientCapabilities":{"fs":{"readTextFile":true,"writeTextFile":true},"terminal":true}}
	authenticate {"methodId":"x"}
	session/new {"cwd":"relative"}`,
}

// FuzzACP checks that the program answers every request of an ACP client, and that it exits without
// a panic at the end of its input. Each input line selects a method with its first byte. The rest
// of the line is the params, in which $S is a session and $D its folder.
func FuzzACP(f *testing.F) {
	for i := range acpMethods {
		line := string(rune(' ' + i))
		f.Add(line + "{}\n" + line + `{"sessionId":"$S"}` + "\n" + line + "[]\n" + line +
			`{"sessionId":5,"prompt":{}}`)
	}
	for _, s := range acpSeeds {
		script := ""
		for _, call := range strings.Split(s, "\n") {
			method, params, _ := strings.Cut(strings.TrimSpace(call), " ")
			for i, m := range acpMethods {
				if m == method {
					script += string(rune(' '+i)) + params + "\n"
				}
			}
		}
		f.Add(script)
	}
	f.Fuzz(fuzzACP)
}

func fuzzACP(t *testing.T, script string) {
	home, dir := t.TempDir(), t.TempDir()
	answers := filepath.Join(home, "script.jsonl")
	mustStore(t, answers, []byte(`{"text":"hello"}`+"\n"+
		`{"toolCalls":[{"name":"write","arguments":{"path":"a.txt","content":"x\n"}}]}`+"\n"+
		`{"text":"done"}`+"\n"))
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	var said bytes.Buffer
	code := make(chan int, 1)
	env := []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "AGENT_LSP_SCRIPT=" + answers}
	go func() {
		code <- run(context.Background(),
			[]string{"acp", "--state-dir", filepath.Join(home, "state")}, env, inR, outW, &said)
		outW.Close()
	}()
	c := &acpFuzzer{t: t, in: inW, asked: map[string]string{}, session: make(chan string, 1),
		read: make(chan struct{})}
	go c.listen(outR)
	c.ask("initialize", `{"protocolVersion":1}`)
	c.ask("session/new", `{"cwd":"`+filepath.ToSlash(dir)+`","mcpServers":[]}`)
	fill := strings.NewReplacer("$S", <-c.session, "$D", filepath.ToSlash(dir))
	for _, line := range strings.SplitN(script, "\n", 20) {
		if line == "" {
			continue
		}
		if params := fill.Replace(line[1:]); json.Valid([]byte(params)) {
			c.ask(acpMethods[int(line[0]-' ')%len(acpMethods)], params)
		}
	}
	inW.Close()
	select {
	case got := <-code:
		if got != exitOK || strings.Contains(said.String(), "panic") {
			t.Errorf("exit code %d, stderr %s", got, said.String())
		}
	case <-time.After(5 * time.Minute):
		t.Fatal("the program did not end")
	}
	<-c.read
	for _, what := range c.asked {
		t.Errorf("%s was not answered", what)
	}
}

// acpFuzzer sends requests without waiting for responses. One goroutine sends them, and another
// runs listen.
type acpFuzzer struct {
	t       *testing.T
	in      io.Writer
	next    int
	asked   map[string]string // used only by listen until the read channel is closed
	asking  []string
	session chan string
	read    chan struct{}
}

func (c *acpFuzzer) ask(method, params string) {
	c.next++
	id := strconv.Itoa(c.next)
	if method == "session/cancel" {
		_, _ = io.WriteString(c.in, `{"jsonrpc":"2.0","method":"`+method+`","params":`+params+"}\n")
		return
	}
	c.asking = append(c.asking, id+" "+method+" "+params)
	_, _ = io.WriteString(c.in, `{"jsonrpc":"2.0","id":`+id+`,"method":"`+method+`","params":`+
		oneLine(params)+"}\n")
}

func oneLine(params string) string {
	var b bytes.Buffer
	_ = json.Compact(&b, []byte(params))
	return b.String()
}

// listen records the responses and cancels the program's requests.
func (c *acpFuzzer) listen(out io.Reader) {
	defer close(c.read)
	answered := map[string]bool{}
	in := bufio.NewReader(out)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			break
		}
		var m struct {
			ID     json.RawMessage
			Method string
			Result struct{ SessionID string }
		}
		if err := json.Unmarshal(line, &m); err != nil {
			c.t.Errorf("%s: %v", line, err)
		}
		switch {
		case m.Method != "" && len(m.ID) > 0:
			_, _ = io.WriteString(c.in, `{"jsonrpc":"2.0","id":`+string(m.ID)+
				`,"result":{"outcome":{"outcome":"cancelled"}}}`+"\n")
		case m.Method == "":
			if string(m.ID) == "2" {
				c.session <- m.Result.SessionID
			}
			answered[string(m.ID)] = true
		}
	}
	for _, a := range c.asking {
		if id, _, _ := strings.Cut(a, " "); !answered[id] {
			c.asked[id] = a
		}
	}
}
