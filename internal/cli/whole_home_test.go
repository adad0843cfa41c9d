package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// wholeHome creates a home folder with a file. It returns the folder, and the environment of a
// program whose model reads the file and reports its content.
func wholeHome(t *testing.T) (home string, env []string) {
	t.Helper()
	home, state := t.TempDir(), t.TempDir()
	put(t, filepath.Join(home, "closed.md"), "closed words\n")
	model := filepath.Join(state, "model.jsonl")
	put(t, model, `{"toolCalls":[{"name":"read","arguments":{"path":"closed.md"}}]}`+"\n"+
		`{"when":{"lastTool":"closed words"},"text":"read it"}`+"\n"+
		`{"when":{"lastTool":"the user has not allowed"},"text":"may not read it"}`+"\n"+
		done)
	return home, []string{
		"HOME=" + home, "PATH=" + os.Getenv("PATH"), "XDG_STATE_HOME=" + state,
		"XDG_CONFIG_HOME=" + state, "AGENT_LSP_SCRIPT=" + model,
	}
}

// Without a terminal, `agent-lsp run` gives the model no access to the files if the workspace is
// the whole home folder, and says what to do.
func TestRunDoesNotTakeTheWholeHome(t *testing.T) {
	home, env := wholeHome(t)
	t.Chdir(home)
	for flags, want := range map[string]string{
		"": "may not read it\n", "--whole-folder ": "read it\n",
	} {
		var out, errs bytes.Buffer
		args := strings.Fields("run " + flags + "look")
		code := run(t.Context(), args, env, strings.NewReader(""), &out, &errs)
		if code != exitOK || out.String() != want {
			t.Errorf("%v: exit code %d, stdout %q, stderr:\n%s", args, code, &out, &errs)
		}
		told := strings.Count(errs.String(), "start it with --whole-folder")
		if told != 1 && flags == "" || told != 0 && flags != "" {
			t.Errorf("%v: the user was informed %d times what to do:\n%s", args, told, &errs)
		}
	}
}

// A client of the Agent Client Protocol asks its user once whether to use the whole home folder.
func TestACPAsksAboutTheWholeHome(t *testing.T) {
	for choice, want := range map[string]string{
		"allow_once": "read it", "reject_once": "may not read it", "": "may not read it",
	} {
		home, env := wholeHome(t)
		c := startACP(t, env...)
		asked := 0
		c.permit = func(method string, line []byte) any {
			asked++
			var m struct {
				Params struct{ ToolCall struct{ Title string } }
			}
			if json.Unmarshal(line, &m) != nil || method != "session/request_permission" ||
				!strings.HasPrefix(m.Params.ToolCall.Title, "Use all of ") {
				t.Errorf("asked with %s", line)
			}
			if choice == "" {
				return map[string]any{"outcome": map[string]any{"outcome": "cancelled"}}
			}
			return map[string]any{
				"outcome": map[string]any{"outcome": "selected", "optionId": choice},
			}
		}
		session := c.session(home)
		c.prompt(session, "look")
		c.prompt(session, "and again")
		if !strings.Contains(c.text.String(), want) || asked != 1 {
			t.Errorf("%q: asked %d times, the model said %q", choice, asked, &c.text)
		}
		if code := c.end(); code != exitOK {
			t.Errorf("exit code %d", code)
		}
	}
}
