// Package memory stores information for later sessions. A memory is a short text with a key, tags,
// an author and a time. It belongs to one workspace or to the user.
//
// The memories are stored in an embedded SQLite database with a ranked full-text index. The
// database is opened on first use and shared by all daemons of the user. If there is an embedding
// function, results of a semantic search are merged with those of the full-text search. The package
// itself starts no process and makes no network connection. Start at Store. tools.go makes the
// store available to the model.
package memory
