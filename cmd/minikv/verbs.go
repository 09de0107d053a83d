package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"minikv/internal/resp"
	"minikv/topology"
)

// verbs are the subcommands of MINIKV, in the order of its HELP. Filled by init,
// because HELP is made of it.
var verbs []verb

func init() {
	for _, family := range [][]verb{clockVerbs, nodeVerbs, networkVerbs, faultVerbs, lockVerbs, traceVerbs} {
		verbs = append(verbs, family...)
	}
}

var clockVerbs = []verb{
	{words: "CLOCK NOW", run: clockNow, help: []string{
		"Return the date of the clock that all nodes follow, in milliseconds since 1970."}},
	{words: "CLOCK ADVANCE", args: "<duration>", least: 1, most: 1, run: clockAdvance, help: []string{
		"Let time pass, with --clock virtual: keys expire, blocked clients time out, nodes notice each",
		"other's silence, each in its turn. A duration is in milliseconds, or has a unit: 31000, 31s, 1m30s.",
		"With Sentinels or in a cluster an hour takes seconds, a day a minute or so. It goes on if its client",
		"gives up the wait: one that then sends it again, as some libraries do, lets the time pass twice."}},
	{words: "CLOCK NEXT", run: clockNext, help: []string{
		"Let time pass, with --clock virtual, until the first thing falls due. Return how many milliseconds",
		"have passed, or nil if nothing waits for time to pass."}},
	{words: "CLOCK JUMP", args: "<duration>", least: 1, most: 1, run: clockJump, help: []string{
		"Set the dates of all nodes ahead, or back if the duration is negative, as when somebody sets a",
		"computer's date."}},
	{words: "CLOCK OFFSET", args: "<node> <duration>", least: 2, most: 2, run: onNode(clockOffset), help: []string{
		"Set the date of one node that far ahead of the common clock, or behind if the duration is negative."}},
	{words: "CLOCK RATE", args: "<node> <factor>", least: 2, most: 2, run: onNode(clockRate), help: []string{
		"Let the clock of one node run faster, or slower if the factor is below 1."}},
}

func clockNow(t *topology.Topology, _ []string) (resp.Value, error) {
	return resp.Int(t.Clock().Now().UnixMilli()), nil
}

func clockAdvance(t *topology.Topology, args []string) (resp.Value, error) {
	d, err := duration(args[0])
	if err == nil {
		err = named(t.Clock().Advance(d))
	}
	return okay(err)
}

func clockNext(t *topology.Topology, _ []string) (resp.Value, error) {
	passed, ok, err := t.Clock().Next()
	if err != nil || !ok {
		return resp.Value{Kind: resp.Nil}, named(err)
	}
	return resp.Int(millis(passed)), nil
}

// duration reads one that a clock can go.
func duration(text string) (time.Duration, error) {
	const most = 100 * 365 * 24 * time.Hour
	d, err := topology.ParseDuration(text)
	if err == nil && (d > most || d < -most) {
		err = fmt.Errorf("duration %q: expected a century at most", text)
	}
	return d, err
}

// named names the flag that makes a clock stand still.
func named(err error) error {
	if err != nil && strings.HasSuffix(err.Error(), "start with a virtual one to move it") {
		return errors.New("the clock is the computer's: start minikv with --clock virtual to move it")
	}
	return err
}

func clockJump(t *topology.Topology, args []string) (resp.Value, error) {
	d, err := duration(args[0])
	if err == nil {
		t.Clock().Jump(d)
	}
	return okay(err)
}

func clockOffset(n *topology.Node, args []string) error {
	d, err := duration(args[0])
	if err == nil {
		n.SetClockOffset(d)
	}
	return err
}

func clockRate(n *topology.Node, args []string) error {
	rate, err := strconv.ParseFloat(args[0], 64)
	if err != nil || !(rate >= 0.001 && rate <= 1000) {
		return fmt.Errorf("clock rate %q: expected 0.001 to 1000", args[0])
	}
	return n.SetClockRate(rate)
}

// millis rounds up, so that what was waited for has come.
func millis(d time.Duration) int64 { return int64((d + time.Millisecond - 1) / time.Millisecond) }

var faultVerbs = []verb{
	{words: "FAULT ADD", args: "[<condition> ...] <effect> [<effect> ...]", least: 1, most: -1, run: faultAdd,
		help: []string{
			"Make a rule for commands of clients, and return its number. Conditions are:",
			"* ON <command>: the command's name, which may be a pattern.",
			"* KEY <pattern>: one of the command's keys matches it.",
			"* CLIENT <name-or-id>: the client that sends it. NODE <node>: the node that gets it.",
			"* NTH <n>: from the nth match on. TIMES <n>: that many (default: all; with NTH: one).",
			"* PERCENT <p>: that share of them, at random; see --seed.",
			"Effects are:",
			"* DELAY <duration>: it runs that much later. ERROR <text>: it does not run, and the text is the reply.",
			"* DROPREQUEST: it is lost. DROPREPLY: it runs, and its reply is lost. In both cases the",
			"  connection stays open, but nothing passes any more.",
			"* DUPLICATE: it runs twice; the second reply is lost.",
			"* CLOSE: the connection breaks; with DROPREPLY, after the command has run."}},
	{words: "FAULT LIST", run: faultList, help: []string{
		"Return the rules, and for each how many commands it has seen and struck."}},
	{words: "FAULT DEL", args: "<number>", least: 1, most: 1, run: faultDelete, help: []string{
		"Remove a rule. Return 1, or 0 if there is none with that number."}},
	{words: "FAULT CLEAR", run: faultClear, help: []string{
		"Remove all rules. Connections that have lost something stay silent."}},
}

func faultAdd(t *topology.Topology, args []string) (resp.Value, error) {
	rule, err := topology.ParseFault(args)
	if err != nil {
		return resp.Value{}, err
	}
	id, err := t.Inject(rule)
	return resp.Int(int64(id)), err
}

func faultList(t *topology.Topology, _ []string) (resp.Value, error) {
	var list []resp.Value
	for _, f := range t.Faults() {
		list = append(list, resp.Pairs(resp.Str("id"), resp.Int(int64(f.ID)), resp.Str("rule"), resp.Str(f.Fault.String()),
			resp.Str("seen"), resp.Int(int64(f.Seen)), resp.Str("struck"), resp.Int(int64(f.Struck))))
	}
	return resp.List(list...), nil
}

func faultDelete(t *topology.Topology, args []string) (resp.Value, error) {
	id, err := strconv.Atoi(args[0])
	if err != nil {
		return resp.Value{}, fmt.Errorf("fault %q: expected its number", args[0])
	}
	if t.RemoveFault(id) {
		return resp.Int(1), nil
	}
	return resp.Int(0), nil
}

func faultClear(t *topology.Topology, _ []string) (resp.Value, error) {
	t.ClearFaults()
	return done, nil
}

var lockVerbs = []verb{
	{words: "LOCKS", args: "[<key>]", most: 1, run: locks, help: []string{
		"Return the locks that the masters have, or the one at that key: node, database, key, kind, owner, count,",
		"TTL in milliseconds (-1: none), waiters, holders and queue. It knows Redisson's locks, tokens in strings,",
		"and semaphores in sorted sets."}},
	{words: "WAITBLOCKED", args: "<key> <count> <timeout>", least: 3, most: 3, run: waitBlocked, help: []string{
		"Wait until that many clients wait for news of the key: blocked in a pop, subscribed to a channel of that",
		"name or of a lock of that name, or tracking the key. Return how many there are. After the timeout, in",
		"milliseconds of real time, the reply is an error."}},
}

func locks(t *topology.Topology, args []string) (resp.Value, error) {
	found := []topology.Lock{}
	if len(args) == 0 {
		found = t.Locks()
	} else if l, ok := t.Lock(args[0]); ok {
		found = append(found, l)
	}
	list := make([]resp.Value, len(found))
	for i, l := range found {
		holders := make([]resp.Value, len(l.Holders))
		for i, h := range l.Holders {
			holders[i] = resp.Pairs(resp.Str("owner"), resp.Str(h.Owner), resp.Str("count"), resp.Int(h.Count),
				resp.Str("ttl"), resp.Int(ttl(h.TTL)))
		}
		list[i] = resp.Pairs(resp.Str("node"), resp.Str(l.Node), resp.Str("db"), resp.Int(int64(l.DB)),
			resp.Str("key"), resp.Str(l.Key), resp.Str("kind"), resp.Str(l.Kind),
			resp.Str("owner"), resp.Str(l.Owner), resp.Str("count"), resp.Int(l.Count),
			resp.Str("ttl"), resp.Int(ttl(l.TTL)), resp.Str("waiters"), resp.Int(int64(l.Waiters)),
			resp.Str("holders"), resp.List(holders...), resp.Str("queue"), texts(l.Queue))
	}
	return resp.List(list...), nil
}

// ttl is as PTTL has it.
func ttl(d time.Duration) int64 {
	if d == 0 {
		return -1
	}
	return millis(d)
}

func texts(lines []string) resp.Value {
	list := make([]resp.Value, len(lines))
	for i, line := range lines {
		list[i] = resp.Str(line)
	}
	return resp.List(list...)
}

func waitBlocked(t *topology.Topology, args []string) (resp.Value, error) {
	count, err := strconv.Atoi(args[1])
	if err != nil || count < 0 {
		return resp.Value{}, fmt.Errorf("count %q: expected a number", args[1])
	}
	timeout, err := duration(args[2])
	if err == nil && timeout > time.Hour {
		err = fmt.Errorf("timeout %q: expected an hour at most", args[2])
	}
	if err != nil {
		return resp.Value{}, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	if err := t.WaitBlocked(ctx, args[0], count); err != nil {
		return resp.Value{}, fmt.Errorf("clients that wait for %q after %s: %d, not %d", args[0], timeout,
			t.Waiters(args[0]), count)
	}
	return resp.Int(int64(t.Waiters(args[0]))), nil
}

var traceVerbs = []verb{
	{words: "TRACE", args: "[<number>]", most: 1, run: trace, help: []string{
		"Return what has happened, a numbered line for each event; with a number, only what came after that event.",
		"The latest 10000 events are kept."}},
	{words: "OVERLAPS", args: "<key>", least: 1, most: 1, run: overlaps, help: []string{
		"Return when a lock was held by two owners that must not hold it together; nothing if it never was."}},
}

// traceKept is how many events MINIKV TRACE goes back.
const traceKept = 10000

func trace(t *topology.Topology, args []string) (resp.Value, error) {
	var since uint64
	if len(args) > 0 {
		var err error
		if since, err = strconv.ParseUint(args[0], 10, 64); err != nil {
			return resp.Value{}, fmt.Errorf("trace since %q: expected the number of an event", args[0])
		}
	}
	var lines []string
	for _, e := range t.Trace().Since(since) {
		lines = append(lines, numbered(e))
	}
	return shownLines(lines), nil
}

// shownLines are lines for people, which redis-cli shows as they are.
func shownLines(lines []string) resp.Value {
	list := make([]resp.Value, len(lines))
	for i, line := range lines {
		list[i] = resp.Simple(oneLine(line))
	}
	return resp.List(list...)
}

// numbered is one line of a timeline, in ASCII: terminals differ.
func numbered(e topology.Event) string {
	return fmt.Sprintf("#%-5d %s", e.Number, plain.Replace(e.String()))
}

var plain = strings.NewReplacer("→", "->", "…", "...")

func overlaps(t *topology.Topology, args []string) (resp.Value, error) {
	var lines []string
	for _, o := range t.Trace().Overlaps(args[0]) {
		lines = append(lines, o.String())
	}
	return shownLines(lines), nil
}
