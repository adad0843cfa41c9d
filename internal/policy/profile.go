package policy

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/policy/hosts"
	"github.com/agent-lsp/agent-lsp/internal/policy/sandbox"
)

// Profile determines which actions require approval (docs/use/permissions.md).
type Profile string

// The profiles, from the most to the least restrictive.
const (
	ProfileReadOnly  Profile = "readOnly"
	ProfileAsk       Profile = "ask" // the default
	ProfileWorkspace Profile = "workspace"
	ProfileTrust     Profile = "trust"
)

var profileOrder = map[Profile]int{ProfileReadOnly: 0, ProfileAsk: 1, ProfileWorkspace: 2,
	ProfileTrust: 3}

// ParseProfile parses a profile's name. An empty name is the default profile.
func ParseProfile(s string) (Profile, error) {
	if s == "" {
		return ProfileAsk, nil
	}
	if _, ok := profileOrder[Profile(s)]; !ok {
		return ProfileReadOnly, fmt.Errorf("reading permissions.profile: %q is not one of readOnly, ask, workspace, trust", s)
	}
	return Profile(s), nil
}

// Settings is the policy of one session. The zero value is the default profile without rules.
type Settings struct {
	Profile  Profile
	Rules    []Rule
	Sandbox  sandbox.Setting
	Roots    []string // absolute; paths in rules are relative to them
	Writable []string // additional folders that sandboxed commands may write to
	Network  hosts.Lists
	Own      OwnFiles
	// Plan makes the session read-only until the user has approved a plan.
	Plan bool
	// Unreadable reports that this session's commands run in a shell whose syntax Classify cannot
	// parse.
	Unreadable bool
	// Parent is the session whose policy bounds this one (for a sub-agent), or "".
	Parent string
}

// profile returns the profile in force.
func (s Settings) profile() Profile {
	if s.Plan {
		return ProfileReadOnly
	}
	if _, ok := profileOrder[s.Profile]; !ok {
		return ProfileAsk
	}
	return s.Profile
}

// Under returns the settings bounded by a parent's settings: the more restrictive profile, the
// stricter sandbox, all rules of the parent, and only the deny and ask rules of the session itself.
func (s Settings) Under(parent Settings) Settings {
	out := s
	out.Plan = s.Plan || parent.Plan
	out.Unreadable = s.Unreadable || parent.Unreadable
	out.Profile = s.profile()
	if s.Plan {
		out.Profile = s.Profile
	}
	if profileOrder[parent.profile()] < profileOrder[out.Profile] || out.Profile == "" {
		out.Profile = parent.profile()
	}
	out.Rules = append([]Rule(nil), parent.Rules...)
	for _, r := range s.Rules {
		if r.Action != Allow {
			out.Rules = append(out.Rules, r)
		}
	}
	out.Sandbox = stricter(s.Sandbox, parent.Sandbox)
	out.Network = s.Network.Under(parent.Network)
	out.Roots, out.Writable = parent.Roots, parent.Writable
	return out
}

func stricter(a, b sandbox.Setting) sandbox.Setting {
	if a == sandbox.Require || b == sandbox.Require {
		return sandbox.Require
	}
	if a == sandbox.Off && b == sandbox.Off {
		return sandbox.Off
	}
	return sandbox.Auto
}

// verdict is the policy's decision before the user is asked.
type verdict struct {
	action Action
	reason string // shown to the user in a question, sent to the model with a refusal
	grants []string
	class  *Classification
	place  Place // where the command would run
	// enforced reports that the command runs in a sandbox that enforces the policy.
	enforced bool
	// secrets lists the resolved paths of the secret files that a command names. If the command is
	// allowed, it may read these files.
	secrets []string
	// files contains the hashes of the files in the roots that the command runs by path. The keys
	// are the paths.
	files map[string]string
}

// machine describes the host. It affects decisions but is not part of the session.
type machine struct {
	box      sandbox.Support
	readable bool // Classify understands the shell
}

// classify decides without asking the user. rules are the configured rules, then the grants.
func (s Settings) classify(m machine, rules []Rule, req *tool.ApprovalRequest) verdict {
	if req.Subject == nil {
		return s.judgeSilent(req)
	}
	switch req.Subject.Kind {
	case tool.SubjectCommand:
		return s.judgeCommand(m, rules, req.Subject)
	case tool.SubjectEdit, tool.SubjectRead:
		return s.judgePaths(rules, req)
	case tool.SubjectMCP, tool.SubjectNetwork:
		return s.judgeNamed(rules, req)
	}
	if s.profile() == ProfileReadOnly && req.Effect != tool.ReadOnly {
		return s.judgeSilent(req)
	}
	return verdict{action: Ask, reason: "only you can decide this"}
}

// judgeSilent decides about tools without a subject. They never require approval, but the read-only
// profile refuses those that change something, unless they are bounded.
func (s Settings) judgeSilent(req *tool.ApprovalRequest) verdict {
	if s.profile() == ProfileReadOnly && req.Effect != tool.ReadOnly && !req.Tool.Bounded {
		return verdict{action: Deny, reason: s.readOnlyReason(req.Tool.Name + " changes something")}
	}
	return verdict{action: Allow}
}

func (s Settings) readOnlyReason(what string) string {
	if s.Plan {
		return what + ", and until the user has approved a plan only reading is allowed"
	}
	return what + ", and the profile readOnly allows only reading"
}

func (s Settings) judgeCommand(m machine, all []Rule, sub *tool.Subject) verdict {
	if s.Sandbox == sandbox.Require && !m.box.Available() {
		return verdict{action: Deny, reason: "commands must run in a sandbox (sandbox: require), but this machine has no sandbox: " + m.box.Why}
	}
	c := Classify(sub.Command)
	if !m.readable {
		c.Opaque, c.Class = true, max(c.Class, Mutates)
		c.Reasons = append(c.Reasons, "agent-lsp does not analyze commands for the shell of this machine")
	}
	rules, index := about(all, tool.SubjectCommand, "bash")
	by := judgeCommand(rules, sub.Command, c)
	place, why := s.place(m, sub, c)
	if place != Outside && !s.enforced(m) && by.decided && by.action == Allow &&
		!s.named(rules, sub, c) {
		by = commandVerdict{action: Ask}
	}
	secrets := secretsNamed(sub, c)
	v := s.commandByProfile(m, sub, c, by, why)
	if len(secrets) > 0 && !spelledOut(rules, sub.Command, c, secrets) {
		v = s.withSecrets(v, secrets)
	}
	v.class, v.place, v.secrets = &c, place, pathsOf(secrets)
	v.enforced = place == Inside && s.enforced(m)
	if v.action == Allow && by.decided {
		for _, i := range by.used {
			v.grants = append(v.grants, all[index[i]].grant())
		}
	}
	return v
}

// withSecrets turns the verdict on a command that names secret files into a question. The user
// decides about these files in every profile except readOnly, which never asks.
func (s Settings) withSecrets(v verdict, secrets []secretFile) verdict {
	switch {
	case v.action == Deny:
		return v
	case s.profile() == ProfileReadOnly:
		return verdict{action: Deny, reason: s.readOnlyReason(whySecret(secrets))}
	case v.action == Ask && v.reason != "":
		return verdict{action: Ask, reason: whySecret(secrets) + "; " + v.reason}
	}
	return verdict{action: Ask, reason: whySecret(secrets)}
}

// grant returns the rule as it is recorded in the decision.
func (r Rule) grant() string { return r.Tool + "(" + r.Pattern + ")" }

// commandByProfile combines the verdict of the rules with the profile. Deny rules come first, then
// the read-only profile, then ask rules, and finally allow rules and the other profiles. No rule
// and no profile lets a command leave the sandbox. leaving is the reason why the command would have
// to leave the sandbox, or "" if it would not.
func (s Settings) commandByProfile(
	m machine,
	sub *tool.Subject,
	c Classification,
	by commandVerdict,
	leaving string,
) verdict {
	boxed := s.enforced(m)
	unasked := boxed || m.readable && shortListed(sub.Command, sub.Cwd, s.Roots)
	switch p := s.profile(); {
	case by.action == Deny:
		return verdict{action: Deny, reason: by.reason}
	case p == ProfileReadOnly && !unasked:
		return verdict{action: Deny, reason: s.readOnlyReason(unenforced(c, s, m))}
	case p == ProfileReadOnly && c.Class > ReadOnly:
		return verdict{action: Deny, reason: s.readOnlyReason(strings.Join(c.Reasons, "; "))}
	case p == ProfileReadOnly && leaving != "":
		return verdict{action: Deny, reason: s.readOnlyReason(leaving)}
	case leaving != "" && s.Sandbox == sandbox.Require:
		return verdict{action: Deny, reason: "commands must run in the sandbox (sandbox: require)"}
	case leaving != "":
		return verdict{action: Ask, reason: leaving}
	case by.action == Ask && by.decided:
		return verdict{action: Ask, reason: by.reason}
	case p == ProfileTrust, by.decided, c.Class == ReadOnly && unasked, p == ProfileWorkspace &&
		boxed:
		return verdict{action: Allow}
	case p == ProfileWorkspace:
		return verdict{action: Ask, reason: noBox(s, m, "there is no sandbox to run it in")}
	}
	return verdict{action: Ask, reason: unenforced(c, s, m)}
}

// unenforced returns the reason why a command requires approval or is refused. The reason is either
// the command's effects, or the lack of a sandbox that restricts it to reading.
func unenforced(c Classification, s Settings, m machine) string {
	if c.Class > ReadOnly {
		return strings.Join(c.Reasons, "; ")
	}
	return noBox(s, m, "there is no sandbox that limits it to reading")
}

// enforced reports whether the session has a sandbox that enforces the policy (see
// sandbox.Support.Enforces).
func (s Settings) enforced(m machine) bool {
	return m.box.Enforces() && s.Sandbox != sandbox.Off
}

// noBox explains why no sandbox enforces the policy, or what this system's sandbox does not
// enforce.
func noBox(s Settings, m machine, none string) string {
	if s.Sandbox != sandbox.Off && m.box.Available() {
		return "the sandbox of this machine (" + string(m.box.Kind) +
			") does not hide secret files" +
			" or protect files that start programs"
	}
	return none + ": " + boxWhy(s, m)
}

func boxWhy(s Settings, m machine) string {
	if s.Sandbox == sandbox.Off {
		return "it is switched off"
	}
	return m.box.Why
}

// about returns the rules that apply to a subject, and their indexes in all.
func about(all []Rule, kind tool.SubjectKind, tool string) ([]Rule, []int) {
	var rules []Rule
	var index []int
	for i := range all {
		if all[i].concerns(kind, tool) {
			rules, index = append(rules, all[i]), append(index, i)
		}
	}
	return rules, index
}

// judgePaths decides about reads and edits of files. The edit policy decides about edits inside the
// roots, so only protected files, rules and the read-only profile matter here. Edits of protected
// files require approval in every profile. Every path must be allowed.
func (s Settings) judgePaths(all []Rule, req *tool.ApprovalRequest) verdict {
	kind := req.Subject.Kind
	if kind == tool.SubjectEdit && s.profile() == ProfileReadOnly {
		return verdict{action: Deny, reason: s.readOnlyReason("it edits files")}
	}
	rules, _ := about(all, kind, req.Tool.Name)
	if kind == tool.SubjectEdit {
		rules = append(rules, againstReading(all)...)
	}
	out := verdict{action: Allow}
	for _, path := range req.Subject.Paths {
		path = localPath(path)
		protected := protectedRead(path)
		if kind == tool.SubjectEdit {
			protected = s.protectedEdit(path)
		}
		if linked := linkedSecret(s.Roots, path); protected == "" && linked != "" {
			protected = "it is also " + s.inRoot(linked) + ", which usually contains secrets"
		}
		v := verdict{action: Allow}
		if protected != "" {
			v = verdict{action: Ask, reason: protected}
		}
		if r := strictest(rules, func(r *Rule) bool {
			return r.matchPath(path,
				s.Roots)
		}); r != nil {
			v = verdict{action: r.Action, reason: "the rule " + r.String() + " says so"}
			if r.Action == Allow {
				out.grants = append(out.grants, r.grant())
			}
		}
		if v.action > out.action {
			v.grants = out.grants
			out = v
		}
	}
	return out
}

// againstReading returns the deny and ask rules about reading. They also apply to edits, because
// the result of an edit, above all of one that fails, shows lines of the file.
func againstReading(all []Rule) []Rule {
	rules, _ := about(all, tool.SubjectRead, "read")
	return slices.DeleteFunc(rules, func(r Rule) bool { return r.Action == Allow })
}

// strictest returns the matching rule with the strictest action.
func strictest(rules []Rule, fits func(*Rule) bool) *Rule {
	var best *Rule
	for i := range rules {
		if fits(&rules[i]) && (best == nil || rules[i].Action > best.Action) {
			best = &rules[i]
		}
	}
	return best
}

// judgeNamed decides about MCP tools and hosts.
func (s Settings) judgeNamed(all []Rule, req *tool.ApprovalRequest) verdict {
	rules, _ := about(all, req.Subject.Kind, req.Tool.Name)
	network := req.Subject.Kind == tool.SubjectNetwork
	r := strictest(rules, func(r *Rule) bool {
		switch {
		case kinds[r.Tool] == "" && r.Pattern == "*":
			return true
		case network:
			return r.matchHost(req.Subject.Name)
		}
		return r.matchName(req.Subject.Name) ||
			req.Subject.Origin != "" && r.matchName(req.Subject.Origin)
	})
	p := s.profile()
	switch {
	case network && s.Network.Denied(req.Subject.Name):
		return verdict{action: Deny, reason: "network.deny contains " + req.Subject.Name}
	case r != nil && r.Action == Deny:
		return verdict{action: Deny, reason: "the rule " + r.String() + " says so"}
	case p == ProfileReadOnly && req.Effect != tool.ReadOnly:
		return verdict{action: Deny, reason: s.readOnlyReason(req.Tool.Name +
			" can change something")}
	case r != nil && r.Action == Ask:
		return verdict{action: Ask, reason: "the rule " + r.String() + " says so"}
	case r != nil:
		return verdict{action: Allow, grants: []string{r.grant()}}
	case network && s.Network.Allowed(req.Subject.Name):
		return verdict{action: Allow}
	case network:
		return verdict{action: Ask, reason: "it sends a request to " + req.Subject.Name}
	case p == ProfileTrust:
		return verdict{action: Allow}
	}
	return verdict{action: Ask, reason: "it runs a tool on a server that agent-lsp cannot inspect"}
}

func localPath(p string) string {
	if rest, ok := strings.CutPrefix(p, "file://"); ok {
		return filepath.Clean(filepath.FromSlash(unescapeURI(rest)))
	}
	return filepath.Clean(p)
}
