package main

import (
	"context"
	"embed"
	"fmt"
	"slices"
	"strings"

	"minikv/internal/resp"
	"minikv/lockclient"
)

//go:embed walks/*.walk
var walkFiles embed.FS

// walk is a script run on one situation, to show one of its branches.
type walk struct {
	about string
	exercise
}

// lockScript returns one of lockclient's scripts, fair-acquire or fair_acquire,
// and its walks; false if there is none of that name.
func lockScript(name string) (text string, walks []walk, ok bool) {
	file := strings.ReplaceAll(name, "-", "_")
	if !slices.Contains(lockclient.ShippedNames(), file) {
		return "", nil, false
	}
	text = lockclient.Shipped(file).Text
	data, err := walkFiles.ReadFile("walks/" + file + ".walk")
	if err != nil {
		return text, nil, true // a test demands walks for every script
	}
	walks, err = parseWalks(file+".walk", string(data))
	if err != nil {
		panic(err) // a test reads every embedded file
	}
	for i := range walks {
		walks[i].text = text
	}
	return text, walks, true
}

// parseWalks reads a file of walks: a line "# …" begins one and says what it
// shows; "keys …", "args …" and any number of "setup …" lines follow.
func parseWalks(file, text string) ([]walk, error) {
	var walks []walk
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		verb, rest, _ := strings.Cut(line, " ")
		if verb == "#" {
			walks = append(walks, walk{about: rest})
			continue
		}
		if line == "" {
			continue
		}
		if len(walks) == 0 {
			return nil, fmt.Errorf("%s:%d: expected a line that begins with \"# \" and says what the walk shows", file, i+1)
		}
		w := &walks[len(walks)-1]
		words, ok := splitWords(rest)
		switch {
		case !ok:
			return nil, fmt.Errorf("%s:%d: unbalanced quotes", file, i+1)
		case verb == "keys":
			w.keys = words
		case verb == "args":
			w.args = words
		case verb == "setup":
			w.setup = append(w.setup, rest)
		default:
			return nil, fmt.Errorf("%s:%d: %q: expected #, keys, args or setup", file, i+1, verb)
		}
	}
	return walks, nil
}

// splitWords cuts a line as redis-cli does.
func splitWords(line string) ([]string, bool) {
	parts, ok := resp.SplitArgs([]byte(line))
	words := make([]string, len(parts))
	for i, part := range parts {
		words[i] = string(part)
	}
	return words, ok
}

// readSetup reads a file of commands, one a line; lines that begin with # are comments.
func readSetup(ctx context.Context, path string) ([]string, error) {
	text, err := readText(ctx, path)
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, line := range strings.Split(text, "\n") {
		lines = append(lines, strings.TrimSpace(line))
	}
	return lines, nil
}
