package app

import (
	"context"
	"errors"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/config"
	"github.com/agent-lsp/agent-lsp/internal/policy/hosts"
	"github.com/agent-lsp/agent-lsp/internal/policy/proxy"
	"github.com/agent-lsp/agent-lsp/internal/policy/sandbox"
)

// askHost asks whether a running call may connect to a host. It returns nil if it may, or the
// reason for the refusal. The time that the user takes to answer does not count toward the call's
// time limit.
func (d *daemon) askHost(ctx context.Context, call *tool.Call, host, title string) error {
	resume := call.Paused()
	defer resume()
	waiting := false
	request := hostRequest(call, host)
	request.Subject.Title = title
	request.Waiting = func() {
		waiting = true
		call.Report(tool.Update{Status: tool.StatusAwaitingPermission})
	}
	decision, err := d.policy.Approve(ctx, request)
	if waiting {
		call.Report(tool.Update{Status: tool.StatusRunning})
	}
	switch {
	case err != nil:
		return err
	case !decision.Allow:
		return errors.New(decision.Reason)
	}
	return nil
}

// hostRequest returns the request for a connection of a call to a host.
func hostRequest(call *tool.Call, host string) tool.ApprovalRequest {
	return tool.ApprovalRequest{
		SessionID: call.SessionID, TurnID: call.TurnID, ItemID: call.ItemID, CallID: call.ID,
		Tool: tool.Spec{Name: string(tool.SubjectNetwork)}, Effect: tool.Mutates, Cwd: call.Cwd,
		Subject: &tool.Subject{Kind: tool.SubjectNetwork, Name: host},
	}
}

// proxyFor returns a function that sets up the proxy for a sandboxed command's traffic.
func (d *daemon) proxyFor(call *tool.Call) func() (*sandbox.Proxy, error) {
	var args struct{ Background bool }
	if call.Decode(&args) == nil && args.Background {
		job := *call // the process outlives the call and the turn, so copy the call
		job.Update, job.Pause, job.TurnID, job.ItemID = nil, nil, "", ""
		call = &job
	}
	return func() (*sandbox.Proxy, error) {
		release := d.policy.Hold(call.SessionID)
		run, err := d.shared.proxy.Begin(proxy.Command{
			Ask: func(ctx context.Context, host, port string) error {
				return d.askHost(ctx, call, host, connectTitle(host, port))
			},
			Refused: func(host string) error {
				if why := d.policy.Refuses(hostRequest(call, host)); why != "" {
					return errors.New(why)
				}
				return nil
			},
			Lists: func() hosts.Lists { return d.policy.Settings(call.SessionID).Network },
		})
		if err != nil {
			release()
			return nil, err
		}
		return &sandbox.Proxy{Socket: run.Socket(), Token: run.Token(),
			Run: traffic{run, release}}, nil
	}
}

// traffic keeps the policy of a command's session until the command has ended. A background job of
// a sub-agent may outlive the sub-agent's session.
type traffic struct {
	*proxy.Run
	release func()
}

// Close implements sandbox.Traffic.
func (t traffic) Close() {
	t.Run.Close()
	t.release()
}

// connectTitle returns the question about a host. The question contains the port only if it is not
// the port of HTTP or HTTPS.
func connectTitle(host, port string) string {
	title := "Let the running command connect to " + host
	if port != "443" && port != "80" {
		title += ", port " + port
	}
	return title
}

// DescribeHosts returns lines for the user about the hosts that the settings allow and deny, and
// about their effect in this machine's sandbox.
func DescribeHosts(c *config.Config) []string { return describeHosts(c, sandbox.Detect()) }

func describeHosts(c *config.Config, box sandbox.Support) []string {
	var allow, deny []string
	if c.Network != nil {
		allow, deny = c.Network.Allow, c.Network.Deny
	}
	list := func(hosts []string) string {
		if len(hosts) == 0 {
			return "none"
		}
		return strings.Join(hosts, ", ")
	}
	lines := []string{
		"hosts allowed without asking (network.allow): " + list(allow),
		"hosts denied (network.deny): " + list(deny),
	}
	if sandbox.Setting(c.Sandbox) != sandbox.Off && box.Available() && !box.Proxies() {
		lines = append(lines, "notice: commands in this sandbox cannot reach any host, not even those in "+
			"network.allow; a command that needs a host must ask to run outside the sandbox")
	}
	return lines
}

// networkLists returns the hosts that the settings allow and deny. It also returns an error for
// each entry that cannot be parsed.
func networkLists(c *config.Config) (hosts.Lists, []error) {
	if c.Network == nil {
		return hosts.Lists{}, nil
	}
	return hosts.Parse(c.Network.Allow, c.Network.Deny)
}
