// Command pictures makes the pictures of the README from the current build:
//
//	go run ./cmd/locksim/browser/pictures
//
// It writes docs/pictures/*.png and needs chromium. The same build gives the same
// pictures on a machine with the same fonts.
package main
