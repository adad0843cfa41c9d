package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
)

// TestDaemonEndsBeforeTheTurn checks that a caller that waits for a turn gets an error if the
// daemon exits, but only after everything that the daemon had sent is shown.
func TestDaemonEndsBeforeTheTurn(t *testing.T) {
	for name, wait := range map[string]func(*demo) error{
		"demo": func(d *demo) error { _, err := d.prompt(t.Context(), "hello"); return err },
		"run": func(d *demo) error {
			if err := d.client.call(t.Context(), wire.MethodPrompt, nil,
				new(wire.PromptResult)); err != nil {
				return err
			}
			_, err := (&headless{p: &program{}, view: d.view, client: d.client,
				shown: d}).watch(t.Context(), t.Context(), "s")
			return err
		},
	} {
		screen := &bytes.Buffer{}
		d := &demo{view: &view{out: screen}, events: make(chan event, 10)}
		daemonIn, in := io.Pipe()
		out, daemonOut := io.Pipe()
		d.client = connect(t.Context(), out, in, &client{notify: d.enqueue, request: d.answer})
		go endsAtPrompt(t, daemonIn, daemonOut)
		ended := make(chan error, 1)
		go func() { ended <- wait(d) }()
		select {
		case err := <-ended:
			if !errors.Is(err, errGone) || !strings.Contains(screen.String(), "half a") {
				t.Errorf("%s: %v, screen:\n%s", name, err, screen)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("%s still waits after the daemon has exited", name)
		}
	}
}

// endsAtPrompt acts as a daemon that accepts a prompt, sends part of a reply and exits.
func endsAtPrompt(t *testing.T, in io.Reader, out io.WriteCloser) {
	defer out.Close()
	r := bufio.NewReader(in)
	say := func(said string) { fmt.Fprintf(out, "Content-Length: %d\r\n\r\n%s", len(said), said) }
	for prompted := false; !prompted; {
		var size int
		var asked struct {
			ID     json.RawMessage
			Method string
		}
		_, err := fmt.Fscanf(r, "Content-Length: %d\r\n\r\n", &size)
		if err == nil {
			err = json.NewDecoder(io.LimitReader(r, int64(size))).Decode(&asked)
		}
		if err != nil {
			t.Error(err)
			return
		}
		say(`{"jsonrpc":"2.0","id":` + string(asked.ID) + `,"result":{"sessionId":"s"}}`)
		prompted = asked.Method == wire.MethodPrompt
	}
	say(`{"jsonrpc":"2.0","method":"agent/delta","params":{"kind":"text","text":"half a"}}`)
}
