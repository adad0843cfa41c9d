package jsonrpc

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
)

// lines reads all messages from an input. It returns them together with the error responses.
func lines(t *testing.T, in io.Reader) (bodies []string, answers string) {
	t.Helper()
	var written lockedBuffer
	out := NewLineOutbox(&written, `"}`)
	s := NewLineStream(in, out)
	s.End = func(error) { go s.Close() }
	for {
		body, _, err := s.ReadFrame(context.Background())
		if err != nil {
			break
		}
		bodies = append(bodies, string(body))
	}
	out.Close()
	<-out.Done()
	return bodies, string(written.bytes())
}

func TestLines(t *testing.T) {
	long := fmt.Sprintf(`{"jsonrpc":"2.0","id":9,"method":"long","params":{"text":"%s"}}`,
		strings.Repeat("x", 3*readerSize))
	bodies, answers := lines(t, strings.NewReader(ping(1)+"\n\n \r\nnonsense\n"+long+"\n"+ping(2)+
		"\r\n"+ping(3)))
	if want := []string{ping(1), long, ping(2)}; strings.Join(bodies, "\n") != strings.Join(want,
		"\n") {
		t.Errorf("read %.300q", bodies)
	}
	if strings.Count(answers, "\n") != 1 || !strings.Contains(answers, "-32700") {
		t.Errorf("answered %q", answers)
	}
}

func TestALineOverTheLimitIsRefusedByItsID(t *testing.T) {
	for id, want := range map[string]string{`12`: `"id":12,`, `"a-b"`: `"id":"a-b",`,
		`[]`: `"id":null,`} {
		head := `{"jsonrpc":"2.0","id":` + id + `,"method":"m","params":"`
		in := io.MultiReader(strings.NewReader(head), io.LimitReader(zeros{}, MaxFrame),
			strings.NewReader("\n"+ping(7)+"\n"))
		bodies, answers := lines(t, in)
		if len(bodies) != 1 || bodies[0] != ping(7) || !strings.Contains(answers, want) ||
			!strings.Contains(answers, "-32600") {
			t.Errorf("id %s: read %.100q, answered %.300q", id, bodies, answers)
		}
	}
}

func TestDeltasInLinesStayShort(t *testing.T) {
	g := newGate()
	out := NewLineOutbox(g, `"}`)
	put := func(text string) {
		if key := (DeltaKey{"i", "text"}); !out.Merge("s", key, text) {
			out.PutDelta("s", key, []byte(`{"text":"`), text, false)
		}
	}
	put("first")
	<-g.entered
	piece := strings.Repeat("y", maxLine/4)
	for range 9 {
		put(piece)
	}
	close(g.open)
	out.Close()
	<-out.Done()
	written := bytes.Split(bytes.TrimSpace(g.bytes()), []byte("\n"))
	if len(written) != 1+3 {
		t.Errorf("%d lines, want 4", len(written))
	}
	for _, line := range written {
		if len(line) > maxLine+64 || !bytes.HasSuffix(line, []byte(`"}`)) {
			t.Errorf("a line of %d bytes", len(line))
		}
	}
}
