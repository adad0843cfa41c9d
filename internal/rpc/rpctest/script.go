package rpctest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// Start starts a daemon for a script. env is the daemon's complete environment. Daemon.Kill is nil
// if the daemon cannot be killed separately.
type Start func(t testing.TB, args, env []string) Daemon

// Daemon is a started daemon.
type Daemon struct {
	Stdin  io.WriteCloser
	Stdout io.Reader
	Wait   func() int
	Kill   func()
	// Disk returns the folder in which the test can see the daemon's own disk. It is nil if the
	// daemon has no disk of its own.
	Disk func() string
	// Log returns the daemon's stderr output so far.
	Log func() string
}

// Script is a session script.
type Script struct {
	Path    string
	archive *txtar.Archive
}

// Load reads a script.
func Load(path string) (*Script, error) {
	a, err := txtar.ParseFile(path)
	if err != nil {
		return nil, err
	}
	return &Script{Path: path, archive: a}, nil
}

func (s *Script) section(name string) ([]byte, bool) {
	for _, f := range s.archive.Files {
		if f.Name == name {
			return f.Data, true
		}
	}
	return nil, false
}

// Sections of a script that are not files of its workspace.
const (
	sectionScript     = "script"
	sectionModel      = "model.jsonl"
	sectionConfig     = "config.json"
	sectionClient     = "client.json"
	sectionInitialize = "initialize.json"
	sectionUserConfig = "user-config.json"
	sectionEnv        = "env"
	sectionArgs       = "args"
	sectionTranscript = "transcript"
	wantPrefix        = "want/" // compared by cmp and cmpbuf; not part of the workspace
)

// modelWindow is the context window, in tokens, that the scripted model enforces unless the script
// sets another one.
const modelWindow = 128000

func (s *Script) special(name string) bool {
	switch name {
	case sectionScript, sectionModel, sectionConfig, sectionClient, sectionInitialize,
		sectionUserConfig, sectionEnv, sectionArgs, sectionTranscript:
		return true
	}
	return strings.HasPrefix(name, wantPrefix)
}

// NeedsKill reports whether the script kills its daemon, which must then run as a separate process.
func (s *Script) NeedsKill() bool { return s.uses("kill") }

// NeedsDisk reports whether the script uses the commands fill or readonly. The daemon must then run
// as a separate process with its own disk.
func (s *Script) NeedsDisk() bool { return s.uses("fill") || s.uses("readonly") }

// uses reports whether the script contains the given command.
func (s *Script) uses(command string) bool {
	text, _ := s.section(sectionScript)
	for _, line := range strings.Split(string(text), "\n") {
		if f := strings.Fields(line); len(f) > 0 && f[0] == command {
			return true
		}
	}
	return false
}

// Run plays the script against a daemon started by start. If update is set, it rewrites the
// script's expectations.
func (s *Script) Run(t *testing.T, start Start, update bool) {
	t.Helper()
	r := &runner{t: t, script: s, start: start, dir: t.TempDir(), vars: map[string]string{},
		seat: seat{seqs: map[string]int64{}}}
	r.ws = filepath.Join(r.dir, "ws")
	r.prepare()
	r.launch()
	defer r.stop()
	text, _ := s.section(sectionScript)
	for i, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := r.command(line); err != nil {
			t.Fatalf("%s: line %d of the script: %s\n%v\nstderr of the daemon:\n%s", s.Path, i+1,
				line, err, tail(r.daemon.Log()))
		}
	}
	r.finish(update)
}

func tail(s string) string {
	if len(s) > 4000 {
		return "…" + s[len(s)-4000:]
	}
	return s
}

// runner is one run of a script.
type runner struct {
	t        *testing.T
	script   *Script
	start    Start
	dir      string
	ws       string
	readOnly string // the folder that is read-only for the next daemon; "" if there is none
	vars     map[string]string

	seat
	away *seat // the seat that is not in use
}

func (r *runner) prepare() {
	for _, f := range r.script.archive.Files {
		if !r.script.special(f.Name) {
			r.writeFile(filepath.Join(r.ws, filepath.FromSlash(f.Name)), f.Data)
		}
	}
	if err := os.MkdirAll(r.ws, 0o755); err != nil {
		r.t.Fatal(err)
	}
	real, err := filepath.EvalSymlinks(r.ws)
	if err != nil {
		r.t.Fatal(err)
	}
	r.ws = real
	if exe, err := os.Executable(); err == nil {
		r.vars["exe"] = filepath.ToSlash(exe)
	}
	r.vars["ws"] = URIOf(r.ws)
	r.vars["wspath"] = filepath.ToSlash(r.ws)
	r.vars["home"] = filepath.ToSlash(filepath.Join(r.dir, "home"))
	if model, ok := r.script.section(sectionModel); ok {
		// A window line in the script itself overrides this one.
		window := fmt.Sprintf("{\"window\":%d}\n", modelWindow)
		r.writeFile(filepath.Join(r.dir, sectionModel), []byte(window+r.expand(string(model))))
	}
	if conf, ok := r.script.section(sectionUserConfig); ok {
		r.writeFile(filepath.Join(r.dir, "home", ".config", "agent-lsp", "config.json"),
			[]byte(r.expand(string(conf))))
	}
}

func (r *runner) writeFile(path string, data []byte) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// environment returns the daemon's complete environment. It contains no API key and does not use
// the user's home folder.
func (r *runner) environment() []string {
	home := filepath.Join(r.dir, "home")
	env := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "USERPROFILE=" + home, "TMPDIR=" +
			os.TempDir(),
		"XDG_CONFIG_HOME=" + filepath.Join(home, ".config"), "XDG_STATE_HOME=" +
			filepath.Join(home, ".local", "state"),
		"XDG_CACHE_HOME=" + filepath.Join(home, ".cache"), "XDG_DATA_HOME=" +
			filepath.Join(home, ".local", "share"),
		"GORACE=atexit_sleep_ms=0",
	}
	if _, ok := r.script.section(sectionModel); ok {
		env = append(env, "AGENT_LSP_SCRIPT="+filepath.Join(r.dir, sectionModel))
	}
	if extra, ok := r.script.section(sectionEnv); ok {
		env = append(env, strings.Split(strings.TrimSpace(r.expand(string(extra))), "\n")...)
	}
	if r.readOnly != "" {
		env = append(env, "AGENT_LSP_TEST_READ_ONLY="+r.readOnly)
	}
	return env
}

func (r *runner) launch() {
	args := []string{"serve"}
	if a, ok := r.script.section(sectionArgs); ok {
		args = strings.Fields(r.expand(string(a)))
	}
	r.daemon = r.start(r.t, args, r.environment())
	r.ed = NewEditor(r.daemon.Stdout, r.daemon.Stdin)
	r.cursor, r.dead = 0, false
	text, _ := r.script.section(sectionScript)
	if !strings.HasPrefix(strings.TrimSpace(string(text)), "raw-start") {
		if err := r.initialize(); err != nil {
			r.t.Fatalf("%s: %v\n%s", r.script.Path, err, tail(r.daemon.Log()))
		}
	}
}

// DefaultCapabilities are the fake editor's capabilities. A script can override them in
// client.json.
const DefaultCapabilities = `{
  "general": {"positionEncodings": ["utf-16"]},
  "workspace": {"applyEdit": true, "workspaceFolders": true,
    "workspaceEdit": {"documentChanges": true, "resourceOperations": ["create", "rename", ` +
	`"delete"]}},
  "textDocument": {"synchronization": {"didSave": true}},
  "window": {"workDoneProgress": false, "showDocument": {"support": false}},
  "experimental": {"agentLsp": {"version": 1, "permission": true, "ask": true}}
}`

func (r *runner) initialize() error {
	params := map[string]any{
		"processId": os.Getpid(), "rootUri": r.vars["ws"],
		"clientInfo":       map[string]any{"name": "fake-editor", "version": "1"},
		"workspaceFolders": []any{map[string]any{"uri": r.vars["ws"], "name": "ws"}},
		"capabilities":     json.RawMessage(DefaultCapabilities),
	}
	if c, ok := r.script.section(sectionClient); ok {
		params["capabilities"] = json.RawMessage(r.expand(string(c)))
	}
	if c, ok := r.script.section(sectionConfig); ok {
		params["initializationOptions"] = json.RawMessage(r.expand(string(c)))
	}
	if err := r.initializeSection(params); err != nil {
		return err
	}
	id, err := r.ed.Send("initialize", params)
	if err != nil {
		return err
	}
	if r.answer, err = r.ed.Answer(id); err != nil {
		return err
	}
	if r.answer.Error != nil {
		return fmt.Errorf("initialize: %w", r.answer.Error)
	}
	var res struct {
		Capabilities struct{ PositionEncoding string }
	}
	if err := json.Unmarshal(r.answer.Result, &res); err != nil {
		return fmt.Errorf("initialize: %w", err)
	}
	r.ed.utf8 = res.Capabilities.PositionEncoding == "utf-8"
	if err := r.ed.Notify("initialized", map[string]any{}); err != nil {
		return err
	}
	return r.ed.sendGrease()
}

// initializeSection merges the script's own params for initialize into params. A null value removes
// a field.
func (r *runner) initializeSection(params map[string]any) error {
	text, ok := r.script.section(sectionInitialize)
	if !ok {
		return nil
	}
	var own map[string]json.RawMessage
	if err := json.Unmarshal([]byte(r.expand(string(text))), &own); err != nil {
		return fmt.Errorf("reading %s: %w", sectionInitialize, err)
	}
	for name, v := range own {
		params[name] = v
		if string(v) == "null" {
			delete(params, name)
		}
	}
	return nil
}

// finish performs the checks that apply to every run: no unanswered request, a clean exit, the
// order of the messages, and the transcript.
func (r *runner) finish(update bool) {
	r.checkTranscript(r.finishSeats(), update)
}

func (r *runner) finishSeat() {
	if !r.dead {
		if left := r.ed.withdrawn(); len(left) > 0 && r.ed.behaving() == "" {
			r.t.Errorf("%s: the daemon waits for an answer that the script does not give: %s",
				r.script.Path, left[0])
		}
		r.shutdown()
	}
	r.checkOrder()
}

// checkOrder checks the daemon's messages against the rules of the protocol.
func (r *runner) checkOrder() {
	for _, fault := range CheckOrder(r.ed.Log(0), r.seqs) {
		r.t.Errorf("%s: %s", r.script.Path, fault)
	}
}

func (r *runner) shutdown() {
	if err := r.ed.Call("shutdown", nil, nil); err != nil {
		r.t.Errorf("%s: shutdown: %v", r.script.Path, err)
	}
	_ = r.ed.Notify("exit", nil)
	if code := r.daemon.Wait(); code != 0 {
		r.t.Errorf("%s: exit code %d\n%s", r.script.Path, code, tail(r.daemon.Log()))
	}
	r.gone()
}

// gone waits until the daemon's entire output has been read.
func (r *runner) gone() {
	r.dead = true
	if err := r.ed.Ended(); err != nil {
		r.t.Errorf("%s: %v", r.script.Path, err)
	}
}

func (r *runner) stop() {
	for _, s := range []*seat{&r.seat, r.away} {
		if s != nil && !s.dead {
			_ = s.ed.CloseStdin()
			s.daemon.Wait()
		}
	}
}

func (r *runner) checkTranscript(stories []string, update bool) {
	want, ok := r.script.section(sectionTranscript)
	if !ok {
		return
	}
	got := []byte(strings.Join(stories, "== restart ==\n"))
	if bytes.Equal(bytes.TrimSpace(want), bytes.TrimSpace(got)) {
		return
	}
	if !update {
		r.t.Errorf("%s: the transcript differs (-update rewrites it)\ngot:\n%s\nwant:\n%s",
			r.script.Path, got, want)
		return
	}
	for i := range r.script.archive.Files {
		if r.script.archive.Files[i].Name == sectionTranscript {
			r.script.archive.Files[i].Data = got
		}
	}
	if err := os.WriteFile(r.script.Path, txtar.Format(r.script.archive), 0o644); err != nil {
		r.t.Error(err)
	}
}

// expand replaces $name with the value of a variable. $$ is a dollar sign.
func (r *runner) expand(s string) string {
	return os.Expand(s, func(name string) string {
		if name == "$" {
			return "$"
		}
		if v, ok := r.vars[name]; ok {
			return v
		}
		return "$" + name
	})
}
