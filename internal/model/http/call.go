package modelhttp

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/retry"
)

// Call is one request in progress, with the data that is kept from its answer. It belongs to one
// goroutine.
type Call struct {
	Client  *Client
	Model   string            // model for errors and prices; "" if the request is not a model call
	Req     *agent.Request    // nil if the request is not a model call
	On      func(agent.Delta) // counts each delta of the reply and forwards it
	Builder BodyBuilder       // collects the encodings for Body
	Ctx     context.Context   // context of the request; it ends when the call ends
	Body    *Body             // nil means that the body is built from the request
	Meter   Meter
	Notices []string // information for the user about the reply
	Lasting []string // the Notices that are shown once per session
	Over    bool     // whether the reply is complete, even if the provider sends more

	cancel context.CancelCauseFunc
	watch  watchdog
	key    string
	answer *Answer
}

// Attempt makes one call with run. It repeats the call once if the key was refused and another key
// may be available. The error is a *retry.Error, or the cause of ctx if ctx ended. No error
// contains the key.
func Attempt[T any](
	ctx context.Context,
	client *Client,
	model string,
	run func(*Call) (T, error),
) (T, error) {
	c := client.newCall(ctx, model)
	out, err := once(c, "", nil, run)
	if err != nil && c.refusedKey(ctx, err) {
		badKey, why := c.key, c.typed(err)
		c = client.newCall(ctx, model)
		out, err = once(c, badKey, why, run)
	}
	var none T
	switch {
	case err == nil:
		return out, nil
	case ctx.Err() != nil:
		return none, context.Cause(ctx)
	}
	return none, c.typed(err)
}

// once makes the call unless the key is still badKey. In that case, it returns why, the error with
// which the provider refused badKey.
func once[T any](c *Call, badKey string, why error, run func(*Call) (T, error)) (out T, err error) {
	defer c.close()
	if c.key, err = c.Client.key(c.Ctx); err != nil {
		return out, err
	}
	if badKey != "" && c.key == badKey {
		return out, why
	}
	return run(c)
}

func (c *Client) newCall(ctx context.Context, model string) *Call {
	call := &Call{
		Client: c,
		Model:  model,
		Meter:  Meter{maxBytes: c.Options.MaxReply, maxCalls: c.Options.MaxCalls},
	}
	call.Ctx, call.cancel = context.WithCancelCause(ctx)
	call.watch.cancel = call.cancel
	return call
}

// key returns the API key, which it gets from the KeyFunc.
func (c *Client) key(ctx context.Context) (string, error) {
	if c.Options.Key == nil {
		return "", nil
	}
	k, err := c.Options.Key(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return "", err
		}
		e := &retry.Error{
			Kind:    retry.Auth,
			Err:     err,
			Message: "getting the API key: " + retry.Redact(err.Error()),
			Hint:    c.keyHint(),
		}
		return "", e
	}
	return strings.TrimSpace(k), nil
}

// refusedKey reports whether the call failed because of its key and another key may be available.
// Its call of KeyRefused makes the owner of the key discard it.
func (c *Call) refusedKey(ctx context.Context, err error) bool {
	e := retry.As(err)
	return e != nil && e.Status == http.StatusUnauthorized && c.key != "" &&
		c.Client.Options.KeyRefused != nil &&
		ctx.Err() == nil &&
		c.Client.Options.KeyRefused(c.key)
}

// listen returns a function that counts the bytes of each delta and passes the delta to on.
func (c *Call) listen(on func(agent.Delta)) func(agent.Delta) {
	return func(d agent.Delta) {
		c.Meter.Add(len(d.Text))
		on(d)
	}
}

// Notice records a notice for the user, once per call.
func (c *Call) Notice(text string) {
	if !slices.Contains(c.Notices, text) {
		c.Notices = append(c.Notices, text)
	}
}

// LevelNotice reports that the model lacks a thinking level, and which level is used instead.
func (c *Call) LevelNotice(level, instead string) {
	text := c.Model + " has no thinking level " + level + ": " + instead
	if level == "off" {
		text = c.Model + " cannot switch thinking off: " + instead
	}
	c.LastingNotice(text)
}

// LastingNotice records a notice that is shown to the user once per session. text must name the
// model.
func (c *Call) LastingNotice(text string) {
	c.Notice(text)
	if !slices.Contains(c.Lasting, text) {
		c.Lasting = append(c.Lasting, text)
	}
}

// Reply builds the complete reply.
func (c *Call) Reply(msg *message.Message, finish string) *agent.Reply {
	msg.Role, msg.Model = message.RoleAssistant, c.Model
	if msg.Usage != nil {
		c.Client.addCost(c.Model, msg.Usage)
	}
	return &agent.Reply{Message: msg, Finish: finish, Notices: c.Notices, Lasting: c.Lasting}
}

// Answer returns the answer that Send received, or nil.
func (c *Call) Answer() *Answer { return c.answer }

// Ended reports whether the answer is complete. A stream is complete once its end mark has arrived.
func (c *Call) Ended() bool {
	return c.Over || c.answer.Whole != nil || c.answer.Events.Ended
}

// close releases the connection. It reads the bytes after the end mark in the background, because a
// connection with unread bytes cannot be reused.
func (c *Call) close() {
	a := c.answer
	if a == nil || a.Events == nil || !a.Events.Ended && !c.Over || a.Events.err != nil {
		if a != nil {
			_ = a.body.Close()
		}
		c.cancel(nil)
		return
	}
	c.Client.background.Go(func() {
		defer c.cancel(nil)
		defer a.body.Close()
		stop := context.AfterFunc(c.Client.ctx, func() { c.cancel(nil) })
		defer stop()
		timer := time.AfterFunc(drainTimeout, func() { c.cancel(nil) })
		defer timer.Stop()
		_, _ = io.Copy(io.Discard, io.LimitReader(a.Events.src, maxErrorBody))
	})
}
