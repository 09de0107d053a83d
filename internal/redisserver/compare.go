package redisserver

import (
	"os"
	"testing"
)

// Address is host:port of the server at REDIS_SERVER. Where none is named the test is
// skipped: what it says holds against a redis-server or not at all.
func Address(t testing.TB) string {
	t.Helper()
	address := os.Getenv("REDIS_SERVER")
	if address == "" {
		t.Skip("no redis-server to compare with: REDIS_SERVER=HOST:PORT names an empty one")
	}
	return address
}

// Binary is the path of a redis-server at REDIS_BINARY, which the test starts. Where none
// is named the test is skipped.
func Binary(t testing.TB) string {
	t.Helper()
	binary := os.Getenv("REDIS_BINARY")
	if binary == "" {
		t.Skip("no redis-server to start: REDIS_BINARY=PATH names one")
	}
	return binary
}
