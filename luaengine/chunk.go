package luaengine

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"
)

// userScript is the chunk name of EVAL's scripts.
const userScript = "@user_script"

// chunk is one compiled text: a script, or what load was given.
type chunk struct {
	name    string // as Lua has it: "@user_script", "=name", or the text itself
	id      string // the name under which gopher-lua knows it
	nodes   []node // the places that error texts name
	fn      *lua.LFunction
	program *program // what runs instead of fn; nil: nothing does
	params  []param  // of fn and of program
	tables  bool     // the text mentions KEYS or ARGV other than by params
	tame    bool     // the text cannot change the tables KEYS and ARGV
}

// param is a literal KEYS[index] or ARGV[index].
type param struct {
	keys  bool
	index int // from 1
}

// compile parses text, rewrites it and has gopher-lua compile it. Errors begin
// with the chunk's name and line; they are Lua's if the text is not in its grammar.
// levels is how many C calls are under way.
func (e *Engine) compile(text, name string, fast bool, levels int) (*chunk, error) {
	e.start()
	text, lines, fault := recognise(text, levels)
	if fault != "" {
		return nil, fmt.Errorf("%s:%s", shortName(name, compileNameSize), fault)
	}
	c, err := e.rewriteAndCompile(text, lines, name, fast, false)
	if err != nil && fast {
		// The parameters may be what was too much for the compiler.
		c, err = e.rewriteAndCompile(text, lines, name, false, false)
	}
	if err != nil {
		return nil, fmt.Errorf("%s:%w", shortName(name, compileNameSize), err)
	}
	return c, nil
}

// stepping is s with a call of the step function before each statement.
func (e *Engine) stepping(s *Script) (*chunk, error) {
	if s.steps == nil {
		_, body, err := parseHeader(s.text)
		if err != nil {
			return nil, err
		}
		body, lines, _ := recognise(body, 0)
		if s.steps, err = e.rewriteAndCompile(body, lines, userScript, false, true); err != nil {
			return nil, fmt.Errorf("%s:%w", shortName(userScript, compileNameSize), err)
		}
	}
	return s.steps, nil
}

// rewriteAndCompile is compile once, of a text that is in Lua's grammar; its errors,
// which Lua does not have, begin with the line.
func (e *Engine) rewriteAndCompile(text string, lines []int, name string, fast, steps bool) (*chunk, error) {
	e.ids++
	c := &chunk{name: name, id: strconv.Itoa(e.ids)}
	stmts, err := parse.Parse(strings.NewReader(text), c.id)
	if err != nil {
		return nil, errors.New(syntaxError(err, text))
	}
	(&liner{lines}).stmts(stmts)
	rw := &rewriter{e: e, chunk: c, steps: steps, calls: strings.Contains(text, "function")}
	if len(text) >= manyBytes {
		rw.spilled = e.newSpilled()
	}
	stmts, err = rw.main(stmts, fast)
	if err != nil {
		return nil, err
	}
	proto, err := lua.Compile(stmts, c.id)
	if err != nil {
		return nil, errors.New(c.compilerError(err))
	}
	// The script is the one function that the wrapping chunk returns.
	main := proto.FunctionPrototypes[0]
	rw.patch(main)
	main.IsVarArg &^= lua.VarArgNeedsArg
	c.fn = e.main.NewFunctionFromProto(main)
	c.fn.Env = e.sand.globals
	return c, nil
}

// syntaxError gives a parser error the form of Lua's: line, then what is wrong.
func syntaxError(err error, text string) string {
	var at *parse.Error
	if !errors.As(err, &at) {
		return "1: " + err.Error()
	}
	if at.Pos.Line == parse.EOF {
		return fmt.Sprintf("%d: unexpected symbol near '<eof>'", strings.Count(text, "\n")+1)
	}
	return fmt.Sprintf("%d: unexpected symbol near '%s'", at.Pos.Line, at.Token)
}

func (c *chunk) compilerError(err error) string {
	var at *lua.CompileError
	if !errors.As(err, &at) {
		return "1: " + err.Error()
	}
	return fmt.Sprintf("%d: %s", c.line(at.Line), at.Message)
}

// How long the name of a chunk in an error text can be, with what is around it.
// Source: Lua 5.1, LUA_IDSIZE of luaconf.h, MAXSRC of llex.c.
const (
	runtimeNameSize = 60
	compileNameSize = 80
)

// shortName is how error texts call a chunk.
// Source: Lua 5.1, luaO_chunkid.
func shortName(name string, size int) string {
	name = cString(name)
	if name == "" {
		return `[string ""]`
	}
	switch name[0] {
	case '=':
		return name[1:min(len(name), size)]
	case '@':
		if rest := name[1:]; len(rest) > size-8 {
			return "..." + rest[len(rest)-(size-8):]
		}
		return name[1:]
	}
	line, _, cut := strings.Cut(name, "\n")
	if line2, _, more := strings.Cut(line, "\r"); more {
		line, cut = line2, true
	}
	room := size - len(`[string "..."]`) - 3
	if len(line) > room {
		line, cut = line[:room], true
	}
	if cut {
		line += "..."
	}
	return `[string "` + line + `"]`
}
