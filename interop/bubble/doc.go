// Package bubble runs other people's locks over package minikvtest as users do:
// in a bubble of testing/synctest, where a lease of half a minute ends in
// microseconds, and against miniredis in what a server costs.
//
//	go test ./...
//	go test -run - -bench Start -benchmem
package bubble
