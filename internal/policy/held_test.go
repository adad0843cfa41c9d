package policy

import (
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/policy/hosts"
)

// A program that outlives its session, such as a background job of a sub-agent, keeps the policies
// of the session and its parents until the program ends.
func TestAHeldPolicyOutlivesItsSession(t *testing.T) {
	e, err := NewEngine(Options{})
	if err != nil {
		t.Fatal(err)
	}
	deny, _ := hosts.Parse(nil, []string{"evil.example"})
	denied := func() bool {
		v := e.check(&tool.ApprovalRequest{
			SessionID: "child", Tool: tool.Spec{Name: "network"}, Effect: tool.Mutates,
			Subject: &tool.Subject{Kind: tool.SubjectNetwork, Name: "evil.example"},
		})
		return v.action == Deny && e.Settings("child").Network.Denied("evil.example")
	}
	configure := func() {
		e.Configure("parent", Settings{Network: deny})
		e.Configure("child", Settings{Parent: "parent"})
	}
	configure()
	first, second := e.Hold("child"), e.Hold("child")
	e.Forget("child")
	e.Forget("parent")
	if !denied() {
		t.Error("the policy ended with its session")
	}
	first()
	first() // has no further effect
	if !denied() {
		t.Error("the policy ended although a program holds it")
	}
	second()
	if denied() || len(e.sessions) > 0 || len(e.holding) > 0 || len(e.ended) > 0 {
		t.Errorf("not removed: %v %v %v", e.sessions, e.holding, e.ended)
	}
	// A session that is loaded again does not end with the program.
	configure()
	again := e.Hold("child")
	e.Forget("child")
	e.Forget("parent")
	configure()
	again()
	if !denied() {
		t.Error("the end of a program ended a session")
	}
}

func TestSecretNames(t *testing.T) {
	for _, name := range []string{".env", ".npmrc", ".ENVRC", "id_rsa", "server.pem"} {
		if !Secret("/w/" + name) {
			t.Error(name, "is not secret")
		}
	}
	for _, folder := range []string{"/w", "/w/.ssh", "/w/a/.Config", "/w/.cargo", "/w/gcloud/x"} {
		is := SecretNames(folder)
		for _, name := range []string{
			".env", "PROD.ENV", ".env.example", "main.go", "gh", "credentials", "credentials-x",
			"Credentials.toml", ".npmrc", ".ENVRC", "id_rsa", "server.pem", "hosts.yml",
		} {
			if got := is(name); got != Secret(folder+"/"+name) {
				t.Errorf("%s in %s: %v", name, folder, got)
			}
		}
	}
}
