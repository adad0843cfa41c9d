// Package editor implements what an editor gets in addition to agent/*.
//
// Peer represents the client for the engine, the workspace and the policy: it asks the editor to
// apply edits, and the user to answer questions, with agent/* requests or plain messages. Features
// answers the LSP requests that concern the agent: code lenses, code actions, commands, agent-lsp's
// own documents, progress and hints. Both serve one client, over its conn.Link.
package editor
