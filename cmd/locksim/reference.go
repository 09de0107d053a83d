package main

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"minikv/sim"
)

// newReference is what "locksim help scenario" shows: it is no command.
func newReference() *cobra.Command {
	return &cobra.Command{
		Use:     "scenario",
		Aliases: []string{"scenarios"},
		Short:   "What a scenario file may say",
		Long: "What a scenario file may say. An example:\n\n" + indent(strings.Split(strings.TrimSpace(sim.Sample), "\n")) +
			"\n\nThe embedded ones, of \"locksim list\", are in sim/scenarios.\n\n" + reference(sim.Reference()),
	}
}

// Columns of the reference on a terminal.
const (
	pageWidth  = 98
	usageWidth = 26
)

// reference is the text of the parts.
func reference(parts []sim.Part) string {
	var b strings.Builder
	for i, p := range parts {
		if i > 0 {
			b.WriteString("\n\n")
		}
		b.WriteString(strings.ToUpper(p.Title) + "\n")
		for _, paragraph := range strings.Split(p.Text, "\n\n") {
			if paragraph != "" {
				b.WriteString(indent(fill(paragraph, pageWidth-2)) + "\n\n")
			}
		}
		var words []string
		for _, w := range p.Words {
			words = append(words, wordLines(w)...)
		}
		b.WriteString(indent(words))
	}
	return strings.TrimRight(b.String(), "\n")
}

// wordLines are a word and what it means beside it, or below if it is long.
func wordLines(w sim.Word) []string {
	about := fill(w.About, pageWidth-usageWidth-4)
	lines := []string{w.Usage}
	if utf8.RuneCountInString(w.Usage) <= usageWidth {
		lines, about = []string{fmt.Sprintf("%-*s  %s", usageWidth, w.Usage, about[0])}, about[1:]
	}
	for _, line := range about {
		lines = append(lines, strings.Repeat(" ", usageWidth+2)+line)
	}
	return lines
}

// fill breaks a text between words into lines of at most so many characters.
func fill(text string, width int) (lines []string) {
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimSpace(line + " " + word)
	}
	return append(lines, line)
}

func indent(lines []string) string { return "  " + strings.Join(lines, "\n  ") }
