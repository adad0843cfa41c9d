package langserver

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

// unstarted returns a server that never answers. Messages to it stay in its connection.
func (h *harness) unstarted() *server {
	s := &server{hub: h.hub, conf: Config{Name: "fake",
		Languages: map[string]string{".fk": "fake"}}, root: h.root, ready: make(chan struct{}),
		open:     openDocuments{docs: map[string]*document{}},
		problems: problems{diags: map[string]*published{}, pulled: map[string]*published{}},
		work:     map[string]string{}, news: make(chan struct{})}
	s.c = newConn(s.handle, floodCount)
	return s
}

func (h *harness) file(name string) *workspace.File {
	h.t.Helper()
	ref, err := h.ws.Resolve(h.root, name)
	if err != nil {
		h.t.Fatal(err)
	}
	f, err := h.ws.Read(context.Background(), ref)
	if err != nil {
		h.t.Fatal(err)
	}
	return f
}

// TestFileGoneWhileItIsAskedAbout covers the case in which one request for a file's diagnostics is
// waiting while another one finds that the file no longer exists, and closes the file.
func TestFileGoneWhileItIsAskedAbout(t *testing.T) {
	h := newHarness(t, Options{word: time.Millisecond}, "a.fk: call b")
	s, f, ctx := h.unstarted(), h.file("a.fk"), context.Background()
	if err := errors.Join(s.sync(ctx, f), os.Remove(filepath.Join(h.root, "a.fk")),
		s.sync(ctx)); err != nil {
		t.Fatal(err)
	}
	res, err := h.hub.ownDiagnostics(ctx, &render{h: h.hub, ctx: ctx, cwd: h.root}, s, f)
	if err != nil || !strings.Contains(res.Text, "not ready") {
		t.Errorf("the answer is %v, %v", res, err)
	}
}

// TestTextThatCouldNotBeSentIsSentAgain checks that a server that did not read for some time
// receives the current text when it reads again.
func TestTextThatCouldNotBeSentIsSentAgain(t *testing.T) {
	h := newHarness(t, Options{}, "a.fk: one")
	s, ctx := h.unstarted(), context.Background()
	block := func() {
		for len(s.c.frames.out) < cap(s.c.frames.out) {
			s.c.frames.out <- nil
		}
	}
	sent := func() string {
		var all strings.Builder
		for len(s.c.frames.out) > 0 {
			all.Write(<-s.c.frames.out)
		}
		return all.String()
	}
	for _, c := range []struct{ text, want string }{{"one", "didOpen"}, {"two", "didChange"}} {
		h.write("a.fk: " + c.text)
		block()
		if s.sync(ctx, h.file("a.fk")) == nil {
			t.Fatal("a server that reads nothing caused no error")
		}
		sent()
		if err := s.sync(ctx, h.file("a.fk")); err != nil {
			t.Fatal(err)
		}
		if got := sent(); !strings.Contains(got, c.want) || !strings.Contains(got, c.text) {
			t.Errorf("%s is not sent: %q", c.text, got)
		}
	}
}

// Version numbers restart when a file is reopened. Diagnostics that were published earlier with a
// higher version do not apply to the new text.
func TestReopenedFileIsNotFreshByItsOldVersion(t *testing.T) {
	h := newHarness(t, Options{word: time.Millisecond}, "a.fk: one")
	s, ctx := h.unstarted(), context.Background()
	sync := func(text string) *workspace.File {
		h.write("a.fk: " + text)
		f := h.file("a.fk")
		if err := s.sync(ctx, f); err != nil {
			t.Fatal(err)
		}
		return f
	}
	f := sync("one")
	sync("two")
	s.publish([]byte(`{"uri":"` + f.Ref.URI + `","version":2,"diagnostics":[]}`))
	if err := errors.Join(os.Remove(filepath.Join(h.root, "a.fk")), s.sync(ctx)); err != nil {
		t.Fatal(err)
	}
	f = sync("call broken")
	res, err := h.hub.ownDiagnostics(ctx, &render{h: h.hub, ctx: ctx, cwd: h.root}, s, f)
	if err != nil || !strings.Contains(res.Text, "no data") {
		t.Errorf("the answer is %q, %v", res.Text, err)
	}
	s.publish([]byte(`{"uri":"` + f.Ref.URI + `","version":1,"diagnostics":[]}`))
	res, err = h.hub.ownDiagnostics(ctx, &render{h: h.hub, ctx: ctx, cwd: h.root}, s, f)
	if err != nil || !strings.Contains(res.Text, "clean") {
		t.Errorf("the answer to the new text is %q, %v", res.Text, err)
	}
}

// If a server repeatedly reports that its content was modified, as some do while loading, the
// client pauses between two requests.
func TestModifiedContentIsNotAskedForInALoop(t *testing.T) {
	h := newHarness(t, Options{QueryTimeout: 4 * againAfter})
	s := h.unstarted()
	answers, answer := io.Pipe()
	questions, ask := io.Pipe()
	over := make(chan struct{})
	go func() { defer close(over); _ = s.c.run(answers, ask) }()
	asked := 0
	done := make(chan struct{})
	go func() {
		defer close(done)
		r := bufio.NewReader(questions)
		for {
			if _, err := readFrame(r); err != nil {
				return
			}
			asked++
			body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"error":{"code":%d,"message":"content `+
				`modified"}}`, asked, codeContentModified)
			fmt.Fprintf(answer, "Content-Length: %d\r\n\r\n%s", len(body), body)
		}
	}()
	if _, err := s.call(context.Background(), "textDocument/hover", nil); err == nil {
		t.Error("there is an answer")
	}
	answer.Close()
	<-over
	questions.Close()
	<-done
	if asked > 6 {
		t.Errorf("it was asked %d times", asked)
	}
}
