package tools

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/tools/shell"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

// maxJobWait limits how long a read of a job waits for the job's end.
const maxJobWait = 60 * time.Second

type jobArgs struct {
	Action string  `json:"action,omitempty" jsonschema:"list, read or kill"`
	ID     string  `json:"id,omitempty"`
	Wait   float64 `json:"wait,omitempty" jsonschema:"read: seconds to wait for its end, at most 60"`
}

func (e *sessionEnv) jobTool() tool.Tool {
	return newTool(definition[jobArgs]{
		spec: tool.Spec{
			Name: "job", Label: "Jobs", Effect: tool.ReadOnly, Deferred: true, MaxResult: -1,
			Aliases: []string{"jobs", "bash_output", "bashoutput", "kill_shell", "killshell",
				"task_output", "taskoutput"},
			ParamAliases: map[string]string{"job_id": "id", "jobid": "id", "bash_id": "id",
				"shell_id": "id", "task_id": "id"},
		},
		prepare: func(_ *tool.Call, a jobArgs) tool.Prepared {
			p := tool.Prepared{Run: bind(e.job, a)}
			if a.Action == "kill" {
				p.Effect = tool.Mutates
			}
			return p
		},
	})
}

// startJob runs a command in the background. The session gets a message when the command ends.
func (e *sessionEnv) startJob(call *tool.Call, a bashArgs, cmd shell.Command,
	notes []string) (*tool.Result, error) {
	if cmd.Timeout = 0; a.Timeout > 0 {
		cmd.Timeout, _ = jobDuration(a.Timeout)
	}
	cmd.HeadBytes, cmd.TailBytes = 1, 1 // Jobs stores the output
	cmd.SpillBytes = -1
	watch := e.Workspace.BeginCommand(e.ID, call.TurnID)
	job, err := e.Jobs.Start(Job{SessionID: e.owner(), Kind: "command", Title: a.Command,
		Cwd: cmd.Dir}, func(ctx context.Context, write func([]byte)) JobEnd {
		defer cmd.Sandbox.Close()
		cmd.Output = write
		r, err := e.Runner.Run(ctx, cmd)
		notes := refusedHosts(cmd.Sandbox)
		if note := notRestorable(watch.End()); note != "" {
			notes = append(notes, note)
		}
		end := JobEnd{Note: strings.Join(notes, " ")}
		if err != nil {
			end.Failed, end.Text = true, err.Error()
		} else {
			end.Failed, end.Text = r.ExitCode != 0, bashEnd(cmd, 0, r)
			if r.ExitCode >= 0 {
				end.Code = &r.ExitCode
			}
		}
		return end
	})
	if err != nil {
		watch.End()
		cmd.Sandbox.Close()
		return nil, err
	}
	e.watchJob(job.ID, watch)
	s := fmt.Sprintf("Started job %s. It keeps running while you work; a message reports its end. The job tool reads its output and ends it.", job.ID)
	for _, n := range notes {
		s += "\n[" + n + "]"
	}
	res := text("%s", s)
	res.Activate = []string{"job"}
	res.Details = details(job)
	return res, nil
}

// watchJob stores the recorder of a job's file changes, so that they can be reported while the job
// runs.
func (e *sessionEnv) watchJob(id string, watch *workspace.Command) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.watches == nil {
		e.watches = map[string]*workspace.Command{}
	}
	for id := range e.watches {
		if j, _, err := e.Jobs.Read(id); err != nil || j.Status != "running" {
			delete(e.watches, id)
		}
	}
	e.watches[id] = watch
}

// changedByJob describes what a running job has changed so far.
func (e *sessionEnv) changedByJob(id string) string {
	e.mu.Lock()
	watch := e.watches[id]
	e.mu.Unlock()
	if watch == nil {
		return ""
	}
	return notRestorable(watch.Changed())
}

// notRestorable returns a note that no checkpoint can restore the files that a command changed, or
// "" if it changed none.
func notRestorable(changed []string) string {
	if len(changed) == 0 {
		return ""
	}
	return "Changed by the command, so no checkpoint can restore it: " + joinNames(changed, nil) +
		"."
}

// jobDuration is like ShellOptions.duration but has no maximum. The second result reports whether
// the number was read as milliseconds.
func jobDuration(seconds float64) (time.Duration, bool) {
	seconds = min(seconds, maxSeconds)
	if seconds >= 100*bashMillis { // some models send milliseconds
		return time.Duration(seconds) * time.Millisecond, true
	}
	return time.Duration(seconds * float64(time.Second)), false
}

func (e *sessionEnv) job(ctx context.Context, call *tool.Call, a jobArgs) (*tool.Result, error) {
	if a.Action == "" && a.ID != "" {
		a.Action = "read"
	}
	if a.ID != "" && a.ID != allJobs && !e.ownJob(e.owner(), a.ID) {
		return nil, fmt.Errorf("there is no job %s in this session; the action \"list\" shows the jobs", a.ID)
	}
	switch {
	case a.Action == "" || a.Action == "list":
		return listJobs(e.Jobs.List(e.owner())), nil
	case a.ID == "":
		return nil, errors.New("send the id of a job; the action \"list\" shows the ids")
	case a.Action == "read":
		return e.readJob(ctx, a)
	case a.Action == "kill" && a.ID == allJobs:
		return e.killAll(ctx)
	case a.Action == "kill":
		if err := e.Jobs.Kill(a.ID); err != nil {
			return nil, err
		}
		wait, cancel := context.WithTimeout(ctx, 3*shell.Grace)
		defer cancel()
		_ = e.Jobs.Wait(wait, a.ID)
		return e.readJob(ctx, jobArgs{ID: a.ID})
	}
	return nil, fmt.Errorf("unknown action %q; use list, read or kill", a.Action)
}

// allJobs is the id that stands for all running jobs of the session.
const allJobs = "all"

func (e *sessionEnv) killAll(ctx context.Context) (*tool.Result, error) {
	wait, cancel := context.WithTimeout(ctx, 3*shell.Grace)
	defer cancel()
	list := e.Jobs.List(e.owner())
	for _, j := range list {
		_ = e.Jobs.Kill(j.ID)
	}
	for _, j := range list {
		_ = e.Jobs.Wait(wait, j.ID)
	}
	return listJobs(e.Jobs.List(e.owner())), nil
}

func (e *sessionEnv) ownJob(sessionID, id string) bool {
	for _, j := range e.Jobs.List(sessionID) {
		if j.ID == id {
			return true
		}
	}
	return false
}

func (e *sessionEnv) readJob(ctx context.Context, a jobArgs) (*tool.Result, error) {
	if a.Wait > 0 {
		wait, cancel := context.WithTimeout(ctx,
			time.Duration(min(a.Wait, maxJobWait.Seconds())*float64(time.Second)))
		defer cancel()
		_ = e.Jobs.Wait(wait, a.ID)
	}
	job, out, err := e.Jobs.Read(a.ID)
	if err != nil {
		return nil, err
	}
	if out == "" {
		out = "(no output)"
	}
	note := ""
	if job.Status == "running" {
		if note = e.changedByJob(job.ID); note != "" {
			note = "\n[" + note + "]"
		}
	}
	return text("%s\n%s%s", jobLine(job), cutHead(out, bashHead+bashTail), note), nil
}

// cutHead returns s if it has at most n bytes. Otherwise, it returns a note, followed by about the
// last n bytes of s.
func cutHead(s string, n int) string {
	if len(s) <= n {
		return s
	}
	s = s[len(s)-n:]
	if nl := strings.IndexByte(s, '\n'); nl >= 0 && nl < n/2 {
		s = s[nl+1:]
	}
	return "[only the end is shown]\n" + validText(s)
}

func jobLine(j Job) string {
	s := fmt.Sprintf("%s %s: %s", j.ID, j.Status, oneLine(j.Title, 100))
	if j.End != "" {
		s += " (" + j.End + ")"
	}
	if j.Status == "running" {
		s += fmt.Sprintf(" (for %v)", time.Since(j.StartedAt).Round(time.Second))
	}
	return s
}

func listJobs(jobs []Job) *tool.Result {
	if len(jobs) == 0 {
		return text("There are no jobs. bash with background starts one.")
	}
	var lines []string
	for _, j := range jobs {
		lines = append(lines, jobLine(j))
	}
	return text("%s", strings.Join(lines, "\n"))
}
