// Package toolcall contains the stages of a tool call between the model's reply and the call's
// result:
//
//   - Prepare checks the arguments and lets the tool read them.
//   - An Approver authorizes the call, and Breakers refuse a tool that keeps failing.
//   - keylock.Locks prevent calls that use the same files from overlapping.
//   - Run runs the call within its time limit, again after temporary errors.
//   - Limit shortens the result for the model.
//
// The engine runs the stages in the call's goroutine and shows their outcome. The stages do not
// depend on a session and do no I/O.
package toolcall
