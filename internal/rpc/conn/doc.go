// Package conn manages the connection of the LSP front end. It contains the link with the client
// and the client's capabilities (Link, Client), the order of requests (Queue), and the registry of
// unanswered requests (Requests).
//
// The package reads, orders and sends messages. It does not depend on sessions or on methods of
// agent/*.
package conn
