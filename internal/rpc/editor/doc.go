// Package editor implements the editor features outside of agent/*.
//
// Peer represents the client for the engine, the workspace and the policy. It asks the editor to
// apply edits and the user to answer questions, with agent/* requests or plain messages. Features
// answers the LSP requests about the agent: code lenses, code actions, commands, agent-lsp's own
// documents, progress and hints. Both serve one client, over its conn.Link.
package editor
