// Package agent is the engine. It makes model calls and tool calls for a prompt until the model is
// done. Meanwhile, the user can steer, queue, pause and abort.
//
// It does no I/O itself. The model, the tools, the approver and the store are passed in as
// arguments (Model, tool.Tool, Approver, Store, Sink), and it reports everything as an Event. It
// does not depend on files, processes, the network or an editor.
//
// Start at Session (session.go) and at run (turn.go). A turn passes through boundary, infer
// (infer.go, stream.go), settle (settle.go) and runTools (schedule.go, prepare.go, call.go,
// gate.go; the stages themselves are in package toolcall) until finish. control.go and queue.go
// contain the operations with which the user controls a turn. context.go and package history keep
// the context within the model's window.
//
//house:large one state machine under one lock; separate parts are in the packages below
package agent
