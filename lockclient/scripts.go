package lockclient

import (
	"crypto/sha1"
	"embed"
	"encoding/hex"
	"strings"
)

// The scripts, written from Redisson's protocol: its state after release 4.7.0,
// and that of 3.16 in the files that end in _316. Each file opens with its keys,
// arguments and replies; that comment is part of the text that is sent, so
// file, SHA1 and wire agree.
//
//go:embed scripts/*.lua
var scriptFiles embed.FS

// embedded returns the script of a file, for package variables: "mutex_acquire"
// is scripts/mutex_acquire.lua and has the name mutex-acquire.
func embedded(file string) *Script {
	text, err := scriptFiles.ReadFile("scripts/" + file + ".lua")
	if err != nil {
		panic(err) // a file is missing from this package
	}
	return NewScript(strings.ReplaceAll(file, "_", "-"), string(text))
}

// Shipped returns the script of scripts/FILE.lua, for programs that send it themselves,
// such as a model of another client of the same locks. It panics if there is no such
// file.
func Shipped(file string) *Script { return embedded(file) }

// NewScript returns a script with that name and text, and its SHA1.
func NewScript(name, text string) *Script {
	sum := sha1.Sum([]byte(text))
	return &Script{Name: name, Text: text, SHA: hex.EncodeToString(sum[:])}
}

// ShippedNames returns the names of the files of all scripts, without their ending, in
// alphabetical order: "fair_acquire" and so on.
func ShippedNames() []string {
	entries, err := scriptFiles.ReadDir("scripts")
	if err != nil {
		panic(err) // the folder is missing from this package
	}
	var names []string
	for _, entry := range entries {
		names = append(names, strings.TrimSuffix(entry.Name(), ".lua"))
	}
	return names
}
