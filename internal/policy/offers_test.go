package policy

import (
	"context"
	"slices"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/policy/sandbox"
)

// TestMCPToolsPerProfile checks what each profile decides about MCP tools. A tool's claim to be
// read-only never replaces the user's approval.
func TestMCPToolsPerProfile(t *testing.T) {
	for _, c := range []struct {
		profile Profile
		effect  tool.Effect
		want    Action
	}{
		{ProfileReadOnly, tool.Mutates, Deny}, {ProfileReadOnly, tool.ReadOnly, Ask},
		{ProfileAsk, tool.Mutates, Ask}, {ProfileAsk, tool.ReadOnly, Ask},
		{ProfileWorkspace, tool.Mutates, Ask}, {ProfileWorkspace, tool.ReadOnly, Ask},
		{ProfileTrust, tool.Mutates, Allow}, {ProfileTrust, tool.ReadOnly, Allow},
	} {
		e := newEngine(t, nil, boxed, nil)
		e.Configure("s", Settings{Profile: c.profile})
		req := about2(tool.SubjectMCP, "db__query", c.effect, "db/query")
		if got := e.check(&req); got.action != c.want {
			t.Errorf("%s, effect %v: %v, want %v", c.profile, c.effect, got.action, c.want)
		}
	}
}

// TestNamesOfToolsInRules checks that a rule can deny a request by any of the names of its tool.
func TestNamesOfToolsInRules(t *testing.T) {
	root := t.TempDir()
	build := command("s", "make")
	edit := about2(tool.SubjectEdit, "patch", tool.Mutates, "", root+"/a")
	read := about2(tool.SubjectRead, "grep", tool.ReadOnly, "", root+"/a")
	query := about2(tool.SubjectMCP, "db__query", tool.Mutates, "db/query")
	host := about2(tool.SubjectNetwork, "web_search", tool.Mutates, "example.org")
	all := []*tool.ApprovalRequest{&build, &edit, &read, &query, &host}
	for rule, want := range map[string][]*tool.ApprovalRequest{
		"deny bash(make)": {&build}, "deny shell(make)": {&build}, "deny command(make)": {&build},
		"deny edit(a)": {&edit}, "deny write(a)": {&edit}, "deny patch(a)": {&edit},
		"deny read(a)": {&edit, &read}, "allow read(a)": nil, "deny gr*(a)": {&read},
		"deny mcp(db/*)": {&query}, "deny mcp(db/query)": {&query}, "deny db__*(*)": {&query},
		"deny network(example.org)": {&host}, "deny fetch(example.org)": {&host},
		"deny web_*(*)": {&host}, "deny *(*)": all, "deny none(*)": nil,
	} {
		e := newEngine(t, nil, boxed, nil)
		e.Configure("s", Settings{
			Profile: ProfileTrust, Roots: []string{root}, Rules: mustRules(t, rule),
		})
		for _, req := range all {
			denied := e.check(req).action == Deny
			if denied != slices.Contains(want, req) {
				t.Errorf("%s: denied %s: %v", rule, req.Tool.Name, denied)
			}
		}
	}
}

// TestAlwaysIsNotOfferedForWhatOnlyASandboxLimits checks that, without a sandbox, "always" is not
// offered for commands whose arguments determine what is replaced, fetched, published or installed.
func TestAlwaysIsNotOfferedForWhatOnlyASandboxLimits(t *testing.T) {
	none := sandbox.Support{Kind: sandbox.None, Why: "a test"}
	for _, script := range []string{
		"cp a b", "mv a b", "ln a b", "npm install x", "npm update",
		"go get x", "cargo add x", "pip install x", "docker run x", "go test ./... && cp a b",
		"make test", "mkdir a",
	} {
		for _, box := range []sandbox.Support{boxed, none} {
			user := &scriptedUser{answer: always(Reply{})}
			e := newEngine(t, user, box, nil)
			if _, err := e.Approve(context.Background(), command("s", script)); err != nil {
				t.Fatal(err)
			}
			offered := slices.ContainsFunc(user.batches[0][0].Options, func(o Option) bool {
				return o.Kind == AllowAlways
			})
			want := box.Kind == sandbox.Own || script == "make test" || script == "mkdir a"
			if offered != want {
				t.Errorf("%s: always is offered for %q: %v", box.Kind, script, offered)
			}
		}
	}
}
