package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"minikv/internal/memory"
	"minikv/internal/resp"
	"minikv/luaengine"
	"minikv/server/engine"
	"minikv/sim/check"
	"minikv/trace"
)

// recording is one run of a script, statement by statement. It is made once and
// then looked at from any place.
type recording struct {
	Script string     `json:"script"` // as it ran, laid out
	Keys   []string   `json:"keys"`
	Args   []string   `json:"args"`
	Before []keyState `json:"before"` // the keys that were there
	Steps  []stepped  `json:"steps"`
	Reply  string     `json:"reply"`
}

// stepped is one statement that ran.
type stepped struct {
	Line    int                  `json:"line"`
	Locals  []luaengine.Variable `json:"locals"` // before it
	Calls   []calledCommand      `json:"calls"`
	Changes []keyChange          `json:"changes"`
}

// calledCommand is a redis.call of a statement.
type calledCommand struct {
	Command string `json:"command"`
	Reply   string `json:"reply"`
}

// keyState is a key as people read it.
type keyState struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// keyChange is what a statement has done to a key; "" stands for no key.
type keyChange struct {
	Key    string `json:"key"`
	Before string `json:"before"`
	After  string `json:"after"`
}

// exercise is a script with what it is run on.
type exercise struct {
	text       string
	keys, args []string
	setup      []string // lines with commands that run before, as redis-cli takes them, and comments
	setupFile  string   // which these are of
}

// An endless script ends once it has run maxSteps statements, or has been asked maxAsked
// times whether it may go on, which it is every 4,096 turns of loops and calls.
const (
	maxSteps = 10_000
	maxAsked = 1 << 12
)

// recorder is the node that an exercise runs on, and what it has told so far.
type recorder struct {
	ctx     context.Context
	node    *engine.Node
	session *engine.Session
	out     *recording
	known   []keyState // after the latest statement
	on      bool
	asked   int // whether it may go on
}

// record runs an exercise. An error means that the setup or the script cannot run, or
// that ctx has ended.
func record(ctx context.Context, x exercise) (*recording, error) {
	r := &recorder{ctx: ctx, out: &recording{Script: readable(x.text)}}
	r.out.Keys, r.out.Args = append([]string{}, x.keys...), append([]string{}, x.args...)
	r.node = engine.New(engine.Config{
		Clock: stillClock{}, Random: func() uint64 { return 4 }, Lua: luaengine.New(engine.Resolve),
		Observe: r.observe, Step: r.step, Limit: r.limit,
	})
	r.session = r.node.NewSession("step")
	for i, line := range x.setup {
		if line == "" || line[0] == '#' {
			continue
		}
		args, ok := resp.SplitArgs([]byte(line))
		if !ok {
			return nil, fmt.Errorf("%s:%d: unbalanced quotes", x.setupFile, i+1)
		}
		reply := r.do(args)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if reply.Kind == resp.Error {
			return nil, fmt.Errorf("%s:%d: %s", x.setupFile, i+1, reply.Str)
		}
	}
	r.known = r.states()
	r.out.Before = r.known
	r.on = true
	words := append([]string{"EVAL", r.out.Script, strconv.Itoa(len(x.keys))}, slices.Concat(x.keys, x.args)...)
	args := make([][]byte, len(words))
	for i, word := range words {
		args[i] = []byte(word)
	}
	reply := r.do(args)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if len(r.out.Steps) == 0 && reply.Kind == resp.Error {
		return nil, fmt.Errorf("%s\n%s", visible(reply.Str), numbered(r.out.Script, faultyLine(reply.Str)))
	}
	r.settle()
	r.out.Reply = resp.Describe(reply)
	return r.out, nil
}

// faultyLine is the line that the text of an error names, or 0.
func faultyLine(text string) int {
	_, rest, _ := strings.Cut(text, "user_script:")
	number, _, _ := strings.Cut(rest, ":")
	line, _ := strconv.Atoi(number)
	return line
}

// readable is a script with a statement on each line: as it is, if a person
// seems to have written it.
func readable(script string) string {
	const wide = 120
	if !strings.Contains(strings.TrimSpace(script), "\n") {
		return luaengine.Layout(script)
	}
	for _, line := range strings.Split(script, "\n") {
		if len(line) > wide || strings.Count(line, "redis.call") > 2 {
			return luaengine.Layout(script)
		}
	}
	return script
}

func (r *recorder) do(args [][]byte) resp.Value {
	r.asked = 0
	r.session.Out = r.session.Out[:0]
	r.node.Do(r.session, args)
	reply, _, _ := resp.Parse(r.session.Out)
	return reply
}

// step is told where the script stands, before the statement.
func (r *recorder) step(s luaengine.Step) {
	r.settle()
	locals := append([]luaengine.Variable{}, s.Locals...)
	r.out.Steps = append(r.out.Steps, stepped{Line: s.Line, Locals: locals, Calls: []calledCommand{}})
}

// observe is told what the node does.
func (r *recorder) observe(d trace.Detail) {
	if r.on && d.What == trace.Called && len(r.out.Steps) > 0 && !strings.HasPrefix(strings.ToLower(d.Text), "eval") {
		now := &r.out.Steps[len(r.out.Steps)-1]
		now.Calls = append(now.Calls, calledCommand{d.Text, d.Reply})
	}
}

// limit ends a script that goes on for too long, or that nobody waits for any more.
func (r *recorder) limit() string {
	r.asked++
	switch {
	case r.ctx.Err() != nil:
		return "ERR interrupted"
	case len(r.out.Steps) > maxSteps:
		return fmt.Sprintf("ERR the script has not ended after %s", check.Several(len(r.out.Steps), "statement"))
	case memory.Outgrown():
		return memory.ErrScript
	case r.asked > maxAsked:
		return fmt.Sprintf("ERR the script has not ended after %d turns of its loops", r.asked<<12)
	}
	return ""
}

// settle notes which keys the latest statement has changed.
func (r *recorder) settle() {
	if len(r.out.Steps) == 0 {
		return
	}
	latest := &r.out.Steps[len(r.out.Steps)-1]
	states := r.states()
	latest.Changes = differences(r.known, states)
	r.known = states
}

// states are the keys of database 0, in order of their names.
func (r *recorder) states() []keyState {
	db := r.node.Keyspace().DB(0)
	list := []keyState{}
	for _, key := range db.Keys() {
		list = append(list, keyState{key, db.Describe([]byte(key))})
	}
	slices.SortFunc(list, func(a, b keyState) int { return strings.Compare(a.Key, b.Key) })
	return list
}

// differences compares two lists of keys in order.
func differences(before, after []keyState) []keyChange {
	list := []keyChange{}
	for len(before) > 0 || len(after) > 0 {
		switch {
		case len(after) == 0 || len(before) > 0 && before[0].Key < after[0].Key:
			list = append(list, keyChange{before[0].Key, before[0].Value, ""})
			before = before[1:]
		case len(before) == 0 || after[0].Key < before[0].Key:
			list = append(list, keyChange{after[0].Key, "", after[0].Value})
			after = after[1:]
		default:
			if before[0].Value != after[0].Value {
				list = append(list, keyChange{after[0].Key, before[0].Value, after[0].Value})
			}
			before, after = before[1:], after[1:]
		}
	}
	return list
}

// stillClock is a clock that stands still, so that TTLs can be read.
type stillClock struct{}

// Wall implements engine.Clock.
func (stillClock) Wall() time.Time { return time.UnixMilli(1_700_000_000_000) }

// Mono implements engine.Clock.
func (stillClock) Mono() time.Duration { return 0 }
