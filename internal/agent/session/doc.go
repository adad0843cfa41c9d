// Package session stores sessions on disk: one append-only JSON Lines log per session, in a folder
// per workspace, with a small index next to each log, so that listing sessions reads no log.
//
// A log's first line is its header. Every other line is one agent.Record. Lines are only ever
// appended (an incomplete last line is removed before the next one is written), so a crash at any
// time loses at most the lines that were being written. Load completes what a crash interrupted. A
// call without a result gets the result "interrupted", which the next write stores.
//
// The package knows no wire types and runs nothing. Start at Library. Session is the agent.Store to
// which the engine writes; load.go reads a log back.
package session
