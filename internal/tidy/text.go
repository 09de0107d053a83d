package tidy

import (
	"bytes"
	"go/format"
	"iter"
	"regexp"
	"slices"
	"strings"
)

var (
	unfinished = regexp.MustCompile(`\b(TODO|FIXME|XXX)\b`)
	homePath   = regexp.MustCompile(`(?:^|[^<\w])(/(?:root|home/\w+|Users/\w+))\b`)
)

// checkFormat sees that gofmt would change nothing.
func checkFormat(f *file, report reporter) {
	formatted, err := format.Source(f.source)
	if err != nil {
		report(1, "does not parse: "+err.Error())
		return
	}
	if bytes.Equal(formatted, f.source) {
		return
	}
	was, is := bytes.Split(f.source, []byte("\n")), bytes.Split(formatted, []byte("\n"))
	line := 0
	for line < min(len(was), len(is)) && bytes.Equal(was[line], is[line]) {
		line++
	}
	report(line+1, "not formatted: run gofmt -w")
}

// checkPaths looks for what works on its author's machine only.
func checkPaths(f *file, report reporter) {
	for number, line := range numbered(f.source) {
		if found := homePath.FindStringSubmatch(line); found != nil {
			report(number, found[1]+": a path of one machine")
		}
	}
}

// checkProse looks for unfinished work in what is not Go. What tests send and
// receive is data, not prose.
func checkProse(f *file, report reporter) {
	if f.syntax != nil || slices.Contains(strings.Split(f.path, "/"), "testdata") {
		return
	}
	for number, line := range numbered(f.source) {
		reportUnfinished(line, number, report)
	}
}

// checkComments looks for unfinished work in Go.
func checkComments(f *file, report reporter) {
	for _, group := range f.syntax.Comments {
		for _, comment := range group.List {
			reportUnfinished(comment.Text, f.line(comment.Pos()), report)
		}
	}
}

func reportUnfinished(text string, line int, report reporter) {
	if mark := unfinished.FindString(text); mark != "" {
		report(line, mark+": finish it, or open an issue")
	}
}

// numbered yields each line, without its end, and its number from 1.
func numbered(text []byte) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		number := 0
		for line := range bytes.Lines(text) {
			number++
			if !yield(number, strings.TrimRight(string(line), "\r\n")) {
				return
			}
		}
	}
}
