package page

import (
	"fmt"
	"html/template"
	"io"
)

// Index is the list of scenarios.
type Index struct {
	Entries []Entry
	Lessons []Lesson
	Matrix  string // address of the heat map
}

// Entry is a scenario of the list.
type Entry struct {
	Name     string
	Address  string
	Claim    string
	Verdicts []Verdict
}

// Lesson is a lesson of the list.
type Lesson struct {
	Title   string
	Address string
}

var plainLayout = template.Must(template.ParseFS(assets, "assets/plain.html"))

// plain is a page without a script.
type plain struct {
	Title  string
	Home   string // "" on the list itself
	Policy string
	Style  template.CSS
	Index  *Index
	Body   template.HTML
	Error  string
}

func (p plain) write(out io.Writer) error {
	style := asset("page.css")
	p.Style = template.CSS(style)
	p.Policy = fmt.Sprintf("default-src 'none'; img-src data:; style-src %s; base-uri 'none'", source(style))
	return plainLayout.Execute(out, p)
}

// Write writes the list. An error is that of the writer.
func (x *Index) Write(out io.Writer) error {
	return plain{Title: "Redis locks under faults", Index: x}.write(out)
}

// WriteRefusal writes a page that says what is wrong, with a way home.
func WriteRefusal(out io.Writer, home, reason string) error {
	return plain{Title: "This cannot be shown", Home: home, Error: reason}.write(out)
}
