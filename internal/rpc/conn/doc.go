// Package conn holds what every part of the LSP front end needs of its connection: the link with
// the client and what the client can do (Link, Client), the order of requests (Queue), and the
// registry of requests without an answer (Requests).
//
// It knows no session and no method of agent/*: it reads, orders and sends.
package conn
