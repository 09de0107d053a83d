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

// Explanation says why a run broke a promise, and what would have saved it.
type Explanation struct {
	Name     string   // of the run; "" if it has none
	Run      string   // address of it
	Story    []string // sentences
	Broken   []string // assumptions that did not come true
	Remedies []Remedy
	Order    bool // the run is an order of actions: nothing was tried
}

// Remedy is what was tried, and what came of it.
type Remedy struct {
	Name    string
	Effect  string
	Saves   bool
	Address string // of the run with it
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
	Why    *Explanation
	Body   template.HTML
	Error  string
	Run    string // address that takes a file in a form; "": none was refused
	File   string // which was refused
}

func (p plain) write(out io.Writer) error {
	style := asset("page.css")
	p.Style = template.CSS(style)
	p.Policy = fmt.Sprintf("default-src 'none'; img-src data:; style-src %s; form-action 'self'; base-uri 'none'",
		source(style))
	return plainLayout.Execute(out, p)
}

// Write writes the list. An error is that of the writer.
func (x *Index) Write(out io.Writer) error {
	return plain{Title: "Redis locks under faults", Index: x}.write(out)
}

// Write writes the explanation. An error is that of the writer.
func (x *Explanation) Write(out io.Writer, home string) error {
	return plain{Title: "What would have saved it", Home: home, Why: x}.write(out)
}

// WriteRefusal writes a page that says what is wrong, with a way home. If it is a file that was
// sent to the address run, the file is there to be corrected.
func WriteRefusal(out io.Writer, home, reason, run, file string) error {
	return plain{Title: "This cannot be shown", Home: home, Error: reason, Run: run, File: file}.write(out)
}
