// Package host holds the loaded sessions and reports their events to any number of subscribers. It
// does not depend on a protocol. The front ends (internal/rpc and the packages below it) are its
// clients. They convert its notifications and errors to messages.
//
// Lock order: Host.mu and Session.mu (of host.Session) are never held together. feed.mu is acquired
// after the package's other locks, and subscribers are called while it is held. Questions.mu is
// acquired before Open.mu. Methods of Questions that wait for an answer (Put, Ask) are called
// without a lock.
package host
