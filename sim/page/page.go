package page

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strconv"
	"strings"

	"minikv/sim"
	"minikv/sim/check"
	"minikv/trace"
)

//go:embed assets
var assets embed.FS

// Page is what a page shows.
type Page struct {
	Title    string
	Claim    string   // "" if nothing was claimed
	About    []string // paragraphs on where the run comes from, and which of its steps did nothing
	Replay   string   // the command that runs the same again, or ""
	Verdicts []Verdict
	Names    []string // of the actors
	Events   []trace.Event
	Live     *Live // nil: a file, from which no other run can be made
}

// Verdict is what a check found.
type Verdict struct {
	check.Result
	Expected string // "" if nothing was
}

// Live says where a page is served from: there its run can be changed.
type Live struct {
	Home     string // address of the list of scenarios
	Matrix   string // address of the heat map, "" if the run is not of a cell
	Branch   string // address that takes the form for another run
	Scenario string // name of the scenario
	Seed     uint64
	Steps    []string // what was changed already, as lines of a scenario file
	Own      string   // the file that somebody gave, before these; "": an embedded one
	Run      string   // address that takes a file in a form and shows its run
	Explain  string   // address of what would have saved a violated run
	File     string   // the scenario as it ran, as a file
}

// FromReport is the page of a run with its events.
func FromReport(r *sim.Report, events []trace.Event, replay string) *Page {
	p := &Page{Title: r.Scenario.Name, Claim: r.Scenario.Claim, Replay: replay, Names: r.Names, Events: events}
	for i, result := range r.Results {
		p.Verdicts = append(p.Verdicts, Verdict{result, r.Scenario.Expect[i].Verdict})
	}
	for _, idle := range r.Idle {
		p.About = append(p.About, idle.Text()+".")
	}
	return p
}

// FromTrace is the page of a trace alone. It judges what the events by themselves
// can tell: whether stale writes were applied.
func FromTrace(title string, events []trace.Event, names []string) *Page {
	fencing := check.NewFencing(func(a trace.Actor) string { return names[a] })
	for i := range events {
		fencing.Observe(&events[i])
	}
	p := &Page{Title: title, Names: names, Events: events}
	if result := fencing.Result(events[len(events)-1].At); result.Verdict != check.Unknown {
		p.Verdicts = []Verdict{{Result: result}}
	}
	return p
}

// sentences is how many events the why has at most.
const sentences = 8

// view is what the template is filled with.
type view struct {
	*Page
	Policy string
	Style  template.CSS
	Script template.JS
	Data   template.JS
	Why    []sentence

	Violated bool // some verdict is
}

// sentence is an event of the why.
type sentence struct {
	N    uint64
	Time string
	Text string
	By   *turn // what made it so, if a script did
}

// turn is the condition of a script that an event came from.
type turn struct {
	trace.Decision
	N    uint64 // of the event at which the script ran
	Node string
}

var layout = template.Must(template.ParseFS(assets, "assets/page.html"))

// Write writes the page. An error is that of the writer.
func (p *Page) Write(out io.Writer) error {
	style := asset("page.css")
	script := asset("model.js", "ink.js", "diagram.js", "lua.js", "panels.js", "main.js")
	v := view{Page: p, Style: template.CSS(style), Script: template.JS(script), Data: p.data(), Why: p.why()}
	v.Policy = fmt.Sprintf("default-src 'none'; img-src data:; style-src %s; script-src %s; form-action 'self'; "+
		"base-uri 'none'", source(style), source(script))
	v.Violated = len(p.violated()) > 0
	return layout.Execute(out, v)
}

// asset joins files of assets.
func asset(names ...string) string {
	var all []byte
	for _, name := range names {
		text, err := assets.ReadFile("assets/" + name)
		if err != nil {
			panic(err) // a file is missing from this package
		}
		all = append(all, text...)
	}
	return string(all)
}

// source names a text in a Content-Security-Policy.
func source(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// violated are the promises that were broken.
func (p *Page) violated() (results []check.Result) {
	for _, v := range p.Verdicts {
		if v.Verdict == check.Violated {
			results = append(results, v.Result)
		}
	}
	return results
}

// why are the events that decided.
func (p *Page) why() (list []sentence) {
	sources := p.sources()
	told := map[uint64]bool{} // scripts, by their event
	for _, e := range sim.Decisive(p.Events, p.violated(), sentences) {
		by := p.turn(&e, sources)
		if by != nil && told[by.N] {
			by = nil
		}
		if by != nil {
			told[by.N] = true
		}
		list = append(list, sentence{e.N, string(trace.AppendTime(nil, e.At)), string(e.AppendSentence(nil, p.Names)), by})
	}
	return list
}

// sources are the scripts that the trace tells.
func (p *Page) sources() trace.Sources {
	sources := trace.Sources{}
	for i := range p.Events {
		sources.Note(&p.Events[i])
	}
	return sources
}

// turn is where a script gave what e says: that of an execution, or the one that a
// client's belief followed from. nil: the trace does not say.
func (p *Page) turn(e *trace.Event, sources trace.Sources) *turn {
	if e.Kind != trace.Hold && e.Kind != trace.Execute {
		return nil
	}
	for n := e.N; n != 0; n = p.Events[n-1].Cause {
		one := &p.Events[n-1]
		if d, ok := sources.Decision(one); ok {
			return &turn{d, n, p.Names[one.Actor]}
		}
		if one.Kind == trace.Acquire {
			break
		}
	}
	return nil
}

// data is the trace for the page's scripts: the events with a sentence for each
// that is part of the story, and the line that decided for each that ran a script.
// Nothing in it can end the element that it stands in.
func (p *Page) data() template.JS {
	var out, line []byte
	sources := trace.Sources{}
	out = append(out, '[')
	for i := range p.Events {
		e := &p.Events[i]
		sources.Note(e)
		if i > 0 {
			out = append(out, ",\n"...)
		}
		line = e.AppendJSON(line[:0], p.Names)
		if e.Story() {
			line = append(line[:len(line)-1], `,"says":`...)
			line = append(trace.AppendQuoted(line, string(e.AppendSentence(nil, p.Names))), '}')
		}
		if d, ok := sources.Decision(e); ok {
			line = append(strconv.AppendInt(append(line[:len(line)-1], `,"decided":`...), int64(d.Line), 10), '}')
		}
		out = append(out, line...)
	}
	return template.JS(harmless.Replace(string(append(out, ']'))))
}

// harmless writes what means something to HTML in JSON's other way.
var harmless = strings.NewReplacer("<", `\u003c`, ">", `\u003e`, "&", `\u0026`)
