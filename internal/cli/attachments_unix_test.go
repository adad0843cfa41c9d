//go:build unix

package cli

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/rpc/rpctest"
)

// attachedLoot is the content of the secret files in the tests below.
const attachedLoot = "loot-of-the-attachment"

// secretWorkspace fills a folder with secret files, links to them, and files that are not secret.
func secretWorkspace(t *testing.T, dir string) {
	t.Helper()
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		".env": attachedLoot, "KEY.PEM": attachedLoot, "sub/x.txt": "x", "a.txt": "plain",
		".env.example": "plain", ".environment.md": "plain", "settings": attachedLoot,
	} {
		put(t, filepath.Join(dir, name), text)
	}
	for name, to := range map[string]string{
		"link.txt": ".env", "sub/far.txt": "../link.txt", "up": ".", "prod.key": "settings",
		"a-link.txt": "a.txt",
	} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Skip("this system does not support links: ", err)
		}
	}
	if err := os.Link(filepath.Join(dir, ".env"), filepath.Join(dir, "hard.txt")); err != nil {
		t.Skip("this file system does not support hard links: ", err)
	}
}

// attachments are the URIs that the tests attach. $W is the path of the workspace. $O is the path
// of a folder outside the workspace that contains plain.txt, a link to a key.
var attachments = []struct {
	uri, text string // text is the content that the client sends with the URI
	asks      bool
}{
	{"file://$W/.env", "", true},
	{"file://$W/%2Eenv", "", true},
	{"FILE://localhost$W/.env", "", true},
	{"file:$W/.env", "", true},
	{"file://$W/sub/%2e%2e/.env", "", true},
	{"$W/.env", "", true},
	{".env", "", true},
	{"./sub/../.env", "", true},
	{"file://$W/KEY.PEM", "", true},
	{"file://$W/link.txt", "", true},
	{"file://$W/sub/far.txt", "", true},
	{"file://$W/up/up/.env", "", true},
	{"file://$W/prod.key", "", true},
	{"file://$W/hard.txt", "", true},
	{"file://$W/.env", attachedLoot, true},
	{"file://$W/link.txt", attachedLoot, true},
	{"file://$W/hard.txt", attachedLoot, true},
	{"file://$W/.env?version=2", attachedLoot, true},
	{"file://$W/.env#part", attachedLoot, true},
	{"file://$W/.env/", attachedLoot, true},
	{"file://elsewhere/home/.env", attachedLoot, true},
	{"vscode-remote://host/home/u/.ssh/config", attachedLoot, true},
	{"untitled:.env", attachedLoot, true},
	{"file:///outside/id_rsa.pub", attachedLoot, true},
	{"file://$O/plain.txt", attachedLoot, true},
	{"file://$W/%zz/.env", attachedLoot, true},
	{"file://$W/a.txt", "", false},
	{"file://$W/a-link.txt", "", false},
	{"file://$W/.env.example", "", false},
	{"file://$W/.environment.md", "", false},
	{"file://$W/notes.md", "plain", false},
}

// attach returns the content of a prompt that has one attachment.
func attach(uri, text string) []any {
	b := map[string]any{"type": "resource", "uri": uri}
	if text != "" {
		b["text"] = text
	}
	return []any{map[string]any{"type": "text", "text": "look"}, b}
}

// TestSecretAttachmentsAsk checks that the request to the model contains a secret file only if the
// user allows it, however its URI is spelled.
func TestSecretAttachmentsAsk(t *testing.T) {
	r := newReach(t, map[string]any{})
	secretWorkspace(t, r.home)
	outside := t.TempDir()
	put(t, filepath.Join(outside, "id_rsa"), attachedLoot)
	if err := os.Symlink("id_rsa", filepath.Join(outside, "plain.txt")); err != nil {
		t.Fatal(err)
	}
	paths := strings.NewReplacer("$W", r.home, "$O", outside)
	at := 0
	for _, a := range attachments {
		for _, answer := range []string{"Reject", "Allow"} {
			uri := paths.Replace(a.uri)
			r.ed.Auto("window/showMessageRequest",
				json.RawMessage(fmt.Sprintf(`{"title": %q}`, answer)))
			var s struct{ SessionID string }
			r.call("agent/session/new", map[string]any{}, &s)
			r.call("agent/prompt",
				map[string]any{"sessionId": s.SessionID, "prompt": attach(uri, a.text)}, nil)
			r.call("agent/turn/wait", map[string]any{"sessionId": s.SessionID}, nil)
			sent := string(<-r.requests)
			asked := 0
			for _, m := range r.ed.Log(at) {
				if at++; m.Method == "window/showMessageRequest" {
					asked++
				}
			}
			if a.asks && asked != 1 || !a.asks && asked != 0 {
				t.Errorf("%s (%s): %d questions", a.uri, a.text, asked)
			}
			if got := strings.Contains(sent, attachedLoot); got != (a.asks && answer == "Allow") {
				t.Errorf("%s (%s), %s: the model got the content: %v\n%s",
					a.uri, a.text, answer, got, sent)
			}
			if !a.asks && !strings.Contains(sent, "plain") {
				t.Errorf("%s: not attached:\n%s", a.uri, sent)
			}
		}
	}
}

// TestAttachmentChangesAfterTheQuestion checks that the user's answer applies only to the file
// named in the question, even if the link points to another file by then.
func TestAttachmentChangesAfterTheQuestion(t *testing.T) {
	r := newReach(t, map[string]any{})
	secretWorkspace(t, r.home)
	put(t, filepath.Join(r.home, "other.pem"), "other-loot")
	link := filepath.Join(r.home, "link.txt")
	at := 0
	for _, text := range []string{"", attachedLoot} {
		var s struct{ SessionID string }
		r.call("agent/session/new", map[string]any{}, &s)
		r.call("agent/prompt", map[string]any{
			"sessionId": s.SessionID, "prompt": attach(rpctest.URIOf(link), text)}, nil)
		m, next, err := r.ed.Next(at, "window/showMessageRequest", "{}", true)
		if err != nil {
			t.Fatal(err)
		}
		at = next
		if !strings.Contains(string(m.Params), "/.env") {
			t.Errorf("the question is about %s", m.Params)
		}
		swap(t, link, "other.pem")
		if err := r.ed.Reply(m, json.RawMessage(`{"title": "Allow"}`)); err != nil {
			t.Fatal(err)
		}
		r.call("agent/turn/wait", map[string]any{"sessionId": s.SessionID}, nil)
		sent := string(<-r.requests)
		if strings.Contains(sent, "other-loot") {
			t.Errorf("the model got a file that the user was not asked about:\n%s", sent)
		}
		// The permission also covers the text that the client sent with the attachment. This text
		// is used even though the link now points to another file.
		if got := strings.Contains(sent, attachedLoot); got != (text != "") {
			t.Errorf("with the text %q the model got the content: %v", text, got)
		}
		swap(t, link, ".env")
	}
}

func swap(t *testing.T, link, to string) {
	t.Helper()
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(to, link); err != nil {
		t.Fatal(err)
	}
}

// TestSecretAttachmentsAskInACP is TestSecretAttachmentsAsk for the content types that ACP defines.
func TestSecretAttachmentsAskInACP(t *testing.T) {
	provider := &listener{}
	server := httptest.NewServer(provider)
	defer server.Close()
	dir := t.TempDir()
	secretWorkspace(t, dir)
	c := startACP(t, "OPENAI_API_KEY=k", "OPENAI_BASE_URL="+server.URL, "OPENAI_MODEL=m")
	env := rpctest.URIOf(filepath.Join(dir, ".env"))
	link := func(name string) any {
		return map[string]any{"type": "resource_link", "name": name,
			"uri": rpctest.URIOf(filepath.Join(dir, name))}
	}
	resource := func(content map[string]any) any {
		return map[string]any{"type": "resource", "resource": content}
	}
	blob := base64.StdEncoding.EncodeToString([]byte(attachedLoot))
	for what, content := range map[string]any{
		"link": link(".env"), "link to a link": link("link.txt"), "hard link": link("hard.txt"),
		"lines": map[string]any{"type": "resource_link", "name": "x", "uri": env + "#L1"},
		"text":  resource(map[string]any{"uri": env, "text": attachedLoot}),
		"blob":  resource(map[string]any{"uri": env, "blob": blob, "mimeType": "text/plain"}),
		"blob in a secret folder": resource(map[string]any{
			"uri":  rpctest.URIOf(filepath.Join(dir, ".aws", "config")),
			"blob": blob, "mimeType": "text/plain"}),
	} {
		for _, answer := range []string{"reject_once", "allow_once"} {
			var asked []string
			c.permit = func(method string, message []byte) any {
				asked = append(asked, method+" "+string(message))
				return map[string]any{"outcome": map[string]any{
					"outcome": "selected", "optionId": answer}}
			}
			provider.take()
			c.call("session/prompt", map[string]any{"sessionId": c.session(dir), "prompt": []any{
				map[string]any{"type": "text", "text": "look"}, content}})
			sent, _ := json.Marshal(provider.take())
			if len(asked) != 1 || !strings.Contains(asked[0], "session/request_permission") {
				t.Errorf("%s: asked %q", what, asked)
			}
			if got := strings.Contains(string(sent), attachedLoot); got !=
				(answer == "allow_once") {
				t.Errorf("%s, %s: the model got the content: %v", what, answer, got)
			}
		}
	}
	if code := c.end(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
}
