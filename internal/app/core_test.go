package app

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent/session"
	"github.com/agent-lsp/agent-lsp/internal/config"
	"github.com/agent-lsp/agent-lsp/internal/host"
	"github.com/agent-lsp/agent-lsp/internal/policy"
	"github.com/agent-lsp/agent-lsp/internal/rpc/agentapi"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

// Creating a core for a folder has no visible effect before the first request. The ACP front end
// relies on this, because it creates a core in advance. Whether or not the folder is trusted, the
// core contacts no provider or server and starts no program that the folder names. It creates no
// files and removes none, not even files that the settings would remove.
func TestACoreThatIsNotUsedLeavesNoTrace(t *testing.T) {
	var reached atomic.Int32
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter,
		*http.Request) {
		reached.Add(1)
	}))
	defer srv.Close()
	for _, trusted := range []bool{false, true} {
		base := t.TempDir()
		home, dir, state := filepath.Join(base, "home"), filepath.Join(base, "dir"),
			filepath.Join(base, "state")
		touch := fmt.Sprintf(`{"command":"sh","args":["-c","touch %s"]}`,
			filepath.Join(base, "touched"))
		mustStore(t, filepath.Join(home, "config.json"),
			[]byte(`{"sessions":{"maxAgeDays":1,"maxBytes":1}}`))
		mustStore(t, filepath.Join(dir, config.WorkspaceName), fmt.Appendf(nil, `{
			"provider":{"baseUrl":%q,"apiKeyCommand":["touch",%q]},
			"mcpServers":{"a":%s,"b":{"url":%q}},
			"hooks":{"sessionStart":[%s]},
			"languageServers":{"x":{"command":"touch","args":[%q],"files":["*"]}}}`,
			srv.URL, filepath.Join(base, "touched"), touch, srv.URL, touch,
			filepath.Join(base, "touched")))
		mustStore(t, filepath.Join(dir, "a.x"), []byte("x\n"))
		old := filepath.Join(session.Dir(state, dir), "old.jsonl")
		mustStore(t, old, []byte(`{"type":"session","id":"old"}`+"\n"))
		if err := os.Chtimes(old, time.Time{}, time.Now().AddDate(-1, 0, 0)); err != nil {
			t.Fatal(err)
		}
		answerTrust(t, home, dir, state, trusted)
		before := tree(t, base)
		env := []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "AGENT_LSP_CONFIG=" +
			filepath.Join(home, "config.json")}
		core, err := newCore(agentapi.Init{Editor: unused{},
			Roots: []string{workspace.URIOfPath(dir)}},
			coreOptions{log: slog.New(slog.DiscardHandler), redact: policy.NewRedactor(), env: env,
				stateDir: state})
		if err != nil {
			t.Fatal(err)
		}
		if err := core.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if after := tree(t, base); !maps.Equal(before, after) {
			t.Errorf("trusted %v: %v became %v", trusted, slices.Sorted(maps.Keys(before)),
				slices.Sorted(maps.Keys(after)))
		}
		if n := reached.Load(); n != 0 {
			t.Errorf("trusted %v: %d requests", trusted, n)
		}
	}
}

// answerTrust stores the user's decision about trust in the current contents of a folder.
func answerTrust(t *testing.T, home, dir, state string, trusted bool) {
	t.Helper()
	file := config.NewTrustFile(filepath.Join(state, "trust.json"))
	err := file.Refuse(dir)
	if trusted {
		user := filepath.Join(home, "config.json")
		set := config.Load(config.Sources{UserFile: user, Root: dir, Trust: file})
		if err = file.Allow(dir, set.Claims()); len(set.Claims()) == 0 {
			t.Fatal("the settings do not ask for trust")
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

// tree returns the paths of the files and folders in a folder, and the content of each file.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			out[path+"/"] = ""
			return err
		}
		text, err := os.ReadFile(path)
		out[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func mustStore(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// unused is an editor that must not be called.
type unused struct{ host.Editor }
