// Package certificates makes certificates for tests of clients that speak TLS: an authority,
// and what it has signed for a server on this computer and for clients.
package certificates
