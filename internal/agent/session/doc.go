// Package session stores sessions on disk. Each workspace has a folder, and each session has an
// append-only JSON Lines log in it. A small index next to each log makes it possible to list
// sessions without reading logs.
//
// A log's first line is its header. Every other line is one agent.Record. Lines are only ever
// appended (an incomplete last line is removed before the next one is written), so a crash at any
// time loses at most the lines that were being written. Load completes what a crash interrupted. A
// call without a result gets the result "interrupted", which the next write stores.
//
// The package does not use wire types and runs no programs. Start at Library. Session is the
// agent.Store to which the engine writes. load.go reads a log.
package session
