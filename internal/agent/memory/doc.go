// Package memory keeps what the agent should know in later sessions: short texts with a key,
// tags, an author and a time, for one workspace or for the user.
//
// It is an embedded SQLite database with full-text ranking, opened by the first use and not
// before, and shared by all daemons of the user. Where an embedding function is given, search
// by meaning is merged with it. The package starts no process and opens no connection.
// Start at Store; tools.go offers it to the model.
package memory
