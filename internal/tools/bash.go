package tools

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/policy/sandbox"
	"github.com/agent-lsp/agent-lsp/internal/tools/shell"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

// Limits of bash.
const (
	bashTimeout    = 120 * time.Second
	bashMaxTimeout = 600 * time.Second
	bashHead       = 8 << 10 // bytes sent to the model from the start of long output
	bashTail       = 24 << 10
	bashLive       = 1 << 20 // bytes shown on the screen while the command runs
	bashLabel      = 80
	// A timeout of at least this many seconds that exceeds the maximum is read as milliseconds,
	// which some models send.
	bashMillis = 1000
	maxSeconds = 1e9 // larger values overflow a Duration
)

type bashArgs struct {
	Command    string  `json:"command"`
	Cwd        string  `json:"cwd,omitempty" jsonschema:"folder to run in"`
	Timeout    float64 `json:"timeout,omitempty" jsonschema:"seconds; default 120, at most 600"`
	Background bool    `json:"background,omitempty" jsonschema:"keep running as a job, e.g. a server"`
	Unboxed    bool    `json:"outside_sandbox,omitempty" jsonschema:"ask the user to run it outside the sandbox"`
}

func (e *sessionEnv) bashTool() tool.Tool {
	return newTool(definition[bashArgs]{
		spec: tool.Spec{
			Name: "bash", Label: "Run", Effect: tool.Dangerous, MaxResult: -1,
			Aliases: []string{"shell", "run_command", "execute_command", "run_shell_command",
				"run_terminal_cmd", "run_in_terminal", "exec_command", "local_shell", "terminal",
				"exec", "sh"},
			ParamAliases: map[string]string{"cmd": "command", "script": "command",
				"code": "command", "workdir": "cwd", "working_directory": "cwd",
				"workingdirectory": "cwd", "directory": "cwd", "dir": "cwd",
				"timeout_ms": "timeout", "timeout_seconds": "timeout", "timeout_sec": "timeout",
				"run_in_background": "background", "is_background": "background",
				"isbackground": "background",
				"unsandboxed":  "outside_sandbox", "dangerouslydisablesandbox": "outside_sandbox",
				"with_escalated_permissions": "outside_sandbox"},
		},
		prepare: e.prepareBash,
	})
}

// bashEffect returns the effect that the policy derives from the command. A background job is
// always Dangerous, because it runs alongside other tools.
func (e *sessionEnv) bashEffect(a bashArgs) tool.Effect {
	if e.Classify == nil || a.Background {
		return tool.Dangerous
	}
	return e.Classify(a.Command)
}

func (e *sessionEnv) prepareBash(call *tool.Call, a bashArgs) tool.Prepared {
	title := "Run " + oneLine(a.Command, bashLabel)
	dir, err := e.workDir(call.Cwd, a.Cwd)
	if strings.TrimSpace(a.Command) == "" {
		err = errors.New("the command is empty")
	}
	var env []string
	return tool.Prepared{
		Label: title, Effect: e.bashEffect(a),
		Subject: &tool.Subject{
			Kind: tool.SubjectCommand, Title: title, Command: a.Command, Cwd: dir,
			Unboxed: a.Unboxed,
		},
		Ready: func(call *tool.Call) { env = e.commandEnv(call) },
		Run: func(ctx context.Context, call *tool.Call) (*tool.Result, error) {
			if err != nil {
				return nil, err
			}
			if env == nil { // Ready was not called
				env = e.commandEnv(call)
			}
			return e.bash(ctx, call, shell.Command{Script: a.Command, Dir: dir, Env: env}, a)
		},
	}
}

// commandEnv returns the environment of a command, or nil for that of the daemon.
func (e *sessionEnv) commandEnv(call *tool.Call) []string {
	if e.Env == nil {
		return nil
	}
	return e.Env(call)
}

func (e *sessionEnv) bash(ctx context.Context, call *tool.Call, cmd shell.Command,
	a bashArgs) (*tool.Result, error) {
	o := e.shellOptions()
	cmd.Shell, cmd.SpillDir = o.Program, e.spillDir()
	cmd.HeadBytes, cmd.TailBytes = bashHead, bashTail
	if e.Sandbox != nil {
		plan, err := e.Sandbox(call)
		if err != nil {
			return nil, err
		}
		cmd.Sandbox = plan
	}
	notes, err := e.beforeCommand(ctx, call, cmd.Dir)
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		cmd.Sandbox.Close()
		return nil, err
	}
	var note string
	if cmd.Timeout, note = o.duration(a.Timeout); note != "" && !a.Background {
		notes = append(notes, note)
	}
	if a.Background {
		return e.startJob(call, a, cmd, notes)
	}
	defer cmd.Sandbox.Close()
	cmd.Output = liveOutput(call)
	watch := e.Workspace.BeginCommand(e.ID, call.TurnID)
	res, err := e.runCommand(ctx, call, cmd)
	if note := notRestorable(watch.End()); note != "" {
		notes = append(notes, note)
	}
	if err != nil {
		return nil, err
	}
	notes = append(notes, refusedHosts(cmd.Sandbox)...)
	return bashResult(a, o.MaxTimeout, cmd, res, notes), nil
}

// refusedHosts returns a note that names the hosts to which the proxy refused connections, or nil
// if there are none.
func refusedHosts(plan *sandbox.Plan) []string {
	hosts := plan.Refused()
	if len(hosts) == 0 {
		return nil
	}
	return []string{"Hosts that the command could not connect to: " + joinNames(hosts, nil) + "."}
}

// runCommand runs a command in the editor's terminal if the editor has one and no sandbox is
// required.
func (e *sessionEnv) runCommand(ctx context.Context, call *tool.Call,
	cmd shell.Command) (shell.Result, error) {
	if e.Terminal != nil && cmd.Sandbox == nil {
		if res, ran := e.Terminal(ctx, call, cmd); ran {
			return res, nil
		}
	}
	return e.Runner.Run(ctx, cmd)
}

// spillDir returns the folder for the long outputs of the user's session to which this session
// belongs, so that they can be deleted together with that session.
func (e *sessionEnv) spillDir() string {
	if e.SpillDir == "" || !filepath.IsLocal(e.owner()) {
		return e.SpillDir
	}
	return filepath.Join(e.SpillDir, e.owner())
}

// shellOptions returns the options that apply now, with defaults for those that are not set.
func (e *sessionEnv) shellOptions() (o ShellOptions) {
	if e.Shell != nil {
		o = e.Shell()
	}
	if o.Timeout <= 0 {
		o.Timeout = bashTimeout
	}
	if o.MaxTimeout <= 0 {
		o.MaxTimeout = max(bashMaxTimeout, o.Timeout)
	}
	o.Timeout = min(o.Timeout, o.MaxTimeout)
	return o
}

func (e *sessionEnv) workDir(cwd, dir string) (string, error) {
	if dir == "" {
		dir = "."
	}
	ref, err := e.Workspace.Resolve(cwd, dir)
	if err != nil {
		return "", fmt.Errorf("choosing the folder to run in: %w", err)
	}
	return ref.Path, nil
}

// duration returns the timeout of a command, and a note for the model if the timeout was shortened.
func (o ShellOptions) duration(seconds float64) (time.Duration, string) {
	d := time.Duration(min(seconds, maxSeconds) * float64(time.Second))
	switch {
	case !(seconds > 0):
		return o.Timeout, ""
	case d > o.MaxTimeout && seconds >= bashMillis: // probably milliseconds
		d /= 1000
	}
	if d > o.MaxTimeout {
		return o.MaxTimeout, fmt.Sprintf("The timeout was reduced to the maximum of %.0f s. For a longer run, use background.", o.MaxTimeout.Seconds())
	}
	return d, ""
}

// beforeCommand makes the files on disk match what the user sees by saving the unsaved documents
// below the command's folder. The notes name the documents that could not be saved, and the files
// with proposed changes that are not on disk yet.
func (e *sessionEnv) beforeCommand(ctx context.Context, call *tool.Call,
	dir string) (notes []string, err error) {
	var uris, unsaved []string
	names := map[string]string{}
	for _, d := range e.Workspace.Documents() {
		if !d.Dirty || !d.Ref.IsFile() || !below(dir, d.Ref.Path) {
			continue
		}
		names[d.Ref.URI] = e.shown(call, d.Ref.Path)
		if e.SaveDirty == nil || e.Workspace.Linked(d.Ref) {
			// An editor follows links, so it would write the file to which a command has linked.
			unsaved = append(unsaved, d.Ref.URI)
		} else {
			uris = append(uris, d.Ref.URI)
		}
	}
	if len(uris) > 0 {
		failed, err := e.SaveDirty(ctx, call, uris)
		if err != nil {
			return nil, err
		}
		unsaved = append(unsaved, failed...)
	}
	if len(unsaved) > 0 {
		notes = append(notes, "These files are not saved in the editor, so the command saw older text on disk: "+
			joinNames(unsaved, names)+".")
	}
	if pending := e.pendingFiles(call); len(pending) > 0 {
		notes = append(notes, "Files with proposed changes that are not on disk yet: "+joinNames(pending, nil)+
			".")
	}
	return notes, nil
}

// pendingFiles returns the files for which the session's proposals contain text that is not yet in
// the buffer.
func (e *sessionEnv) pendingFiles(call *tool.Call) (files []string) {
	for _, p := range e.Workspace.Undecided(e.owner(), "") {
		for _, f := range p.Files {
			if f.Placement == workspace.Proposed {
				files = append(files, e.shown(call, f.Ref.Path))
			}
		}
	}
	return files
}

func below(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// maxNames limits the number of names in a note.
const maxNames = 10

func joinNames(names []string, shown map[string]string) string {
	var out []string
	for i, n := range names {
		if i == maxNames {
			out = append(out, fmt.Sprintf("and %d more", len(names)-i))
			break
		}
		if s := shown[n]; s != "" {
			n = s
		}
		out = append(out, n)
	}
	return strings.Join(out, ", ")
}

// liveOutput returns a function that sends output to the client, up to a limit. From the first
// piece that is not text, the function sends nothing more.
func liveOutput(call *tool.Call) func([]byte) {
	left := bashLive
	return func(p []byte) {
		switch {
		case left <= 0:
		case !utf8.Valid(p) || bytes.IndexByte(p, 0) >= 0:
			left = 0
		case len(p) >= left:
			left = 0
			call.Emit("\n[more output follows, which is not shown live]\n")
		default:
			left -= len(p)
			call.Emit(string(p))
		}
	}
}

func bashResult(a bashArgs, most time.Duration, cmd shell.Command, r shell.Result,
	notes []string) *tool.Result {
	var b strings.Builder
	switch out := r.Text(); {
	case r.Total == 0:
		b.WriteString("(no output)")
	case r.Binary():
		fmt.Fprintf(&b, "(%s of binary output, not shown. Write it to a file, or pipe it through xxd or base64.)", plural(int(r.Total), "byte"))
	default:
		b.WriteString(strings.TrimRight(validText(out), "\n"))
	}
	if s := bashEnd(cmd, most, r); s != "" {
		b.WriteString("\n[" + s + "]")
	}
	for _, n := range notes {
		b.WriteString("\n[" + n + "]")
	}
	res := text("%s", b.String())
	res.IsError = r.Aborted // makes the client show the aborted call as canceled
	res.Missed = r.ExitCode != 0 || r.TimedOut || r.Lost
	res.Meta = tool.Meta{Kind: "command", Key: a.Command + "\x00" + cmd.Dir, Spill: r.SpillPath}
	res.Details = details(map[string]any{"exitCode": r.ExitCode, "timedOut": r.TimedOut,
		"aborted": r.Aborted, "durationMs": r.Duration.Milliseconds(), "bytes": r.Total,
		"outputFile": r.SpillPath})
	return res
}

// bashEnd describes how the command ended and what to do next. It returns "" if there is nothing to
// report.
func bashEnd(cmd shell.Command, most time.Duration, r shell.Result) string {
	var parts []string
	if r.TimedOut {
		parts = append(parts, timedOut(cmd.Timeout, most))
	} else if s := r.Status(); s != "" {
		parts = append(parts, s)
	}
	if r.Lingered > 0 && !r.TimedOut && !r.Aborted {
		parts = append(parts, "processes that it left running were terminated; use background for a process that should keep running")
	}
	if r.SandboxDenied != "" {
		parts = append(parts, "the sandbox blocked something: "+r.SandboxDenied+
			". If the command needs this, run it again with outside_sandbox, which asks the user")
	}
	return strings.Join(parts, "; ")
}

// timedOut describes what to do about a timeout.
func timedOut(after, most time.Duration) string {
	switch {
	case most == 0:
		return fmt.Sprintf("stopped after its timeout of %v; start it again with a longer one, or without one",
			after)
	case after >= most:
		return fmt.Sprintf("stopped after the maximum timeout of %v; run it in the background",
			after)
	}
	return fmt.Sprintf("stopped after the timeout of %v; send a longer timeout (at most %v s), or run it in the background", after, most.Seconds())
}
