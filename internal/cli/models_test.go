package cli

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
)

// TestModels checks that the list contains the chat models of all providers that have a key, with
// their known properties.
func TestModels(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer k-secret-key" {
			http.Error(w, `{"error":{"message":"no k-secret-key"}}`, http.StatusUnauthorized)
			return
		}
		_, _ = w.Write([]byte(`{"data":[{"id":"gpt-5.1"},{"id":"new-1"},{"id":"whisper-1"}]}`))
	}))
	defer srv.Close()
	dir := t.TempDir()
	t.Chdir(dir)
	put(t, "config.json", `{"model":"work/new-1","prices":{"new-1":{"input":1.5,"output":3}},
		"windows":{"new-1":32768},
		"providers":{"work":{"baseUrl":"`+srv.URL+`","apiKeyEnv":"WORK_KEY"}}}`)
	env := []string{
		"HOME=" + dir, "XDG_STATE_HOME=" + dir, "PATH=" + os.Getenv("PATH"),
		"AGENT_LSP_CONFIG=config.json", "WORK_KEY=k-secret-key",
	}
	out, errs, code := play(t, env, "models")
	var rows []string
	for line := range strings.Lines(out) {
		rows = append(rows, strings.Join(strings.Fields(line), " "))
	}
	if code != exitOK || len(rows) != 3 || rows[2] != "* new-1 32k - 1.5 / 3 -" ||
		!strings.HasPrefix(rows[1], "gpt-5.1 400k - - images, thinking GPT-5.1") {
		t.Errorf("exit code %d\n%s%s%q", code, out, errs, rows)
	}
	out, _, code = play(t, env, "models", "--json")
	var list struct{ Models []struct{ ID string } }
	if err := json.Unmarshal([]byte(out), &list); code != exitOK || err != nil ||
		len(list.Models) != 2 {
		t.Errorf("exit code %d, %v: %s", code, err, out)
	}
	for _, c := range []struct {
		args []string
		want string // model IDs; "" if the command fails
		code int
	}{
		{[]string{"NEW", "--provider", "work"}, "new-1", exitOK},
		{[]string{"--provider=work", "gpt"}, "gpt-5.1", exitOK},
		{[]string{"nothing"}, "", exitOK},
		{[]string{"--provider", "wrok"}, `"wrok" is not one of`, exitUsage},
		{[]string{"new", "gpt"}, `unexpected argument "gpt"`, exitUsage},
	} {
		list.Models = nil
		out, errs, code = play(t, env, append([]string{"models", "--json"}, c.args...)...)
		_ = json.Unmarshal([]byte(out), &list)
		ids := ""
		for _, m := range list.Models {
			ids += m.ID
		}
		if code != c.code || code == exitOK && ids != c.want ||
			!strings.Contains(ids+errs, c.want) {
			t.Errorf("%q: exit code %d, %s%s", c.args, code, out, errs)
		}
	}
	env[len(env)-1] = "WORK_KEY=k-wrong-key"
	out, errs, code = play(t, env, "models")
	if code != exitFailed || out != "" || !strings.Contains(errs, "agent-lsp models: ") ||
		strings.Contains(errs, "k-secret-key") && strings.Contains(errs, "k-wrong-key") {
		t.Errorf("a wrong key: exit code %d\n%s%s", code, out, errs)
	}
	_, errs, code = play(t, env[:len(env)-1], "models")
	if code != exitNoProvider || !strings.Contains(errs, "set WORK_KEY") {
		t.Errorf("no key: exit code %d\n%s", code, errs)
	}
}
