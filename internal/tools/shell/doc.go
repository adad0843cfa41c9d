// Package shell runs commands and long-lived children (MCP servers, language servers, hooks)
// so that none of their processes outlives them, however it tries.
//
// Each command runs under a supervisor: this same binary, re-executed with a hidden first
// argument. The supervisor is the subreaper of all that the command starts and watches a pipe
// from the daemon; when the command ends, is aborted, or the daemon dies in whatever way, it
// ends every descendant: SIGTERM, and SIGKILL after Grace. If the supervisor itself is killed,
// the daemon, a subreaper too, sweeps up. Other systems have process groups and Job Objects.
//
// The package makes no decision about permissions. It applies the sandbox plan that it gets.
// A program that uses it must call MaybeHelper first in main (in tests: in TestMain).
// Start at Runner.Run.
package shell
