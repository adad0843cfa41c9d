// Package host holds the sessions that are loaded and reports what happens in them to any number of
// subscribers. It knows no protocol: the front ends (internal/rpc and below) are its clients, and
// turn its notifications and errors into messages.
//
// Lock order: Host.mu and Session.mu are never held together; feed.mu comes last, and a
// subscriber is called under it.
package host
