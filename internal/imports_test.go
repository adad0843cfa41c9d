// Package internal_test holds the tests that concern the tree as a whole.
package internal_test

import (
	"go/build"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

const module = "github.com/agent-lsp/agent-lsp/"

// bans are the imports that no package under a prefix may make, each with its reason.
// A package may be named as an exception where the reason does not hold.
var bans = []struct {
	under, imports, reason string
	except                 []string
}{
	{"internal/agent", "os", "the engine does no I/O; effects reach it as arguments", ioAllowed},
	{"internal/agent", "os/exec", "the engine starts no process", nil},
	{"internal/agent", "net", "the engine opens no connection", ioAllowed},
	{"internal/agent", module + "internal/workspace", "the engine knows no file", nil},
	{"internal/agent", module + "internal/tools", "tools reach the engine as values", nil},
	{"internal/agent", module + "internal/rpc", "the engine knows no client", nil},
	{"internal/agent", module + "internal/policy", "the engine asks an Approver", nil},
	{"internal/workspace", module + "internal/agent", "documents and proposals know no model", nil},
	{"internal/workspace", module + "internal/rpc", "the client reaches the workspace as an interface", nil},
	{"internal/workspace", module + "internal/tools", "tools use the workspace, not the other way", nil},
	{"internal/workspace/edit", module + "internal", "the edit engine is pure functions on bytes", []string{"internal/workspace/edit"}},
	{"internal/workspace/edit", "os", "the edit engine is pure functions on bytes", nil},
	{"internal/tools", module + "internal/rpc", "tools know no client", nil},
	{"internal/rpc", module + "internal/tools", "tools reach the server as values", nil},
	{"internal/rpc", module + "internal/agent/openai", "models reach the server as values", nil},
	{"internal/jsonrpc", module + "internal", "framing is a leaf that every JSON-RPC peer can use", []string{"internal/lazyregexp"}},
	{"internal/rpc/wire", module + "internal", "the wire is data only", nil},
	{"internal", "os/exec", "processes are started in one place, under the supervisor", []string{
		"internal/tools/shell", "internal/tools/mcp", "internal/tools/langserver", "internal/policy/sandbox", "internal/rpc/rpctest"}},
}

// ioAllowed are the parts below internal/agent whose purpose is I/O: the provider's client,
// the scripted model's server, and the stores.
var ioAllowed = []string{"internal/agent/openai", "internal/agent/script", "internal/agent/session", "internal/agent/memory"}

func TestImports(t *testing.T) {
	for _, pkg := range packages(t) {
		p, err := build.Default.ImportDir(filepath.Join("..", filepath.FromSlash(pkg)), 0)
		if err != nil {
			if _, none := err.(*build.NoGoError); none {
				continue
			}
			t.Fatal(err)
		}
		for _, imp := range p.Imports {
			checkImport(t, pkg, imp)
		}
	}
}

func checkImport(t *testing.T, pkg, imp string) {
	for _, b := range bans {
		if !within(pkg, b.under) || !within(imp, b.imports) {
			continue
		}
		if allowed(pkg, imp, b.except) {
			continue
		}
		t.Errorf("%s imports %s: %s", pkg, imp, b.reason)
	}
}

func allowed(pkg, imp string, except []string) bool {
	for _, e := range except {
		if within(pkg, e) && !within(imp, module+"internal") || within(imp, module+e) {
			return true
		}
	}
	return false
}

// within says whether path is root or lies below it. Of the standard library only the package itself counts.
func within(path, root string) bool {
	if !strings.HasPrefix(root, "internal") && !strings.HasPrefix(root, module) {
		return path == root
	}
	return path == root || strings.HasPrefix(path, root+"/")
}

func packages(t *testing.T) []string {
	var out []string
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if n := d.Name(); n == "node_modules" || n == "testdata" || n == ".git" {
			return filepath.SkipDir
		}
		rel, err := filepath.Rel("..", path)
		out = append(out, filepath.ToSlash(rel))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
