// Package tool defines the types that the engine and the tools share: the Tool interface, the Call
// that a tool gets, the Result that it returns, and the Registry of a session's tools.
//
// The engine calls a tool in two steps. Prepare reads the arguments of a call once. Prepared.Run
// runs the call, after hooks and the user have allowed it. Package toolcall decides when each step
// runs. This package does no I/O and does not depend on the engine, so tools can be written and
// tested without a session (see package agenttest).
package tool
