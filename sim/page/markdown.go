package page

import (
	"fmt"
	"html"
	"html/template"
	"io"
	"regexp"
	"strings"
)

// Title is the first heading of a Markdown text.
func Title(text string) string {
	first, _, _ := strings.Cut(text, "\n")
	return strings.TrimPrefix(first, "# ")
}

// WriteText writes a Markdown text as a page. Of Markdown it knows headings,
// paragraphs, fenced code, `code`, **strong**, *emphasis* and details with a
// summary; what else stands there is text. Each `locksim run NAME` becomes a link
// to what address gives for the name.
func WriteText(out io.Writer, home, text string, address func(name string) string) error {
	m := &markdown{address: address}
	for _, line := range strings.Split(text, "\n") {
		m.line(line)
	}
	m.endParagraph()
	return plain{Title: Title(text), Home: home, Body: template.HTML(m.out.String())}.write(out)
}

// markdown is a text on its way to HTML. All of the text is escaped; the tags are ours.
type markdown struct {
	out       strings.Builder
	paragraph []string
	code      bool
	address   func(string) string
}

var heading = regexp.MustCompile(`^(#{1,3}) (.*)$`)

// tags are the lines that stay as they are.
var tags = map[string]bool{"<details><summary>Answer</summary>": true, "</details>": true}

func (m *markdown) line(line string) {
	if strings.HasPrefix(line, "```") {
		m.endParagraph()
		m.code = !m.code
		m.out.WriteString(map[bool]string{true: "<pre>", false: "</pre>\n"}[m.code])
		return
	}
	level := heading.FindStringSubmatch(line)
	switch {
	case m.code:
		m.out.WriteString(html.EscapeString(line) + "\n")
	case tags[line]:
		m.endParagraph()
		m.out.WriteString(line + "\n")
	case level != nil:
		m.endParagraph()
		fmt.Fprintf(&m.out, "<h%d>%s</h%d>\n", len(level[1]), m.inline(level[2]), len(level[1]))
	case line == "":
		m.endParagraph()
	default:
		m.paragraph = append(m.paragraph, line)
	}
}

func (m *markdown) endParagraph() {
	if len(m.paragraph) > 0 {
		fmt.Fprintf(&m.out, "<p>%s</p>\n", m.inline(strings.Join(m.paragraph, "\n")))
	}
	m.paragraph = nil
}

var (
	strong   = regexp.MustCompile(`\*\*([^*]+)\*\*`)
	emphasis = regexp.MustCompile(`\*([^*]+)\*`)
	runs     = regexp.MustCompile(`^locksim run ([a-z0-9_]+)$`)
)

// inline turns the text between two backquotes into code, and stars into emphasis
// elsewhere.
func (m *markdown) inline(text string) string {
	parts := strings.Split(text, "`")
	for i, part := range parts {
		plain := html.EscapeString(part)
		if i%2 == 0 {
			parts[i] = emphasis.ReplaceAllString(strong.ReplaceAllString(plain, "<b>$1</b>"), "<em>$1</em>")
			continue
		}
		parts[i] = "<code>" + plain + "</code>"
		if run := runs.FindStringSubmatch(part); run != nil {
			parts[i] = fmt.Sprintf(`<a href="%s">%s</a>`, html.EscapeString(m.address(run[1])), parts[i])
		}
	}
	return strings.Join(parts, "")
}
