// Package proxy is the way of sandboxed commands to the network: an HTTP proxy in the daemon, which
// asks about every new host, resolves names itself and connects only to addresses that may be
// reached.
//
// A sandbox has its own network namespace. The process that makes it opens a loopback listener
// there and sends the descriptor to the proxy's Unix socket, with the token of the command. The
// proxy accepts connections from that listener, so no process forwards data. The command itself
// cannot open Unix sockets in agent-lsp's own sandbox; in others it could at most offer one more
// listener.
//
// Start at Proxy.Begin; Run.ServeHTTP decides about one request.
package proxy
