package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"minikv/luaengine"
)

// writeRecording prints a run, every statement with what it did.
func writeRecording(out io.Writer, about string, r *recording) {
	if about != "" {
		fmt.Fprintln(out, visible(about))
	}
	fmt.Fprint(out, numbered(r.Script, 0))
	writeInputs(out, r)
	lines := strings.Split(r.Script, "\n")
	var before []luaengine.Variable
	for i, s := range r.Steps {
		fmt.Fprintf(out, "\nstep %d, line %d: %s\n", i+1, s.Line, visible(strings.TrimSpace(lineAt(lines, s.Line))))
		for _, v := range s.Locals {
			if !slices.Contains(before, v) {
				fmt.Fprintf(out, "    %s = %s\n", v.Name, visible(v.Value))
			}
		}
		before = s.Locals
		writeEffects(out, s)
	}
	fmt.Fprintf(out, "\nreply: %s\n", visible(r.Reply))
}

// writeInputs prints KEYS, ARGV and the keys that were there before.
func writeInputs(out io.Writer, r *recording) {
	fmt.Fprintln(out)
	for i, key := range r.Keys {
		fmt.Fprintf(out, "KEYS[%d] = %s\n", i+1, visible(key))
	}
	for i, arg := range r.Args {
		fmt.Fprintf(out, "ARGV[%d] = %s\n", i+1, visible(arg))
	}
	for _, k := range r.Before {
		fmt.Fprintf(out, "before: %s = %s\n", visible(k.Key), visible(k.Value))
	}
}

// writeEffects prints the calls and the changed keys of one statement.
func writeEffects(out io.Writer, s stepped) {
	for _, c := range s.Calls {
		fmt.Fprintf(out, "    > %s\n      %s\n", visible(c.Command), visible(c.Reply))
	}
	for _, c := range s.Changes {
		fmt.Fprintf(out, "    * %s: %s -> %s\n", visible(c.Key), orGone(c.Before), orGone(c.After))
	}
}

// orGone is a key's state, or what stands for none.
func orGone(state string) string {
	if state == "" {
		return "no key"
	}
	return visible(state)
}

// lineAt is line number n, from 1, or "".
func lineAt(lines []string, n int) string {
	if n < 1 || n > len(lines) {
		return ""
	}
	return lines[n-1]
}

// numbered is a script with the numbers of its lines, and a mark at one of them
// (0: at none).
func numbered(script string, mark int) string {
	var out strings.Builder
	for i, line := range strings.Split(strings.TrimRight(script, "\n"), "\n") {
		pointer := " "
		if i+1 == mark {
			pointer = ">"
		}
		fmt.Fprintf(&out, "%s%3d  %s\n", pointer, i+1, visible(line))
	}
	return out.String()
}

// visible replaces what a terminal would take for a command, and what would hide in
// a text or turn the direction of its writing.
func visible(text string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c == '\t':
			return ' '
		case c == '\n':
			return '⏎'
		case c < ' ' || c >= 0x7f && c < 0xa0 || unicode.In(c, unicode.Cf, unicode.Zl, unicode.Zp):
			return '·'
		}
		return c
	}, text)
}
