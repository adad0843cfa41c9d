package rpctest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

// scripted returns an editor whose daemon sends the given messages and then only answers requests.
func scripted(t *testing.T, messages ...string) *Editor {
	t.Helper()
	outR, outW := io.Pipe()
	inR, inW := io.Pipe()
	send := func(body string) {
		fmt.Fprintf(outW, "Content-Length: %d\r\n\r\n%s", len(body), body)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer outW.Close()
		for _, m := range messages {
			send(m)
		}
		in := bufio.NewReader(inR)
		for {
			body, err := readFrame(in)
			if err != nil {
				return
			}
			var m Message
			if json.Unmarshal(body, &m) == nil && m.isRequest() {
				send(fmt.Sprintf(`{"id":%s,"error":{"code":-32601,"message":"x"}}`, m.ID))
			}
		}
	}()
	t.Cleanup(func() { inW.Close(); <-ended })
	return NewEditor(outR, inW)
}

// A wait for a message that can no longer arrive ends long before Patience, both when no turn is
// running and when the turn waits for the client.
func TestNextFailsSoon(t *testing.T) {
	awaiting := []string{
		`{"method":"agent/turn/started","params":{"sessionId":"s","turnId":"t"}}`,
		`{"method":"agent/item/updated",` +
			`"params":{"item":{"itemId":"i","status":"awaitingReview"}}}`,
		`{"method":"agent/session/updated","params":{"sessionId":"s","status":"awaiting"}}`,
	}
	for _, c := range []struct {
		why      string
		messages []string
	}{
		{"no turn is running", nil},
		{"every call of the turn is waiting for the client", awaiting},
	} {
		t.Run(c.why, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			_, _, err := scripted(t, c.messages...).Next(0, "agent/item/completed", "", false)
			if err == nil || !strings.Contains(err.Error(), c.why) {
				t.Errorf("the error is %v, not %q", err, c.why)
			}
			if took := time.Since(start); took > Patience/2 {
				t.Errorf("it took %v", took)
			}
		})
	}
}
