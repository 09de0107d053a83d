package main

import (
	"context"
	"fmt"
	"io"
	"os"
)

// mostText is how long a file may be that is read as a whole, in bytes: a scenario, a
// script, a stored hunt.
const mostText = 16 << 20

// readText reads a file that is not longer than that. What never ends, such as a pipe
// into which nobody writes, is given up when ctx ends.
func readText(ctx context.Context, name string) (string, error) {
	if info, err := os.Stat(name); err != nil || info.Mode().IsRegular() {
		return readNow(name)
	}
	type result struct {
		text string
		err  error
	}
	read := make(chan result, 1)
	go func() {
		text, err := readNow(name)
		read <- result{text, err}
	}()
	select {
	case r := <-read:
		return r.text, r.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

func readNow(name string) (string, error) {
	file, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, mostText+1))
	if err == nil && len(text) > mostText {
		err = fmt.Errorf("%s: expected a file of at most %d MiB", name, mostText>>20)
	}
	return string(text), err
}
