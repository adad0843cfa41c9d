package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.lsp.dev/jsonrpc2"

	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
)

// headless runs one turn without an editor. The daemon runs in this process and is used through the
// same wire protocol. The answer or, with --json, the notifications are written to stdout, and
// everything else to stderr (docs/reference/commands.md).
type headless struct {
	p      *program
	json   bool
	live   bool // stdout and stderr are one terminal, which shows the answer while it streams
	view   *view
	client *client
	policy string
	shown  *demo // shows progress, and asks the user if there is one
	answer answer
}

// answer collects the final answer of a turn, which consists of the messages after its last tool
// call.
type answer struct {
	text   strings.Builder
	parted bool // whether another item follows the last message
}

// add processes a completed item. The answer omits retracted messages and messages of sub-agents. A
// reply that was continued after it reached the length limit arrives as several messages, which are
// joined without a gap.
func (a *answer) add(it wire.Item) {
	switch {
	case it.ParentItemID != "":
	case it.Type == "toolCall", it.Type == "userMessage":
		a.text.Reset()
		a.parted = false
	case it.Type != "assistantMessage":
		a.parted = true
	case it.Status == "" && it.Text != nil && *it.Text != "":
		if a.parted && a.text.Len() > 0 {
			a.text.WriteString("\n\n")
		}
		a.text.WriteString(*it.Text)
		a.parted = false
	}
}

// print writes the answer followed by one line break.
func (a *answer) print(w io.Writer) {
	if text := strings.TrimRight(a.text.String(), "\n"); text != "" {
		fmt.Fprintln(w, text)
	}
}

// runFlags are the flags of the run command.
type runFlags struct {
	serveFlags
	json, quiet     bool
	model, session  string
	policy, profile *oneOf
}

// runCommand returns the command that runs one turn. Its exit code reports how the turn ended.
func (p *program) runCommand() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use: `run "prompt"`, Short: "run one turn without an editor",
		Long: "exit codes: 0 completed, 1 failed, 2 invalid usage, 3 no provider is configured, " +
			"130 aborted\nCtrl-C aborts the turn. Without a terminal, every question is refused; " +
			"the turn continues, and the exit code is 0.",
	}
	c.Flags().BoolVar(&f.json, "json", false, "print the notifications as JSON Lines")
	c.Flags().BoolVar(&f.quiet, "quiet", false, "do not print progress, only the answer and errors")
	f.policy = choice(c, "edit-policy", "auto", "edit policy: %s", editPolicies)
	c.Flags().StringVar(&f.model, "model", "", "model to use")
	f.profile = choice(c, "permissions", "", "permission profile: %s", profiles)
	c.Flags().StringVar(&f.session, "session", "", "continue the session with this `ID`")
	c.Flags().BoolVar(&f.verbose, "verbose", false, "also write the log to stderr")
	f.register(c.Flags(), p.env)
	c.Run = p.does(func(ctx context.Context, args []string) int {
		prompt, err := p.readPrompt(strings.Join(args, " "))
		if err != nil {
			return p.wrong("run", err)
		}
		return newHeadless(p, f.json, f.quiet, f.policy.value).
			run(ctx, f.serveFlags, f.settings(), prompt, f.session)
	})
	return c
}

// readPrompt returns the prompt, which it reads from stdin if the argument is "-".
func (p *program) readPrompt(prompt string) (string, error) {
	if prompt == "-" {
		b, err := io.ReadAll(p.stdin)
		if err != nil {
			return "", fmt.Errorf("reading the prompt: %w", err)
		}
		prompt = string(b)
	}
	if strings.TrimSpace(prompt) == "" {
		return "", errors.New(`a prompt is missing: agent-lsp run "what to do" ` +
			`(or - to read it from stdin)`)
	}
	return prompt, nil
}

// settings returns the session's settings that the flags select.
func (f *runFlags) settings() map[string]any {
	settings := map[string]any{"editPolicy": f.policy.value}
	if f.model != "" {
		settings["model"] = f.model
	}
	if f.profile.value != "" {
		settings["permissions"] = map[string]any{"profile": f.profile.value}
	}
	return settings
}

func newHeadless(p *program, asJSON, quiet bool, policy string) *headless {
	progress := p.stderr
	if asJSON || quiet {
		progress = io.Discard
	}
	h := &headless{p: p, json: asJSON, view: newView(progress, p.env), policy: policy}
	h.live = isTerminal(p.stdout) && isTerminal(progress)
	h.shown = &demo{view: h.view, policy: policy, alone: true, events: make(chan event, 1<<16)}
	if isTerminal(p.stdin) && isTerminal(progress) {
		h.shown.desk, h.shown.alone = newDesk(p.stdin), false
	}
	return h
}

// shutdownTime limits how long it may take to shut down the daemon after a headless run.
const shutdownTime = 10 * time.Second

func (h *headless) run(ctx context.Context, f serveFlags, settings map[string]any, prompt,
	session string) int {
	// An interrupt does not stop the daemon immediately, because it first aborts the turn.
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	served := make(chan error, 1)
	go func() {
		err := serve(life, h.daemon(f), f, inR, outW)
		outW.Close()
		served <- err
	}()
	h.client = connect(life, outR, inW,
		&client{version: h.p.version, notify: h.enqueue, request: h.shown.answer, origin: "run"})
	code, err := h.turn(ctx, life, settings, prompt, session)
	bound, stop := context.WithTimeout(life, shutdownTime)
	defer stop()
	_ = h.client.shutdown(bound)
	inW.Close()
	select {
	case ended := <-served:
		if err != nil && ended != nil {
			err = ended // the daemon's error is the cause of err
		}
	case <-bound.Done():
	}
	if err != nil {
		fmt.Fprintln(h.p.stderr, "agent-lsp run:", err)
	}
	return code
}

func (h *headless) turn(ctx, life context.Context, settings map[string]any, prompt,
	session string) (int, error) {
	dir, err := workingFolder()
	if err != nil {
		return exitFailed, err
	}
	h.shown.dir = dir
	if err := h.client.initialize(ctx, dir, settings, true, !h.shown.alone); err != nil {
		return exitFailed, said(err)
	}
	h.shown.client = h.client
	session, err = h.client.prompt(ctx, session, prompt)
	if err != nil {
		h.warnings(ctx)
		return startCode(err), said(err)
	}
	code, err := h.watch(ctx, life, session)
	h.leftOver(session)
	return code, err
}

// warnings shows the messages that the daemon sent before it refused the prompt, because they may
// contain the reason.
func (h *headless) warnings(ctx context.Context) {
	for {
		select {
		case n := <-h.shown.events:
			if n.reply == nil {
				_, _, _ = h.show(ctx, n)
			}
		default:
			return
		}
	}
}

// said converts an error from a request to a message for the user. It removes the method's name. If
// the session is unknown, it adds what to do.
func said(err error) error {
	var e *jsonrpc2.Error
	switch {
	case !errors.As(err, &e):
		return err
	case int(e.Code) == wire.CodeUnknownSession:
		return errors.New(e.Message + "; `agent-lsp sessions list` lists the sessions of this folder")
	}
	return errors.New(e.Message)
}

// daemon returns the program for the in-process daemon. The user sees its warnings as notices, so
// its log is discarded unless --log-file or --verbose requests it.
func (h *headless) daemon(f serveFlags) *program {
	if f.logFile != "" || f.verbose {
		return h.p
	}
	p := *h.p
	p.stderr = io.Discard
	return &p
}

// leftOver reports the refused actions and the proposals that still wait for a decision.
func (h *headless) leftOver(session string) {
	if n := h.shown.denied; n > 0 {
		fmt.Fprintf(h.p.stderr, "agent-lsp run: %s refused because no user was available to ask; use a terminal, --permissions, a rule or `agent-lsp trust` to allow it\n", count(n, "action"))
	}
	if n := h.shown.waits; n > 0 {
		fmt.Fprintf(h.p.stderr, "agent-lsp run: waiting in session %s: %s; resume the session in an editor to review them\n", session, count(n, "proposal"))
	}
}

// count formats a number with a noun, in the singular or plural: "1 action", "2 actions".
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// startCode returns the exit code for a refused prompt.
func startCode(err error) int {
	var e *jsonrpc2.Error
	if errors.As(err, &e) && int(e.Code) == wire.CodeProviderNotConfigured {
		return exitNoProvider
	}
	return exitFailed
}

// watch shows the turn until it ends. An interrupt aborts the turn first.
func (h *headless) watch(ctx, life context.Context, session string) (int, error) {
	interrupted := ctx.Done()
	for {
		n, err := h.shown.next(interrupted)
		switch {
		case err != nil:
			return exitFailed, err
		case n == nil:
			interrupted = nil
			var res json.RawMessage
			if err := h.client.call(life, wire.MethodAbort, map[string]any{"sessionId": session},
				&res); err != nil {
				return exitAborted, err
			}
		default:
			if done, code, err := h.show(ctx, *n); done || err != nil {
				return code, err
			}
		}
	}
}

func (h *headless) show(ctx context.Context, n event) (done bool, code int, err error) {
	if h.json && n.reply == nil {
		fmt.Fprintf(h.p.stdout, "%s\n",
			encodeArgs(map[string]any{"method": n.method, "params": n.params}))
	}
	if n.method == wire.MethodItemCompleted {
		var p wire.ItemEvent
		if err := json.Unmarshal(n.params, &p); err != nil {
			return true, exitFailed, err
		}
		h.answer.add(p.Item)
	}
	if n.method != wire.MethodTurnCompleted {
		if _, err := h.shown.show(ctx, n); err != nil {
			return true, exitFailed, err
		}
		return false, 0, nil
	}
	var p wire.TurnCompleted
	if err := json.Unmarshal(n.params, &p); err != nil {
		return true, exitFailed, err
	}
	h.view.endLine()
	switch p.Turn.Status {
	case "completed":
		if !h.json && !h.live {
			h.answer.print(h.p.stdout)
		}
		return true, exitOK, nil
	case "aborted":
		return true, exitAborted, errors.New("aborted")
	}
	err = errors.New("the turn failed")
	if p.Turn.Error != nil {
		err = errors.New(p.Turn.Error.Message)
	}
	return true, exitFailed, err
}

func (h *headless) enqueue(method string, params json.RawMessage) {
	if strings.HasPrefix(method, "agent/") {
		h.shown.events <- event{method: method, params: params}
	}
}

// encodeArgs encodes a value as JSON. Callers pass only values that can be encoded.
func encodeArgs(v any) json.RawMessage {
	b, _ := json.Marshal(v)
	return b
}
