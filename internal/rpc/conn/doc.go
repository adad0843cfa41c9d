// Package conn contains what all parts of the LSP front end need from their connection: the link
// with the client and the client's capabilities (Link, Client), the order of requests (Queue), and
// the registry of unanswered requests (Requests).
//
// It does not know sessions or methods of agent/*: it reads, orders and sends.
package conn
