package server

import (
	"io"
	"net"
	"testing"

	"minikv/internal/resp"
	"minikv/server/engine"
)

// BenchmarkPipeline is sixteen commands and their replies over a connection in
// memory, from one packet to another.
func BenchmarkPipeline(b *testing.B) {
	const pipeline = 16
	var sent, want []byte
	for range pipeline {
		sent = resp.AppendCommand(sent, "PING")
		want = append(want, "+PONG\r\n"...)
	}
	clock := NewWallClock()
	s := New(Config{Machine: func(limit func() string) Machine {
		return engine.New(engine.Config{Clock: clock, Random: func() uint64 { return 1 }, Limit: limit})
	}})
	defer s.Close()
	at := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}
	client, err := s.Dial(at, at)
	if err != nil {
		b.Fatal(err)
	}
	got := make([]byte, len(want))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := client.Write(sent); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(client, got); err != nil {
			b.Fatal(err)
		}
	}
}
