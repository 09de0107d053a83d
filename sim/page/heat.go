package page

import (
	"fmt"
	"html/template"
	"io"
)

// Heat is the matrix as a heat map: which lock keeps which promise under which fault.
type Heat struct {
	Home   string   // "" in a file
	About  []string // paragraphs: how the matrix was run
	Tables []HeatTable
	Words  bool // with each cell in words below the tables
}

// HeatTable are the locks of one profile.
type HeatTable struct {
	Title string
	Kinds []string // of lock: the columns
	Rows  []HeatRow
}

// HeatRow is a kind of trouble.
type HeatRow struct {
	Name  string // number and variant
	Title string
	Cells []*HeatCell // one for each kind; nil: the row has none
}

// HeatCell is what became of one kind of lock in one kind of trouble.
type HeatCell struct {
	Name    string   // unique in the matrix
	Verdict string   // holds, violated, unknown or not-applicable
	Agrees  bool     // as expected
	Address string   // of a run that shows it, or ""
	About   []string // lines: what was expected and why, what was found, how to replay it
}

// Sign stands for the verdict beside its word.
func (c *HeatCell) Sign() string {
	switch c.Verdict {
	case "holds":
		return "✔"
	case "violated":
		return "✘"
	case "unknown":
		return "?"
	}
	return "–"
}

var heatLayout = template.Must(template.ParseFS(assets, "assets/heat.html"))

// Write writes the heat map. An error is that of the writer.
func (h *Heat) Write(out io.Writer) error {
	style, script := asset("page.css", "heat.css"), asset("heat.js")
	policy := fmt.Sprintf("default-src 'none'; img-src data:; style-src %s; script-src %s; base-uri 'none'",
		source(style), source(script))
	return heatLayout.Execute(out, struct {
		*Heat
		Policy string
		Style  template.CSS
		Script template.JS
	}{h, policy, template.CSS(style), template.JS(script)})
}
