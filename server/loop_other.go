//go:build !linux

package server

import "net"

// loop is Linux's.
type loop struct{}

// serveSockets serves nothing: without epoll each connection has a goroutine.
func (s *Server) serveSockets(net.Listener) (served bool, err error) { return false, nil }

// unlisten has nothing to forget.
func (s *Server) unlisten(net.Listener) {}
