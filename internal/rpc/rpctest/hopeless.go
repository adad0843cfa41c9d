package rpctest

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// A wait that cannot succeed must fail soon and name its line, instead of waiting for Patience. The
// editor sends probes, which are requests that the daemon must answer, to find out whether the
// daemon has other messages left to send. The wait fails after a number of probes instead of a
// time, so that a busy machine gets more time.
const (
	probeCount = 40
	probePause = 100 * time.Millisecond
	// settle is how long a hopeless wait continues if the daemon does not answer the probes.
	settle = 30 * time.Second
)

// vigil is the state of one wait. The editor's lock guards it.
type vigil struct {
	since   time.Time // time at which the wait became hopeless
	settled bool      // whether the probes were answered and no other message arrived
}

// given returns the reason why the wait is hopeless, if no message has arrived for long enough. The
// caller holds the lock.
func (e *Editor) given(hopeless func() string, v *vigil) string {
	if hopeless == nil {
		return ""
	}
	why := hopeless()
	switch {
	case why == "":
		*v = vigil{}
	case v.since.IsZero():
		v.since = time.Now()
		go e.probe(v, v.since, len(e.log))
		time.AfterFunc(settle, func() {
			e.mu.Lock()
			defer e.mu.Unlock()
			e.changed.Broadcast()
		})
	case v.settled || time.Since(v.since) >= settle:
		return why
	}
	return ""
}

// probe sends probes. It settles a vigil after probeCount responses if no other message has
// arrived.
func (e *Editor) probe(v *vigil, since time.Time, received int) {
	for n := 0; n < probeCount; n++ {
		if !e.ask() {
			return
		}
		time.Sleep(probePause)
		e.mu.Lock()
		over := v.since != since || e.ended != nil
		if len(e.log) != received {
			n, received = 0, len(e.log)
		}
		e.mu.Unlock()
		if over {
			return
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	v.settled = v.since == since && len(e.log) == received
	e.changed.Broadcast()
}

// ask sends a request that no server knows and waits for its response. It reports whether a
// response arrived.
func (e *Editor) ask() bool {
	answered := make(chan struct{})
	e.mu.Lock()
	e.nextProbe++
	id := strconv.Quote("probe" + strconv.Itoa(e.nextProbe))
	e.activity.probes[id] = answered
	e.mu.Unlock()
	err := e.conn.write(map[string]any{
		"jsonrpc": "2.0", "id": json.RawMessage(id), "method": "agent/greaseRequest",
	})
	if err != nil {
		return false
	}
	select {
	case <-answered:
		return true
	case <-time.After(settle):
		return false
	}
}

// probed processes the response to a probe. Such responses are not part of the script. The caller
// holds the lock.
func (e *Editor) probed(m *Message) bool {
	answered, ok := e.activity.probes[string(m.ID)]
	if !ok || !m.isAnswer() {
		return false
	}
	delete(e.activity.probes, string(m.ID))
	close(answered)
	return true
}

// followItem tracks the state of the sessions and their items. The caller must hold the lock.
func (e *Editor) followItem(m *Message) {
	var p struct {
		SessionID string `json:"sessionId"`
		Status    string `json:"status"`
		Item      struct {
			ItemID string `json:"itemId"`
			Status string `json:"status"`
		} `json:"item"`
	}
	item := strings.HasPrefix(m.Method, "agent/item/")
	if !item && m.Method != "agent/session/updated" || json.Unmarshal(m.Params, &p) != nil {
		return
	}
	switch {
	case item && m.Method != "agent/item/completed" && p.Item.Status == "running":
		e.activity.working[p.Item.ItemID] = true
	case item:
		delete(e.activity.working, p.Item.ItemID)
	case p.Status != "":
		e.activity.status[p.SessionID] = p.Status
	}
}

// stalled reports whether the daemon is waiting for the client: at least one session waits, no
// session and no item is running, and the client has no open request. The caller holds the lock.
func (e *Editor) stalled() bool {
	awaiting := false
	for _, s := range e.activity.status {
		if s == "running" {
			return false
		}
		awaiting = awaiting || s == "awaiting"
	}
	return awaiting && len(e.activity.working) == 0 && len(e.calls) == 0
}
