// Package internal_test contains the tests that apply to the whole repository.
package internal_test

import (
	"go/build"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

const module = "github.com/agent-lsp/agent-lsp/"

// bans lists the imports that packages under a prefix may not have, each with its reason. Packages
// to which the reason does not apply are listed as exceptions.
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
	{"internal/agent/tool", module + "internal",
		"tools are defined below the engine, which calls them",
		[]string{"internal/agent/message", "internal/clip", "internal/lazyregexp"}},
	{"internal/agent/toolcall", module + "internal/agent", "the stages of a call know no session",
		[]string{
			"internal/agent/message", "internal/agent/tool"}},
	{"internal/workspace", module + "internal/agent", "documents and proposals know no model", nil},
	{"internal/workspace", module + "internal/rpc",
		"the client reaches the workspace as an interface", nil},
	{"internal/workspace", module + "internal/tools",
		"tools use the workspace, not the other way", nil},
	{"internal/workspace/edit", module + "internal",
		"the edit engine is pure functions on bytes",
		[]string{"internal/clip", "internal/lazyregexp", "internal/workspace/edit"}},
	{"internal/workspace/edit/patch", module + "internal",
		"a patch is read without the text that it changes",
		[]string{"internal/clip", "internal/lazyregexp"}},
	{"internal/workspace/edit/edittest", module + "internal",
		"the generator of intended edits never asks the matcher", nil},
	{"internal/workspace/edit", "os", "the edit engine is pure functions on bytes", nil},
	{"internal/workspace/text", module + "internal",
		"positions and splices are below everything but the edit engine",
		[]string{"internal/workspace/edit"}},
	{"internal/workspace/text", "os", "positions and splices are pure functions on bytes", nil},
	{"internal/workspace/path", module + "internal",
		"paths and roots know neither documents nor proposals", []string{"internal/realpath"}},
	{"internal/workspace/files", module + "internal",
		"files and blobs know neither documents nor proposals",
		[]string{"internal/fileid", "internal/pause", "internal/workspace/path"}},
	{"internal/workspace/readset", module + "internal",
		"read records know neither documents nor proposals", []string{
			"internal/workspace/edit", "internal/workspace/files", "internal/workspace/path"}},
	{"internal/workspace/checkpoint", module + "internal",
		"checkpoints know neither documents nor proposals", []string{
			"internal/workspace/edit", "internal/workspace/files", "internal/workspace/path"}},
	{"internal/tools", module + "internal/rpc", "tools know no client", nil},
	{"internal/host", module + "internal/rpc", "the front ends are its clients", nil},
	{"internal/host", module + "internal/jsonrpc", "the host knows no protocol", nil},
	{"internal/host", module + "internal/tools", "tools reach the host as values", nil},
	{"internal/host", "go.lsp.dev", "the host knows no protocol", nil},
	{"internal/rpc", module + "internal/tools", "tools reach the server as values", nil},
	{"internal/rpc", module + "internal/model", "models reach the server as values", nil},
	{"internal/agent", module + "internal/model", "models reach the engine as values", nil},
	{"internal/model", module + "internal/workspace", "a model knows no file", nil},
	{"internal/model", module + "internal/tools",
		"a model is sent specs of tools, it runs none", nil},
	{"internal/model", module + "internal/rpc", "a model knows no client", nil},
	{"internal/model", module + "internal/policy",
		"what a call may do is decided by the engine", nil},
	{"internal/model", module + "internal/config", "adapters are configured by Options", nil},
	{"internal/config", module + "internal",
		"settings are at the bottom: nothing of the program below them",
		[]string{"internal/fileid", "internal/filelock", "internal/lazyregexp", "internal/near",
			"internal/visible"}},
	{"internal/model/http", module + "internal/model",
		"what all adapters share knows no API", []string{"internal/model/catalog"}},
	{"internal/model/catalog", module + "internal/model", "the table of models is data only", nil},
	{"internal/model", module + "internal/model/openai",
		"what two adapters need is in internal/model/http", nil},
	{"internal/model", module + "internal/model/anthropic",
		"what two adapters need is in internal/model/http", nil},
	{"internal/model", module + "internal/model/gemini",
		"what two adapters need is in internal/model/http", nil},
	{"internal/model", module + "internal/model/script",
		"the scripted model is an endpoint, not a part of an adapter",
		[]string{"from internal/model/modeltest"}},
	{"internal", "github.com/sashabaranov/go-openai",
		"one adapter speaks OpenAI's APIs", []string{"internal/model/openai"}},
	{"internal/jsonrpc", module + "internal",
		"framing is a leaf that every JSON-RPC peer can use", []string{"internal/lazyregexp"}},
	{"internal/rpc/wire", module + "internal", "the wire is data only", nil},
	{"internal/rpc/acp", module + "internal/rpc", "the front ends are siblings", []string{
		"internal/rpc/agentapi", "internal/rpc/textedit", "internal/rpc/wire",
		"internal/rpc/acp/content"}},
	{"internal/rpc/acp/content", module + "internal/rpc",
		"content is converted without a connection or a session",
		[]string{"internal/rpc/textedit", "internal/rpc/wire"}},
	{"internal/rpc/acp/content", module + "internal/host",
		"content is converted without a connection or a session", nil},
	{"internal/rpc/agentapi", module + "internal/rpc",
		"requests are answered for any front end", []string{"internal/rpc/wire"}},
	{"internal/rpc/conn", module + "internal/rpc",
		"a connection knows no request", []string{"internal/rpc/wire"}},
	{"internal/rpc/conn", module + "internal/host", "a connection knows no session", nil},
	{"internal/rpc/conn", module + "internal/agent", "a connection knows no session", nil},
	{"internal/rpc/editor", module + "internal/rpc",
		"what an editor gets knows no dispatch table", []string{
			"internal/rpc/agentapi", "internal/rpc/conn", "internal/rpc/wire"}},
	{"cmd/agent-lsp", module + "internal", "main only starts the command line",
		[]string{"internal/cli"}},
	{"internal/cli", module + "internal",
		"the command line speaks the wire to the daemon that package app builds", []string{
			"internal/app", "internal/rpc/wire", "internal/rpc/schema", "internal/rpc/textedit",
			"internal/config",
			"internal/agent/session", "internal/workspace", "internal/near", "internal/lazyregexp",
			"internal/visible"}},
	{"internal", "os/exec", "processes are started in one place, under the supervisor", []string{
		"internal/tools/shell", "internal/tools/mcp", "internal/tools/langserver",
		"internal/policy/sandbox", "internal/rpc/rpctest", "internal/cli"}},
	{"internal", "archive/zip", "no tool unpacks archives", nil},
	{"internal", "archive/tar", "no tool unpacks archives; bundles are only written",
		[]string{"internal/cli"}},
}

// ioAllowed lists the packages below internal/agent whose purpose is I/O: the stores.
var ioAllowed = []string{"internal/agent/session", "internal/agent/memory"}

// onlyImporters lists packages that only one other package may import.
var onlyImporters = map[string]string{
	module + "internal/app": "internal/cli",
	module + "internal/cli": "cmd/agent-lsp",
}

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
	if only, ok := onlyImporters[imp]; ok && pkg != only {
		t.Errorf("%s imports %s, which only %s may", pkg, imp, only)
	}
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
		if from, ok := strings.CutPrefix(e, "from "); ok && within(pkg, from) {
			return true
		}
		if within(pkg, e) && !within(imp, module+"internal") || within(imp, module+e) {
			return true
		}
	}
	return false
}

// within reports whether path is root or a package below it. For the standard library, it reports
// only whether path is root.
func within(path, root string) bool {
	if !strings.HasPrefix(root, "internal") && !strings.Contains(root, ".") {
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
