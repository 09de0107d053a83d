package matrix

import (
	"fmt"
	"slices"
	"strings"

	"minikv/sim/check"
)

// Table is the matrix as text: one line for each row and variant of a profile,
// one column for each kind, and then what the rows are. A cell that is not as expected
// has a mark behind it. What does not fit into so many characters of a line, if not 0,
// goes on in a table below.
func Table(results []Result, width int) string {
	var b strings.Builder
	for _, profile := range Profiles() {
		kinds := Kinds(profile)
		lines := grid(results, profile)
		if len(lines) == 0 {
			continue
		}
		fit := len(kinds)
		if width > 0 {
			fit = max(1, (width-nameWidth)/cellWidth)
		}
		for part := range slices.Chunk(kinds, fit) {
			fmt.Fprintf(&b, "%s\n", profile)
			tableLine(&b, "row", part, short)
			for _, l := range lines {
				tableLine(&b, l.name, part, func(kind string) string { return l.cells[kind] })
			}
			b.WriteString("\n")
		}
	}
	for _, r := range titled(results) {
		fmt.Fprintf(&b, "%-14d %s\n", r.Row, r.Title)
	}
	return b.String() + "\n" + ordersText(results) + Summary(results)
}

// nameWidth and cellWidth are of a table's columns.
const nameWidth, cellWidth = 14, 10

// tableLine writes a line of a table.
func tableLine(b *strings.Builder, name string, kinds []string, cell func(kind string) string) {
	line := fmt.Sprintf("%-*s", nameWidth, name)
	for _, kind := range kinds {
		line += fmt.Sprintf(" %-*s", cellWidth-1, cell(kind))
	}
	b.WriteString(strings.TrimRight(line, " ") + "\n")
}

// titled are the first results of each row.
func titled(results []Result) (first []Result) {
	seen := map[int]bool{}
	for _, r := range results {
		if !seen[r.Row] {
			first = append(first, r)
		}
		seen[r.Row] = true
	}
	return first
}

// gridLine is a row in one variant.
type gridLine struct {
	name  string
	cells map[string]string // by kind
}

// grid arranges the results of one profile.
func grid(results []Result, profile string) (lines []gridLine) {
	for _, r := range results {
		if r.Profile != profile {
			continue
		}
		name := fmt.Sprint(r.Row)
		if r.Variant != "" {
			name += " " + r.Variant
		}
		at := slices.IndexFunc(lines, func(l gridLine) bool { return l.name == name })
		if at < 0 {
			at = len(lines)
			lines = append(lines, gridLine{name, map[string]string{}})
		}
		lines[at].cells[r.Lock] = r.word()
	}
	return lines
}

// word is the verdict in a table.
func (r *Result) word() string {
	word := r.Verdict
	if word == "not-applicable" {
		word = "-"
	}
	if !r.Agrees {
		word += "*"
	}
	return word
}

// Markdown is the matrix as tables of Markdown.
func Markdown(results []Result) string {
	var b strings.Builder
	for _, profile := range Profiles() {
		lines := grid(results, profile)
		if len(lines) == 0 {
			continue
		}
		kinds := Kinds(profile)
		fmt.Fprintf(&b, "### %s\n\n| row | %s |\n|---%s|\n", profile, strings.Join(kinds, " | "),
			strings.Repeat("|---", len(kinds)))
		for _, l := range lines {
			fmt.Fprintf(&b, "| %s |", l.name)
			for _, kind := range kinds {
				fmt.Fprintf(&b, " %s |", strings.ReplaceAll(l.cells[kind], "*", `\*`))
			}
			b.WriteString("\n")
		}
		b.WriteString("\n")
	}
	b.WriteString("| row | trouble |\n|---|---|\n")
	for _, r := range titled(results) {
		fmt.Fprintf(&b, "| %d | %s |\n", r.Row, r.Title)
	}
	return b.String() + "\n" + ordersText(results) + Summary(results)
}

// ordersText is what running every order has shown, with its heading, if it was asked for.
func ordersText(results []Result) string {
	if table := OrdersMarkdown(results); table != "" {
		return "### every order\n\n" + table + "\n"
	}
	return ""
}

// line says what became of a claim.
func (c *ClaimResult) line() string {
	text := fmt.Sprintf("%s %s after %d seeds", c.Check, c.Verdict, c.Searched)
	if c.Finding != "" {
		text += ": " + c.Finding
	}
	return text + "\n  replay: " + c.Replay
}

// Summary counts the cells, and lists those that are not as expected.
func Summary(results []Result) string {
	count := map[string]int{}
	var b strings.Builder
	for _, r := range results {
		count[r.Verdict]++
		if r.Agrees {
			continue
		}
		fmt.Fprintf(&b, "%d %s %s %s: expected %s, %s\n", r.Row, r.Profile, r.Lock, r.Variant, r.Code, r.Reason)
		if r.Listed != "" {
			fmt.Fprintf(&b, "  listed: %s\n", r.Listed)
		}
		for _, c := range r.Claims {
			if c.Verdict != c.Expected {
				fmt.Fprintf(&b, "  %s\n", c.line())
			}
		}
	}
	list := b.String()
	if list != "" {
		list = "Not as expected:\n" + list
	}
	list += longer(results)
	return fmt.Sprintf("%s%d cells: %d hold, %d violated, %d unknown, %d not applicable\n", list, len(results),
		count["holds"], count["violated"], count["unknown"], count["not-applicable"])
}

// longer lists the stories that are longer than what is told, and tells how many
// there are.
func longer(results []Result) string {
	var b strings.Builder
	stories := 0
	for _, r := range results {
		for _, c := range r.Claims {
			if r.Told == nil || c.Story == nil || c.Expected != check.Violated {
				continue
			}
			stories++
			if r.Longer(&c) {
				fmt.Fprintf(&b, "%d %s %s %s: %s in %d faults and %d operations, told with %d and %d: %s\n", r.Row, r.Profile,
					r.Lock, r.Variant, c.Check, c.Story.Faults, c.Story.Asked, r.Told.Faults, r.Told.Operations, r.Told.Text)
			}
		}
	}
	if stories == 0 {
		return ""
	}
	if b.Len() == 0 {
		return fmt.Sprintf("%d stories, none longer than told.\n", stories)
	}
	return fmt.Sprintf("%d stories; longer than told:\n%s", stories, b.String())
}
