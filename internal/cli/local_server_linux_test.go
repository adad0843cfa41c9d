package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.lsp.dev/jsonrpc2"

	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
)

const (
	// envFound makes this test binary act as the server in TestAFoundServerAsksFirst.
	envFound     = "AGENT_LSP_TEST_FOUND"
	foundPort    = "127.0.0.1:8080"
	foundURL     = "http://" + foundPort + "/v1"
	foundTitle   = "Send prompts to llama-server at " + foundURL + "?"
	foundSetting = "set provider.baseUrl to " + foundURL
)

// TestAFoundServerAsksFirst runs in its own network namespace, where the usual ports are free. A
// model server listens on one of them, but no setting names it. It receives a prompt only after the
// user has agreed. The user's answer applies only to the program that listens on the port.
func TestAFoundServerAsksFirst(t *testing.T) {
	switch os.Getenv(envFound) {
	case "":
		line := `ip link set lo up && exec "$0" "$@"`
		cmd := exec.Command("unshare", "-rn", "sh", "-c", line, os.Args[0],
			"-test.run=^"+t.Name()+"$", "-test.v", "-test.count=1")
		cmd.Env = append(os.Environ(), envFound+"=test")
		if out, err := cmd.CombinedOutput(); err != nil ||
			!bytes.Contains(out, []byte("--- PASS: "+t.Name()+"/refused")) {
			t.Errorf("in a namespace: %v\n%s", err, out)
		}
	case "test":
		t.Run("refused", refusedServer)
		t.Run("allowed", allowedServer)
		t.Run("command line", foundServerOnTheCommandLine)
		t.Run("ACP", foundServerInACP)
	default:
		playFoundServer(os.Getenv(envFound))
	}
}

// playFoundServer runs a model server that writes each request to a file before it answers. It
// exits when its stdin is closed.
func playFoundServer(file string) {
	requests, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	handler := func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(requests, r.Method, r.URL.Path)
		if r.Method == http.MethodGet {
			fmt.Fprint(w, `{"object":"list","data":[{"id":"tiny","object":"model"}]}`)
			return
		}
		fmt.Fprint(w, `{"choices":[{"index":0,"finish_reason":"stop","message":`+
			`{"role":"assistant","content":"answered"}}]}`)
	}
	go func() { panic(http.ListenAndServe(foundPort, http.HandlerFunc(handler))) }()
	for { // there is no notification when the port opens, so poll
		resp, err := http.Get("http://" + foundPort + "/")
		if err == nil {
			resp.Body.Close()
			break
		}
	}
	fmt.Println("\nlistening")
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

// foundServer is a running model server. exe is its executable, and requests is the file to which
// it writes its requests.
type foundServer struct {
	t        *testing.T
	exe      string
	requests string
	stop     func()
}

func startFoundServer(t *testing.T, name string) *foundServer {
	t.Helper()
	dir := t.TempDir()
	s := &foundServer{t: t, exe: filepath.Join(dir, name), requests: filepath.Join(dir, "requests")}
	if out, err := exec.Command("cp", os.Args[0], s.exe).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	cmd := exec.Command(s.exe, "-test.run=^TestAFoundServerAsksFirst$")
	cmd.Env = append(os.Environ(), envFound+"="+s.requests)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stopped := false
	s.stop = func() {
		if !stopped {
			stopped = true
			in.Close()
			_, _ = io.Copy(io.Discard, out)
			_ = cmd.Wait()
		}
	}
	t.Cleanup(s.stop)
	for text, b := "", make([]byte, 512); !strings.Contains(text, "listening"); {
		n, err := out.Read(b)
		if err != nil {
			t.Fatalf("the server ended: %v %s", err, text)
		}
		text += string(b[:n])
	}
	return s
}

// prompted reports whether the server has received any request other than for its list of models.
func (s *foundServer) prompted() bool {
	b, err := os.ReadFile(s.requests)
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.Contains(string(b), "POST")
}

// foundHome returns an environment that has no configured provider and uses the given state folder.
// It also changes the working folder to an empty workspace.
func foundHome(t *testing.T, state string) []string {
	dir := t.TempDir()
	t.Chdir(t.TempDir())
	put(t, filepath.Join(dir, "config.json"), `{"retry":{"initialDelayMs":1}}`)
	return []string{
		"HOME=" + dir, "XDG_STATE_HOME=" + state, "PATH=" + os.Getenv("PATH"),
		"AGENT_LSP_CONFIG=" + filepath.Join(dir, "config.json"), "NO_COLOR=1",
	}
}

// chooser is an editor that answers each permission request with the given option.
type chooser struct {
	*client
	t       *testing.T
	server  *foundServer
	session string
	option  string // "" cancels the request
	asked   int
	ended   chan wire.TurnCompleted
}

// edit starts a daemon that is connected to an editor. The returned function stops both.
func (s *foundServer) edit(state, option string) (c *chooser, end func()) {
	s.t.Helper()
	env := foundHome(s.t, state)
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	code := make(chan int, 1)
	go func() {
		code <- run(context.Background(), []string{"serve"}, env, inR, outW, io.Discard)
		outW.Close()
	}()
	c = &chooser{t: s.t, server: s, option: option, ended: make(chan wire.TurnCompleted, 8)}
	c.client = connect(s.t.Context(), outR, inW,
		&client{version: version, notify: c.note, request: c.answer})
	if err := c.initialize(s.t.Context(), ".", nil, true, true); err != nil {
		s.t.Fatal(err)
	}
	return c, func() {
		_ = c.shutdown(context.Background())
		<-code
	}
}

func (c *chooser) note(method string, params json.RawMessage) {
	var p wire.TurnCompleted
	if method == wire.MethodTurnCompleted && json.Unmarshal(params, &p) == nil {
		c.ended <- p
	}
}

func (c *chooser) answer(_ context.Context, method string, params json.RawMessage) (any, error) {
	var p wire.RequestPermissionParams
	if err := json.Unmarshal(params, &p); err != nil || method != wire.MethodRequestPermission {
		c.t.Errorf("%s %s", method, params)
	}
	c.asked++
	if p.Title != foundTitle || p.Subject.Kind != "network" ||
		!strings.Contains(p.Reason, c.server.exe) || len(p.Options) != 2 ||
		!strings.HasPrefix(p.Options[0].Name, "Allow: ") ||
		!strings.HasPrefix(p.Options[1].Name, "Reject: ") {
		c.t.Errorf("asked with %s", params)
	}
	if c.server.prompted() {
		c.t.Error("the server received a prompt before the answer")
	}
	if c.option == "" {
		return wire.RequestPermissionResult{Cancelled: true}, nil
	}
	return wire.RequestPermissionResult{OptionID: c.option}, nil
}

// turn sends a prompt. It returns the turn's error, the number of permission requests, and the
// error of the prompt request.
func (c *chooser) turn() (failed string, asked int, refused error) {
	c.t.Helper()
	before := c.asked
	if c.session, refused = c.prompt(c.t.Context(), c.session, "hello"); refused != nil {
		return "", c.asked - before, refused
	}
	end := <-c.ended
	if end.Turn.Error != nil {
		failed = end.Turn.Error.Message
	}
	return failed, c.asked - before, nil
}

func refusedServer(t *testing.T) {
	server := startFoundServer(t, "first")
	c, end := server.edit(t.TempDir(), "")
	defer end()
	for range 2 { // a question that was not answered is asked again
		failed, asked, err := c.turn()
		if err != nil || asked != 1 || !strings.Contains(failed, foundSetting) {
			t.Errorf("not answered: %v, the turn: %q, asked %d times", err, failed, asked)
		}
	}
	c.option = "reject_always"
	failed, asked, err := c.turn()
	if err != nil || asked != 1 || !strings.Contains(failed, "you refused") {
		t.Errorf("refused: %v, the turn: %q, asked %d times", err, failed, asked)
	}
	_, asked, err = c.turn()
	var e *jsonrpc2.Error
	if !errors.As(err, &e) || int(e.Code) != wire.CodeProviderNotConfigured || asked != 0 {
		t.Fatalf("after a refusal: %v, asked %d times", err, asked)
	}
	var data wire.HintData
	if json.Unmarshal(e.Data, &data) != nil || !strings.Contains(data.Hint, foundSetting) ||
		!strings.Contains(e.Message, "llama-server at "+foundURL) {
		t.Errorf("the error does not say what to do: %s %s", e.Message, e.Data)
	}
	if server.prompted() {
		t.Error("the server received a prompt")
	}
}

func allowedServer(t *testing.T) {
	state := t.TempDir()
	server := startFoundServer(t, "first")
	turn := func(when string, server *foundServer, want int) {
		t.Helper()
		c, end := server.edit(state, "allow_always")
		defer end()
		for i := range 2 {
			failed, asked, err := c.turn()
			if err != nil || failed != "" || asked != want*(1-i) {
				t.Errorf("%s: %v, the turn: %q, asked %d times", when, err, failed, asked)
			}
		}
		if !server.prompted() {
			t.Errorf("%s: the server received no prompt", when)
		}
	}
	turn("the first time", server, 1)
	turn("after a restart", server, 0)
	server.stop()
	other := startFoundServer(t, "second")
	turn("another program", other, 1)
	c, end := other.edit(state, "allow_always")
	defer end()
	if failed, _, err := c.turn(); err != nil || failed != "" {
		t.Errorf("%v, the turn: %q", err, failed)
	}
	other.stop()
	if failed, asked, err := c.turn(); err != nil || asked != 0 ||
		!strings.Contains(failed, "no longer responds") {
		t.Errorf("nobody listens: %v, the turn: %q, asked %d times", err, failed, asked)
	}
	third := startFoundServer(t, "third")
	c.server, c.option = third, ""
	if failed, asked, err := c.turn(); err != nil || asked != 1 || failed == "" ||
		third.prompted() {
		t.Errorf("a third program: %v, the turn: %q, asked %d times", err, failed, asked)
	}
}

// Without a terminal, a run that finds an unconfigured server fails and explains what to do. With
// the user's consent at a terminal, or with the setting that the message names, the run gets an
// answer.
func foundServerOnTheCommandLine(t *testing.T) {
	server := startFoundServer(t, "first")
	env := foundHome(t, t.TempDir())
	out, errs, code := play(t, env, "run", "hello")
	if code != exitNoProvider || out != "" || server.prompted() {
		t.Errorf("exit code %d, stdout %q", code, out)
	}
	has(t, "stderr", errs, "llama-server at "+foundURL+" was found", foundSetting,
		"or OPENAI_BASE_URL", "from an editor or a terminal")
	for _, answer := range []string{"n", "a"} {
		want := exitFailed
		if answer == "a" {
			want = exitOK
		}
		screen := terminal(t)
		var stdout bytes.Buffer
		cmd := exec.Command(os.Args[0], "run", "hello")
		cmd.Env = append(env, envRunMain+"=1")
		cmd.Stdin, cmd.Stdout, cmd.Stderr = screen.program, &stdout, screen.program
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		screen.answer(t, "allow? ", answer)
		_ = cmd.Wait() // the exit code is checked below
		text, out := screen.shown(), stdout.String()
		has(t, "the terminal", text, foundTitle, server.exe, "allow? [a]lways, [n]o")
		if got := cmd.ProcessState.ExitCode(); got != want ||
			(out == "answered\n") != (want == exitOK) {
			t.Errorf("%q: exit code %d, stdout %q\n%s", answer, got, out, text)
		}
	}
	out, errs, code = play(t, append(foundHome(t, t.TempDir()), "OPENAI_BASE_URL="+foundURL),
		"run", "hello")
	if code != exitOK || out != "answered\n" {
		t.Errorf("configured: exit code %d, stdout %q\n%s", code, out, errs)
	}
}

func foundServerInACP(t *testing.T) {
	server := startFoundServer(t, "first")
	c := startACPIn(t, t.TempDir(), foundHome(t, t.TempDir())...)
	defer c.end()
	session := c.session(t.TempDir())
	asked, option := 0, "reject_always"
	c.permit = func(method string, message []byte) any {
		asked++
		if method != "session/request_permission" ||
			!bytes.Contains(message, []byte(foundTitle)) || server.prompted() {
			t.Errorf("asked with %s %s", method, message)
		}
		return map[string]any{"outcome": map[string]any{
			"outcome": "selected", "optionId": option,
		}}
	}
	prompt := map[string]any{"sessionId": session, "prompt": []any{map[string]any{
		"type": "text", "text": "hello"}}}
	for n := range 2 {
		_, refused := c.ask("session/prompt", prompt)
		if asked != 1 || !strings.Contains(fmt.Sprint(refused), "you refused") ||
			server.prompted() {
			t.Errorf("prompt %d: asked %d times, %v", n, asked, refused)
		}
	}
	server.stop()
	server, option = startFoundServer(t, "second"), "allow_always"
	if got := c.prompt(session, "hello"); got != "end_turn" || asked != 2 || !server.prompted() {
		t.Errorf("stop reason %v, asked %d times", got, asked)
	}
}
