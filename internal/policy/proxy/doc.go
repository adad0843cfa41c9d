// Package proxy connects sandboxed commands to the network. It is an HTTP proxy in the daemon,
// which asks the user about new hosts that the settings do not allow, resolves names itself and
// connects only to allowed addresses.
//
// A sandbox has its own network namespace. The process that creates the namespace opens a loopback
// listener there and sends the descriptor to the proxy's Unix socket, together with the command's
// token. The proxy accepts connections from that listener, so no process forwards data. In
// agent-lsp's own sandbox, the command itself cannot open Unix sockets. In other sandboxes, it
// could at most offer one more listener.
//
// Start at Proxy.Begin. Run.ServeHTTP handles one request.
package proxy
