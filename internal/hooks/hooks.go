// Package hooks runs external commands at fixed points of a session and its turns. A command reads
// JSON from stdin and may write a decision as JSON to stdout, within a time limit.
//
// A command that exits with code 2 denies the action, and its stderr is the reason. Any other
// failure, including invalid output, is an error. The engine treats an error as a denial if the
// hook may deny, and otherwise reports it. Hooks come from the user's own settings or from a
// trusted workspace. docs/reference/hooks.md describes each point. Start at New.
package hooks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/tools/shell"
)

// Limits and defaults.
const (
	// DefaultTimeout limits the run time of a hook if its settings specify no limit.
	DefaultTimeout = 30 * time.Second
	// maxOutput is the maximum size of a hook's output in bytes.
	maxOutput = 256 << 10
	// denyCode is the exit code with which a hook denies the action.
	denyCode = 2
)

// The points at which hooks run.
const (
	BeforeRun   = "beforeRun"
	AfterRun    = "afterRun"
	BeforeModel = "beforeModel"
	AfterModel  = "afterModel"
	BeforeTool  = "beforeTool"
	AfterTool   = "afterTool"
	BeforeFinal = "beforeFinal"

	SessionStart     = "sessionStart"
	SessionEnd       = "sessionEnd"
	SubagentStart    = "subagentStart"
	SubagentEnd      = "subagentEnd"
	BeforePrompt     = "beforePrompt"
	BeforeCompact    = "beforeCompact"
	AfterCompact     = "afterCompact"
	BeforePermission = "beforePermission"
)

// Config is the configuration of one command.
type Config struct {
	Matcher string // glob of tool names, for tool and permission points; "" matches all
	Command string
	Args    []string
	Env     []string // the command's complete environment
	Dir     string
	Timeout time.Duration // 0 means DefaultTimeout
	Allowed func() error  // returns the reason why the command may not start; may be nil
}

// New returns the hooks for the commands of each point. The error names the points that do not
// exist.
func New(runner *shell.Runner, points map[string][]Config) ([]agent.Hook, error) {
	var out []agent.Hook
	for point, configs := range points {
		wrap := wrappers[point]
		if wrap == nil {
			continue
		}
		for _, c := range configs {
			out = append(out, wrap(&command{runner: runner, point: point, conf: c}))
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].HookName() < out[j].HookName() })
	return out, Check(slices.Collect(maps.Keys(points)))
}

// Check returns an error that names the points that do not exist, or nil.
func Check(points []string) error {
	var unknown []string
	for _, p := range points {
		if wrappers[p] == nil {
			unknown = append(unknown, p)
		}
	}
	if unknown == nil {
		return nil
	}
	sort.Strings(unknown)
	return fmt.Errorf("hooks: unknown point %s; the points are %s", strings.Join(unknown, ", "),
		strings.Join(Points(), ", "))
}

// Points returns the points in alphabetical order.
func Points() []string {
	var out []string
	for p := range wrappers {
		out = append(out, p)
	}
	sort.Strings(out)
	return out
}

// wrappers maps each point to a function that wraps a command in a hook type for that point. The
// engine calls a hook at every point that its type implements.
var wrappers = map[string]func(*command) agent.Hook{
	BeforeRun:   func(c *command) agent.Hook { return beforeRun{c} },
	AfterRun:    func(c *command) agent.Hook { return afterRun{c} },
	BeforeModel: func(c *command) agent.Hook { return beforeModel{c} },
	AfterModel:  func(c *command) agent.Hook { return afterModel{c} },
	BeforeTool:  func(c *command) agent.Hook { return beforeTool{c} },
	AfterTool:   func(c *command) agent.Hook { return afterTool{c} },
	BeforeFinal: func(c *command) agent.Hook { return beforeFinal{c} },

	SessionStart:     func(c *command) agent.Hook { return sessionStart{c, false} },
	SessionEnd:       func(c *command) agent.Hook { return sessionEnd{c, false} },
	SubagentStart:    func(c *command) agent.Hook { return sessionStart{c, true} },
	SubagentEnd:      func(c *command) agent.Hook { return sessionEnd{c, true} },
	BeforePrompt:     func(c *command) agent.Hook { return beforePrompt{c} },
	BeforeCompact:    func(c *command) agent.Hook { return beforeCompact{c} },
	AfterCompact:     func(c *command) agent.Hook { return afterCompact{c} },
	BeforePermission: func(c *command) agent.Hook { return beforePermission{c} },
}

// Input is the data that a hook reads.
//
//house:wire
type Input struct {
	Point     string          `json:"point"`
	SessionID string          `json:"sessionId,omitzero"`
	TurnID    string          `json:"turnId,omitzero"`
	Cwd       string          `json:"cwd,omitzero"`
	Tool      string          `json:"tool,omitzero"`
	CallID    string          `json:"callId,omitzero"`
	Args      json.RawMessage `json:"args,omitzero"`
	Result    string          `json:"result,omitzero"`
	IsError   bool            `json:"isError,omitzero"`
	System    string          `json:"system,omitzero"`
	Messages  int             `json:"messages,omitzero"`
	Answer    string          `json:"answer,omitzero"`
	Status    string          `json:"status,omitzero"`
	EndReason string          `json:"endReason,omitzero"`
	Prompt    string          `json:"prompt,omitzero"`
	Parent    string          `json:"parentSessionId,omitzero"`
	Restored  bool            `json:"restored,omitzero"`

	Strategy     string `json:"strategy,omitzero"`
	Tokens       int    `json:"tokens,omitzero"`
	TokensBefore int    `json:"tokensBefore,omitzero"`
	TokensAfter  int    `json:"tokensAfter,omitzero"`
	Window       int    `json:"window,omitzero"`
	Must         bool   `json:"must,omitzero"`

	Title   string   `json:"title,omitzero"`
	Kind    string   `json:"kind,omitzero"`
	Command string   `json:"command,omitzero"`
	Paths   []string `json:"paths,omitzero"`
	Reason  string   `json:"reason,omitzero"`
}

// Output is the output of a hook. All fields are optional.
type Output struct {
	Decision string          `json:"decision"` // "", allow, deny
	Reason   string          `json:"reason"`   // reason for a denial
	Args     json.RawMessage `json:"args"`     // for beforeTool, replaces the arguments
	// For beforeTool, Result is used instead of calling the tool. For afterTool, it replaces the
	// tool's result.
	Result *string `json:"result"`
	System *string `json:"system"` // for beforeModel, added to the system prompt
	Stop   bool    `json:"stop"`   // for afterTool, the turn ends with this result
	// Context is sent to the model and not shown to the user (sessionStart, subagentStart,
	// beforePrompt).
	Context string `json:"context"`

	Instructions string `json:"instructions"` // for beforeCompact, instructions for the summary
}

// denied returns the reason why the output denies, or "" if it does not.
func (o *Output) denied() string {
	switch {
	case o.Decision != "deny":
		return ""
	case o.Reason == "":
		return "a hook denied it without giving a reason"
	}
	return o.Reason
}

// command is one configured command for one point.
type command struct {
	runner *shell.Runner
	point  string
	conf   Config
}

func (c *command) HookName() string {
	return c.point + " " + strings.Join(append([]string{c.conf.Command}, c.conf.Args...), " ")
}

func (c *command) HookTimeout() time.Duration {
	if c.conf.Timeout > 0 {
		return c.conf.Timeout
	}
	return DefaultTimeout
}

// Concerns implements agent.MatchHook.
func (c *command) Concerns(tool string) bool { return c.matches(tool) }

func (c *command) matches(tool string) bool {
	if c.conf.Matcher == "" {
		return true
	}
	ok, err := path.Match(c.conf.Matcher, tool)
	return ok && err == nil
}

// run runs the command and reads its decision.
func (c *command) run(ctx context.Context, in Input) (*Output, error) {
	in.Point = c.point
	if s := agent.SessionOf(ctx); s.ID != "" {
		in.SessionID, in.Cwd, in.Parent = s.ID, s.Cwd, s.Parent
	}
	body, err := json.Marshal(in)
	if err != nil {
		return nil, err
	}
	if c.conf.Allowed != nil {
		if err := c.conf.Allowed(); err != nil {
			return nil, err
		}
	}
	ctx, stop := context.WithTimeoutCause(ctx, c.HookTimeout(),
		fmt.Errorf("it did not end within %v", c.HookTimeout()))
	defer stop()
	proc, err := c.runner.Start(ctx, shell.Command{
		Argv: append([]string{c.conf.Command}, c.conf.Args...), Env: c.conf.Env, Dir: c.conf.Dir})
	if err != nil {
		return nil, err
	}
	defer proc.Stdout.Close() // otherwise the pipe would stay open until garbage collection
	// The goroutine ends with the process, which closes the pipe's other end.
	go func() {
		_, _ = proc.Stdin.Write(body)
		proc.Stdin.Close()
	}()
	out, err := readAll(proc.Stdout)
	if err != nil {
		proc.Kill()
	}
	res, werr := proc.Wait()
	if werr != nil {
		return nil, werr
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return c.decision(res, out, proc.Stderr(), err)
}

func (c *command) decision(res shell.Result, out []byte, stderr string,
	err error) (*Output, error) {
	switch {
	case err != nil:
		return nil, err
	case res.ExitCode == denyCode:
		return &Output{Decision: "deny", Reason: strings.TrimSpace(stderr)}, nil
	case res.ExitCode != 0:
		return nil, fmt.Errorf("it exited with code %d: %s", res.ExitCode,
			strings.TrimSpace(stderr))
	}
	o := new(Output)
	if out = bytes.TrimSpace(out); len(out) == 0 {
		return o, nil
	}
	if err := json.Unmarshal(out, o); err != nil {
		return nil, fmt.Errorf("its output is not a decision: %w: %.100s", err, out)
	}
	return o, nil
}

// readAll reads all output. It returns an error if there are more than maxOutput bytes.
func readAll(r interface{ Read([]byte) (int, error) }) ([]byte, error) {
	var b bytes.Buffer
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		b.Write(buf[:n])
		if b.Len() > maxOutput {
			return nil, fmt.Errorf("it printed more than %d KiB", maxOutput>>10)
		}
		if err != nil {
			return b.Bytes(), nil
		}
	}
}

// errDenied returns a denial as an error.
func errDenied(o *Output) error {
	if why := o.denied(); why != "" {
		return errors.New(why)
	}
	return nil
}
