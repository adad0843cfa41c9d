package rpc

import (
	"strconv"
	"sync"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/host"
	"github.com/agent-lsp/agent-lsp/internal/jsonrpc"
	"github.com/agent-lsp/agent-lsp/internal/rpc/agentapi"
	"github.com/agent-lsp/agent-lsp/internal/rpc/conn"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
)

// notifier converts the host's notifications to agent/* notifications for one connection.
type notifier struct {
	out   *jsonrpc.Outbox
	begin sync.Once // limits Subscribe to one call
}

var _ host.Subscriber = (*notifier)(nil)

// subscribe makes the host send the client agent/* notifications.
func (s *server) subscribe() {
	s.notifier.begin.Do(func() {
		s.link.Attached.Store(true)
		s.api.Host().Clients().Subscribe(s.notifier)
	})
}

// unsubscribe ends the notifications. When it returns, no further notification gets a sequence
// number, so the sessions' stores can record the last number.
func (s *server) unsubscribe() {
	s.notifier.begin.Do(func() {})
	s.link.Attached.Store(false)
	if h := s.api.Host(); h != nil {
		h.Clients().Unsubscribe(s.notifier)
	}
}

// Notify sends a notification.
func (n *notifier) Notify(note host.Notification) {
	if e, ok := note.Event.(agent.StateChanged); ok {
		n.out.PutState(note.SessionID, encodeState(note.SessionID, note.Seq, e.State))
		return
	}
	stamp := wire.Stamp{SessionID: note.SessionID, Seq: note.Seq, Replay: note.Replay}
	method, params := agentapi.Notification(stamp, note.Event)
	n.out.PutEvent(note.SessionID, notification(method, params))
}

// Delta is called for every piece of text. For speed, it encodes the notification without the JSON
// library.
func (n *notifier) Delta(sessionID string, seq int64, d agent.ItemDelta) {
	key := jsonrpc.DeltaKey{ItemID: d.ItemID, Kind: string(d.Kind)}
	isOutput := d.Kind == agent.DeltaToolOutput
	n.out.PutDelta(sessionID, key, deltaPrefix(sessionID, seq, d), d.Text, isOutput)
}

// Merge adds a piece of text to a queued delta of the same item.
func (n *notifier) Merge(sessionID string, d agent.ItemDelta) bool {
	key := jsonrpc.DeltaKey{ItemID: d.ItemID, Kind: string(d.Kind)}
	return n.out.Merge(sessionID, key, d.Text)
}

// Replace replaces a queued state with a later one.
func (n *notifier) Replace(sessionID string, seq int64, state agent.State) bool {
	encode := func() []byte { return encodeState(sessionID, seq, state) }
	return n.out.ReplaceState(sessionID, encode)
}

func encodeState(sessionID string, seq int64, state agent.State) []byte {
	u := agentapi.SessionUpdated(state)
	u.SessionID, u.Seq = sessionID, seq
	return notification(wire.MethodSessionUpdated, u)
}

// deltaPrefix returns a delta's frame up to the opening quote of its text. IDs are also escaped,
// because they are opaque and may come from a client.
func deltaPrefix(sessionID string, seq int64, d agent.ItemDelta) []byte {
	b := make([]byte, 0, 256+len(d.Text)+len(d.Text)/8)
	b = append(b, `{"jsonrpc":"2.0","method":"`+wire.MethodDelta+`","params":{"sessionId":"`...)
	b = jsonrpc.AppendEscaped(b, sessionID)
	b = append(b, `","seq":`...)
	b = strconv.AppendInt(b, seq, 10)
	b = append(b, `,"turnId":"`...)
	b = jsonrpc.AppendEscaped(b, d.TurnID)
	b = append(b, `","itemId":"`...)
	b = jsonrpc.AppendEscaped(b, d.ItemID)
	b = append(b, `","kind":"`...)
	b = append(b, d.Kind...)
	return append(b, `","text":"`...)
}

// notification encodes a whole message.
func notification(method string, params any) []byte {
	return conn.Frame(method, agentapi.Encode(params))
}
