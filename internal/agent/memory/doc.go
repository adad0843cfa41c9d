// Package memory stores what the agent should know in later sessions: short texts with a key, tags,
// an author and a time, for one workspace or for the user.
//
// It is an embedded SQLite database with full-text ranking. It is opened at the first use and
// shared by all daemons of the user. If there is an embedding function, results of a search by
// meaning are merged with those of the full-text search. The package starts no process and opens no
// connection. Start at Store; tools.go makes it available to the model.
package memory
