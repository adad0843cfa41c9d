// Package agent is the engine: it turns a prompt into model calls and tool calls until
// the model is done, while the user steers, queues, pauses or aborts.
//
// It does no input or output of its own: the model, the tools, the approver and the store
// reach it as arguments (Model, tool.Tool, Approver, Store, Sink), and everything that it tells
// leaves it as an Event. It knows no file, process, network or editor.
//
// Start at Session (session.go) and loop (turn.go). A turn goes through boundary, infer
// (infer.go, stream.go), settle (settle.go) and runTools (schedule.go, prepare.go, call.go,
// gate.go; the stages themselves are in package toolcall) until finish. What a user can do to
// it is in control.go and queue.go; how its context is kept within a window, in context.go and
// package history.
//
//house:large one state machine under one lock; what can be read alone is in packages below
package agent
