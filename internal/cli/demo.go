package cli

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

// sample is a tiny project with a real bug, its own check, and the model's script.
//
//go:embed sample
var sample embed.FS

const (
	samplePrompt = "The check fails. Find the cause and fix it."
	// unsavedLine is only in the demo's editor buffer, never on disk, to show that unsaved text
	// survives.
	unsavedLine = "# Used by the weekly report. (typed in the editor, not saved)\n"
	// demoComment is the comment that the demo sends when it automatically refuses the second hunk.
	demoComment = "keep the word sum, because other scripts read it"
)

// demo acts as an editor for the user at a terminal.
type demo struct {
	view    *view
	desk    *desk // nil if no user can be asked
	dir     string
	client  *client
	events  chan event
	sample  bool               // plays the sample; answers automatically if there is no user
	alone   bool               // rejects pending changes, because no user can decide
	calls   map[string]string  // labels of the calls that were shown, by item
	decided map[string]outcome // results of the decisions that this process made, by proposal
	policy  string             // the edit policy, if the caller chose one
	waits   int                // number of proposals that are still undecided
	refused int                // number of proposals rejected because no user was available
	denied  int                // number of calls refused because no user was available
}

// event is one message from the daemon. Messages are handled in order, so that a question appears
// after the events that led to it, and nothing is printed while the question is open.
type event struct {
	method string
	params json.RawMessage
	ctx    context.Context // context of a request; canceled when the request is withdrawn
	reply  chan<- any      // nil for a notification
}

// demoCommand returns the command that shows a complete turn. It uses a sample and a scripted
// model, or the user's own folder and the configured model with --workspace.
func (p *program) demoCommand() *cobra.Command {
	c := &cobra.Command{
		Use:               `demo [--workspace DIR ["prompt"]]`,
		Short:             "show a whole turn on a sample project, without a key or network",
		ValidArgsFunction: cobra.NoFileCompletions,
		Long: "exit codes: 0 done, 1 failed, 2 invalid usage, 3 no provider is configured, " +
			"130 interrupted",
	}
	workspace := folder(c, "workspace",
		"folder to work on, with the configured model, instead of the sample")
	policy := choice(c, "edit-policy", "",
		"edit policy for --workspace: %s (auto without a terminal)", editPolicies)
	c.Args = func(_ *cobra.Command, args []string) error {
		if *workspace == "" && len(args) > 0 {
			return fmt.Errorf("%w: the sample has its own prompt; to send yours, "+
				"add --workspace DIR", unexpected(args[0]))
		}
		return nil
	}
	c.Run = p.does(func(ctx context.Context, args []string) int {
		return p.demo(ctx, *workspace, policy.value, strings.Join(args, " "))
	})
	return c
}

func (p *program) demo(ctx context.Context, workspace, policy, prompt string) int {
	d := &demo{view: newView(p.stdout, p.env), policy: policy, events: make(chan event, 1<<16)}
	if isTerminal(p.stdin) && isTerminal(p.stdout) {
		d.desk = newDesk(p.stdin)
	}
	var err error
	if workspace == "" {
		d.sample = true
		err = d.playSample(ctx, p)
	} else {
		if d.alone = d.desk == nil; d.alone && d.policy == "" {
			d.policy = "auto" // the same policy as in the run command
		}
		err = d.playFolder(ctx, p, workspace, prompt)
	}
	if err == nil {
		return exitOK
	}
	d.view.endLine()
	if ctx.Err() != nil {
		fmt.Fprintln(p.stderr, "agent-lsp demo: interrupted")
		return exitAborted
	}
	fmt.Fprintln(p.stderr, "agent-lsp demo:", said(err))
	return startCode(err)
}

// playSample runs the complete demo on a copy of the sample.
func (d *demo) playSample(ctx context.Context, p *program) error {
	dir, err := os.MkdirTemp("", "agent-lsp-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if d.dir, err = filepath.EvalSymlinks(dir); err != nil {
		return err
	}
	script, err := unpackSample(d.dir)
	if err != nil {
		return err
	}
	defer os.Remove(script)
	d.view.title("A sample project with a bug, in " + d.dir)
	before := d.check("Its check, before the fix")
	state, err := os.MkdirTemp("", "agent-lsp-demo-state-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(state)
	env := append(
		p.env,
		"AGENT_LSP_SCRIPT="+script,
		"XDG_STATE_HOME="+state,
		"XDG_CONFIG_HOME="+state,
	)
	return d.withDaemon(ctx, env, func() error { return d.sampleJob(ctx, before) })
}

func (d *demo) sampleJob(ctx context.Context, failedBefore bool) error {
	uri := workspace.URIOfPath(filepath.Join(d.dir, "stats.sh"))
	disk, err := os.ReadFile(filepath.Join(d.dir, "stats.sh"))
	if err != nil {
		return err
	}
	head, rest, _ := strings.Cut(string(disk), "\n")
	d.view.title("The editor opens stats.sh and adds a line without saving it")
	d.view.diffLine("+" + strings.TrimSuffix(unsavedLine, "\n"))
	if err := d.client.open(ctx, uri, "shellscript", head+"\n"+unsavedLine+rest); err != nil {
		return err
	}
	session, err := d.prompt(ctx, samplePrompt)
	if err != nil {
		return err
	}
	if err := d.client.save(uri); err != nil {
		return err
	}
	failedAfter := d.check("The check, after the fix")
	d.view.note(survived(d.client.text(uri)))
	if err := d.undoAndRedo(ctx, session, uri); err != nil {
		return err
	}
	if failedBefore && failedAfter && d.desk == nil {
		return errors.New("the check still fails after the edit was accepted")
	}
	return nil
}

func survived(text string) string {
	if strings.Contains(text, unsavedLine) {
		return "The unsaved line is still there, because the edit changed the editor's buffer."
	}
	return "The unsaved line is gone. This is a bug; please report it."
}

// undoAndRedo undoes the turn's edit and then undoes the undo. This works because each restore also
// creates a checkpoint.
func (d *demo) undoAndRedo(ctx context.Context, session, uri string) error {
	var list wire.CheckpointListResult
	if err := d.client.call(
		ctx,
		wire.MethodCheckpointList,
		map[string]any{"sessionId": session},
		&list,
	); err != nil {
		return err
	}
	if len(list.Checkpoints) == 0 {
		d.view.note("Nothing was changed, so there is nothing to undo.")
		return nil
	}
	d.view.title("Undo, then undo the undo")
	after := d.client.text(uri)
	var undo wire.CheckpointRestoreResult
	id := list.Checkpoints[len(list.Checkpoints)-1].CheckpointID
	if err := d.client.call(
		ctx,
		wire.MethodCheckpointRestore,
		map[string]any{"checkpointId": id},
		&undo,
	); err != nil {
		return err
	}
	d.view.note(
		fmt.Sprintf(
			"Restored the state before the turn: %d file changed, the unsaved line is kept.",
			len(undo.Changes),
		),
	)
	var redo wire.CheckpointRestoreResult
	if err := d.client.call(
		ctx,
		wire.MethodCheckpointRestore,
		map[string]any{"checkpointId": undo.UndoCheckpointID},
		&redo,
	); err != nil {
		return err
	}
	if d.client.text(uri) != after {
		return errors.New("undoing the restore did not bring the edit back")
	}
	d.view.note("Undid the restore: the edit is back.")
	return nil
}

// playFolder prompts the configured model in one of the user's folders.
func (d *demo) playFolder(ctx context.Context, p *program, folder, prompt string) error {
	dir, err := filepath.Abs(folder)
	if err != nil {
		return err
	}
	if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		return fmt.Errorf("%s is not a folder", folder)
	}
	if prompt == "" {
		return errors.New(`a prompt is missing: agent-lsp demo --workspace DIR "what to do"`)
	}
	d.dir = dir
	return d.withDaemon(ctx, p.env, func() error {
		_, err := d.prompt(ctx, prompt)
		if err == nil && d.refused > 0 {
			return fmt.Errorf(
				"%s rejected because there is no terminal for your decision; use --edit-policy auto, or collect to decide later",
				count(d.refused, "proposal"),
			)
		}
		return err
	})
}

// withDaemon starts a daemon as an editor does, and runs f while the daemon is running.
func (d *demo) withDaemon(ctx context.Context, env []string, f func() error) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, exe, "serve")
	cmd.Env, cmd.Dir = env, d.dir
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	var log strings.Builder
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting the daemon: %w", err)
	}
	d.client = connect(ctx, stdout, stdin, &client{notify: d.enqueue, request: d.answer})
	settings := map[string]any{}
	if d.policy != "" {
		settings["editPolicy"] = d.policy
	}
	err = d.client.initialize(ctx, d.dir, settings, true, true)
	if err == nil {
		err = f()
	}
	if err == nil {
		err = d.client.shutdown(ctx)
	}
	stdin.Close()
	if werr := cmd.Wait(); err == nil && werr != nil {
		err = fmt.Errorf("the daemon failed: %w: %s", werr, log.String())
	}
	return err
}

// errGone means that the daemon ended while the demo was waiting for a message.
var errGone = errors.New("the daemon ended before the turn did")

// next returns the daemon's next message, or nil if interrupted is closed first. After the daemon
// has ended, it returns the remaining messages and then errGone.
func (d *demo) next(interrupted <-chan struct{}) (*event, error) {
	select {
	case e := <-d.events:
		return &e, nil
	case <-interrupted:
		return nil, nil
	case <-d.client.conn.Done():
	}
	select {
	case e := <-d.events:
		return &e, nil
	default:
		return nil, errGone
	}
}

func (d *demo) enqueue(method string, params json.RawMessage) {
	d.events <- event{method: method, params: params}
}

// unpackSample copies the sample into dir and writes the model's script next to it.
func unpackSample(dir string) (script string, err error) {
	script = dir + ".jsonl"
	return script, fs.WalkDir(sample, "sample", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := sample.ReadFile(path)
		if err != nil {
			return err
		}
		target := filepath.Join(dir, e.Name())
		if e.Name() == "model.jsonl" {
			target = script
		}
		return os.WriteFile(target, data, 0o644)
	})
}

// check runs the sample's own check, shows its output and reports whether it failed.
func (d *demo) check(title string) bool {
	d.view.title(title + ": sh check.sh")
	cmd := exec.Command("sh", "check.sh")
	cmd.Dir = d.dir
	out, err := cmd.CombinedOutput()
	d.view.output(string(out))
	d.view.verdict(err == nil)
	return err != nil
}
