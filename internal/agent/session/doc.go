// Package session keeps sessions on disk: one append-only JSON Lines log per session, in a
// folder per workspace, with a small index beside each log so that a list reads no log.
//
// A log's first line is its header; every other line is one agent.Record. Lines are only ever
// added (a torn last one is cut away before the next is written), so a crash at any moment
// loses at most what was being written. What a crash left open is closed by Load: a call
// without result gets one that says "interrupted", and the next write stores it.
//
// The package knows no wire type and runs nothing. Start at Library; Session is the
// agent.Store that the engine writes to, load.go reads a log back.
package session
