package engine

import (
	"fmt"
	"slices"
	"strings"

	"minikv/internal/resp"
)

// LATENCY and its subcommands, https://redis.io/docs/latest/commands/latency/

var latencyCommands = []Command{
	{Name: "DOCTOR", Arity: 2, Flags: administering, Run: runLatencyDoctor},
	{Name: "GRAPH", Arity: 3, Flags: administering, Run: runLatencyGraph},
	{Name: "HISTOGRAM", Arity: -2, Flags: administering, Run: runLatencyHistogram},
	{Name: "HISTORY", Arity: 3, Flags: administering, Run: runLatencyHistory},
	{Name: "LATEST", Arity: 2, Flags: administering, Run: runLatencyLatest},
	{Name: "RESET", Arity: -2, Flags: administering, Run: runLatencyReset},
	help("LATENCY", "", latencyHelp),
}

// runLatencyHistory is LATENCY HISTORY event.
func runLatencyHistory(c *Call) resp.Value {
	list := []resp.Value{}
	if event := c.Node.findLatency(string(c.Args[2])); event != nil {
		for _, sample := range event.samples {
			list = append(list, resp.List(resp.Int(sample.unixTime), resp.Int(sample.millis)))
		}
	}
	return resp.List(list...)
}

// runLatencyLatest is LATENCY LATEST.
func runLatencyLatest(c *Call) resp.Value {
	list := make([]resp.Value, 0, len(c.Node.latency))
	for i := range c.Node.latency {
		event := &c.Node.latency[i]
		last := event.samples[len(event.samples)-1]
		list = append(list, resp.List(resp.Str(event.name), resp.Int(last.unixTime), resp.Int(last.millis),
			resp.Int(event.highest)))
	}
	return resp.List(list...)
}

// runLatencyReset is LATENCY RESET [event ...].
func runLatencyReset(c *Call) resp.Value {
	n := c.Node
	before := len(n.latency)
	if len(c.Args) == 2 {
		n.latency = nil
	}
	for _, name := range c.Args[2:] {
		n.latency = slices.DeleteFunc(n.latency, func(e latencyEvent) bool { return e.name == string(name) })
	}
	return resp.Int(int64(before - len(n.latency)))
}

// runLatencyHistogram is LATENCY HISTOGRAM [command ...]: for a container, those
// of its subcommands.
func runLatencyHistogram(c *Call) resp.Value {
	rows := c.Node.commands()
	if len(c.Args) > 2 {
		rows = nil
		for _, name := range c.Args[2:] {
			if cmd := c.Node.byFullName(string(name)); cmd != nil {
				rows = append(rows, *cmd)
			}
		}
	}
	var list []resp.Value
	for cmd := range eachRow(rows) {
		if h := &c.Node.stats.of(cmd).times; h.total > 0 {
			list = append(list, resp.Str(cmd.full), histogramReply(h))
		}
	}
	return resp.Pairs(list...)
}

func histogramReply(h *histogram) resp.Value {
	var steps []resp.Value
	h.steps(func(micros, count int64) { steps = append(steps, resp.Int(micros), resp.Int(count)) })
	return resp.Pairs(resp.Str("calls"), resp.Int(h.total), resp.Str("histogram_usec"), resp.Pairs(steps...))
}

// runLatencyGraph is LATENCY GRAPH event.
func runLatencyGraph(c *Call) resp.Value {
	event := c.Node.findLatency(string(c.Args[2]))
	if event == nil {
		return resp.Err(oneLine([]byte("ERR No samples available for event '" + resp.CString(c.Args[2]) + "'")))
	}
	const columns = 80
	low, high := event.samples[0].millis, event.samples[0].millis
	for _, sample := range event.samples {
		low, high = min(low, sample.millis), max(high, sample.millis)
	}
	text := &strings.Builder{}
	fmt.Fprintf(text, "%s - high %d ms, low %d ms (all time high %d ms)\n", event.name, high, low, event.highest)
	text.WriteString(strings.Repeat("-", columns) + "\n")
	for from := 0; from < len(event.samples); from += columns {
		if from > 0 {
			text.WriteString("\n")
		}
		part := event.samples[from:min(from+columns, len(event.samples))]
		drawBars(text, part, low, max(high-low, 1))
		drawAges(text, part, c.Node.unixSeconds())
	}
	return resp.Value{Kind: resp.Verbatim, Str: text.String()}
}

// drawBars draws samples as four rows of characters, each of which has three
// heights.
func drawBars(text *strings.Builder, samples []latencySample, low, span int64) {
	const rows, heights = 4, "_o#"
	const steps = rows * len(heights)
	for row := range rows {
		for _, sample := range samples {
			step := min(int((sample.millis-low)*int64(steps)/span), steps-1)
			switch at := step - (rows-row-1)*len(heights); {
			case at < 0:
				text.WriteByte(' ')
			case at < len(heights):
				text.WriteByte(heights[at])
			default:
				text.WriteByte('|')
			}
		}
		text.WriteByte('\n')
	}
}

// drawAges writes under each bar, from top to bottom, how long ago it was.
func drawAges(text *strings.Builder, samples []latencySample, now int64) {
	ages := make([]string, len(samples))
	longest := 0
	for i, sample := range samples {
		ages[i] = shortAge(now - sample.unixTime)
		longest = max(longest, len(ages[i]))
	}
	text.WriteString(strings.Repeat(" ", len(samples)) + "\n")
	for row := range longest {
		for _, age := range ages {
			if row < len(age) {
				text.WriteByte(age[row])
			} else {
				text.WriteByte(' ')
			}
		}
		text.WriteByte('\n')
	}
}

func shortAge(seconds int64) string {
	const minute, hour, day = 60, 3600, 86400
	switch {
	case seconds < minute:
		return decimal(seconds) + "s"
	case seconds < hour:
		return decimal(seconds/minute) + "m"
	case seconds < day:
		return decimal(seconds/hour) + "h"
	}
	return decimal(seconds/day) + "d"
}
