// Package toolcall has the stages that a tool call passes between the model's reply and its result:
//
//   - Prepare checks the arguments and lets the tool read them.
//   - An Approver authorizes the call, and Breakers refuse a tool that keeps failing.
//   - keylock.Locks keep calls that use the same files apart.
//   - Run runs the call within its time limit, again after temporary errors.
//   - Limit shortens the result for the model.
//
// The engine calls the stages from the call's goroutine and shows their outcome. The stages know no
// session, and do no I/O.
package toolcall
