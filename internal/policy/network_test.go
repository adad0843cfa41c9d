package policy

import (
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/policy/hosts"
)

// TestHosts checks how the profiles, the network allow and deny lists, and the rules apply to a
// host.
func TestHosts(t *testing.T) {
	for _, c := range []struct {
		name             string
		profile          Profile
		allow, deny      string
		rule, host, tool string
		want             Action
		reason           string
	}{
		{name: "a new host asks", want: Ask, reason: "example.org"},
		{name: "workspace asks", profile: ProfileWorkspace, want: Ask, reason: "example.org"},
		{name: "trust asks", profile: ProfileTrust, want: Ask, reason: "example.org"},
		{
			name: "readOnly refuses", profile: ProfileReadOnly, allow: "*",
			want: Deny, reason: "readOnly",
		},
		{name: "allowed", allow: "*.example.org", want: Allow},
		{
			name: "deny overrides", allow: "*", deny: "*.example.org", rule: "allow network(*)",
			want: Deny, reason: "network.deny",
		},
		{
			name: "a rule asks about an allowed host", allow: "*", rule: "ask network(*.org)",
			want: Ask, reason: "ask network",
		},
		{
			name: "normalized", rule: "allow network(bücher.example)",
			host: "xn--bcher-kva.example", want: Allow,
		},
		{
			name: "denied by another spelling", rule: "deny network(BÜCHER.example.)",
			host: "xn--bcher-kva.example", want: Deny, reason: "the rule deny network",
		},
		{
			name: "rules for commands are not about hosts", rule: "allow bash(*)",
			tool: "network", want: Ask, reason: "a.example.org",
		},
	} {
		lists, faults := hosts.Parse(strings.Fields(c.allow), strings.Fields(c.deny))
		if len(faults) > 0 {
			t.Fatal(faults)
		}
		s := Settings{Profile: c.profile, Network: lists}
		if c.rule != "" {
			s.Rules = mustRules(t, c.rule)
		}
		host, name := c.host, c.tool
		if host == "" {
			host = "a.example.org"
		}
		if name == "" {
			name = "fetch"
		}
		req := about2(tool.SubjectNetwork, name, tool.Mutates, host)
		v := s.classify(machine{}, s.Rules, &req)
		if v.action != c.want || !strings.Contains(v.reason, c.reason) {
			t.Errorf("%s: %v (%s), want %v", c.name, v.action, v.reason, c.want)
		}
	}
}
