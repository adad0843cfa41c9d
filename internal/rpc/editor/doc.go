// Package editor is what an editor gets beyond agent/*.
//
// Peer is the client as the engine, the workspace and the policy see it: it asks the editor to
// apply edits, and the user to answer questions, by agent/* or by plain messages. Features answers
// the requests of LSP that have to do with the agent: code lenses, code actions, commands,
// documents of our own, progress and hints. Both talk to one client, over its conn.Link.
package editor
