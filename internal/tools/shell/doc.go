// Package shell runs commands and long-lived children (MCP servers, language servers, hooks) so
// that none of their processes outlives them, even if they try to escape.
//
// Each command runs under a supervisor process, which runs the daemon's own binary with a hidden
// first argument. The supervisor watches a pipe from the daemon. On Linux, it is the subreaper of
// all processes that the command starts. When the command ends or is aborted, or the daemon dies
// for any reason, the supervisor ends every descendant with SIGTERM, and with SIGKILL after Grace.
// If the supervisor itself is killed, the daemon, which is also a subreaper, ends the remaining
// processes. Other systems use process groups and Job Objects.
//
// The package makes no decision about permissions. It applies the sandbox plan of the command. A
// program that uses it must call MaybeHelper first in main (in tests: in TestMain). Start at
// Runner.Run.
package shell
