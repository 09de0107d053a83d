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
		text, err := readAtMost(name, mostText)
		return string(text), err
	}
	type result struct {
		text []byte
		err  error
	}
	read := make(chan result, 1)
	go func() {
		text, err := readAtMost(name, mostText)
		read <- result{text, err}
	}()
	select {
	case r := <-read:
		return string(r.text), r.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

func readAtMost(name string, most int64) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && int64(len(text)) > most {
		err = fmt.Errorf("%s: expected a file of at most %d MiB", name, most>>20)
	}
	return text, err
}
