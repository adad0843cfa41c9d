package cli

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// keyServer is a provider that records the keys of its requests.
type keyServer struct {
	*httptest.Server
	mu   sync.Mutex
	keys []string
}

func newKeyServer(t *testing.T) *keyServer {
	s := new(keyServer)
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.keys = append(s.keys, r.Header.Get("Authorization"))
		s.mu.Unlock()
		_, _ = w.Write([]byte(`{"data":[{"id":"gpt-5"}]}`))
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *keyServer) last() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.keys) == 0 {
		return ""
	}
	return s.keys[len(s.keys)-1]
}

func playWith(
	t *testing.T,
	env []string,
	input string,
	args ...string,
) (out, errs string, code int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = Run(context.Background(), "test", args, env, strings.NewReader(input), &stdout, &stderr)
	return stdout.String(), stderr.String(), code
}

// A stored key is used by the next call, and no output shows it. Unknown provider names and empty
// keys are rejected.
func TestLogin(t *testing.T) {
	home, srv := t.TempDir(), newKeyServer(t)
	settings := filepath.Join(home, "config.json")
	own := `{"baseUrl":"` + srv.URL + `/v1","apiKeyEnv":"OWN_KEY"}`
	mustStore(t, settings, []byte(`{"providers":{"own":`+own+`}}`))
	t.Chdir(home)
	env := []string{
		"HOME=" + home, "AGENT_LSP_STATE_DIR=" + filepath.Join(home, "state"),
		"AGENT_LSP_CONFIG=" + settings, "AGENT_LSP_KEYRING=file", "PATH=" + os.Getenv("PATH"),
	}
	_, errs, code := playWith(t, env, "k\n", "login", "No body", "--stdin")
	if code != exitUsage || !strings.Contains(errs, `"No body"`) {
		t.Errorf("a name in a wrong format: exit code %d: %s", code, errs)
	}
	_, errs, code = playWith(t, env, "", "logout", "nobody")
	if code != exitUsage || !strings.Contains(errs, `"nobody"`) {
		t.Errorf("an unknown name: exit code %d: %s", code, errs)
	}
	_, errs, code = playWith(t, env, "k\n", "login", "other-url", "--stdin")
	if code != exitUsage || !strings.Contains(errs, `"other-url"`) {
		t.Errorf("a name that is not in the settings: exit code %d: %s", code, errs)
	}
	_, errs, code = playWith(t, env, "\n", "login", "own", "--stdin")
	if code != exitFailed || !strings.Contains(errs, "empty") {
		t.Errorf("an empty key: exit code %d: %s", code, errs)
	}
	_, errs, code = playWith(t, env, "", "models", "--provider", "own")
	if code == exitOK || !strings.Contains(errs, "agent-lsp login own") {
		t.Errorf("without a key: exit code %d: %s", code, errs)
	}
	for _, key := range []string{"secret-1", "secret-2"} {
		out, errs, code := playWith(t, env, key+"\n", "login", "own", "--stdin")
		if code != exitOK || strings.Contains(out+errs, key) {
			t.Fatalf("login ended with %d: %s%s", code, out, errs)
		}
		out, errs, _ = playWith(t, env, "", "models", "--provider", "own")
		if srv.last() != "Bearer "+key || strings.Contains(out+errs, key) {
			t.Errorf("the provider got %q; printed %s%s", srv.last(), out, errs)
		}
	}
	out, _, _ := playWith(t, env, "", "doctor")
	if !strings.Contains(out, "own from "+filepath.Join(home, "state", "keys.json")) {
		t.Errorf("doctor says\n%s", out)
	}
	if _, _, code := playWith(t, env, "", "logout", "own"); code != exitOK {
		t.Errorf("logout ended with %d", code)
	}
	out, _, code = playWith(t, env, "", "logout", "own")
	if code != exitOK || !strings.Contains(out, "No key") {
		t.Errorf("a second logout: exit code %d: %s", code, out)
	}
}

// To log in, an ACP client runs the agent's own command in a terminal and appends the arguments for
// the login.
func TestLoginOfAnACPClient(t *testing.T) {
	home := t.TempDir()
	t.Chdir(home)
	env := []string{
		"HOME=" + home, "AGENT_LSP_STATE_DIR=" + filepath.Join(home, "state"),
		"AGENT_LSP_KEYRING=file", "PATH=" + os.Getenv("PATH"),
	}
	out, errs, code := playWith(t, env, "secret\n", "acp", "login", "openai", "--stdin")
	if code != exitOK || !strings.Contains(out, "openai is stored") {
		t.Errorf("login: exit code %d: %s%s", code, out, errs)
	}
	_, errs, code = playWith(t, env, "", "acp", "login")
	if code != exitUsage || !strings.Contains(errs, "name one of") {
		t.Errorf("without a terminal: exit code %d: %s", code, errs)
	}
}

// On a terminal, login asks for a missing name and reads nothing after the line with the name.
// Without a display, it does not start a browser.
func TestLoginAsks(t *testing.T) {
	var shown bytes.Buffer
	p := &program{stdin: strings.NewReader("own\r\nsk-key\n"), stderr: &shown}
	name, err := p.askName([]string{"openai", "own"})
	if name != "own" || err != nil || shown.String() != "Provider (openai, own): " {
		t.Errorf("%q, %v after %q", name, err, shown.String())
	}
	if key, err := p.readKey("own", true); key != "sk-key" || err != nil {
		t.Errorf("the key is %q, %v", key, err)
	}
	if runtime.GOOS == "linux" && p.openBrowser("http://localhost") == nil {
		t.Error("a browser was started without a display")
	}
}
