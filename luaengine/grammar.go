package luaengine

import "fmt"

// recognise says what Lua 5.1 finds wrong in a text: its line, and what it is; "" if
// that is nothing. It builds no tree: gopher-lua's parser does, which takes more for Lua
// than Lua does and knows of a fault the place alone. forParser is the text as that
// shall have it, and lines are for a liner. levels is how many C calls are under way.
// Source: Lua 5.1, lparser.c.
func recognise(text string, levels int) (forParser string, lines []int, fault string) {
	g := &grammar{scanner: scanner{text: text, line: 1}, levels: levels, visible: make(map[string]int)}
	g.functions = []functionScope{{vararg: true}}
	g.next()
	g.chunk()
	g.check(endOfText)
	return g.blanked(), g.lines, g.fault
}

// grammar reads a text by recursive descent; each recursion passes enter. From the first
// fault on all tokens are the end of the text.
type grammar struct {
	scanner
	token  symbol // the one that comes
	ahead  symbol // the one behind it, if hasAhead
	ended  int    // the line where the token before ended; behind one that was looked at ahead, that of the next
	word   string // the name that comes
	levels int
	size   int // the tokens that came, with functionSize for each function

	lines     []int // of what has been read
	unsettled int   // which of them is not known yet, counted from 1; 0: none

	hasAhead  bool
	functions []functionScope // the innermost one last
	variables []localVariable // of all functions
	visible   map[string]int  // which of them a name means
}

func (g *grammar) next() {
	g.ended = g.line
	if g.hasAhead {
		g.token, g.hasAhead = g.ahead, false
	} else {
		g.token = g.scan()
	}
	g.word = g.latest
	if g.size++; g.size > maxSize {
		g.fail("chunk is too large")
	}
	if g.fault != "" {
		g.stop()
	}
}

// A chunk may have maxSize tokens, for each of which gopher-lua's compiler takes some
// hundreds of bytes and some microseconds, in which nobody can interrupt it. For a
// function it takes as much as for functionSize of them.
const (
	maxSize      = 2 << 20
	functionSize = 64
)

// lookAhead returns the token behind the one that comes.
func (g *grammar) lookAhead() symbol {
	g.ahead, g.hasAhead = g.scan(), true
	if g.fault != "" {
		g.stop()
	}
	return g.ahead
}

// refuse is a fault at the token that comes.
func (g *grammar) refuse(message string) {
	g.failNear(message, g.token)
	g.stop()
}

// stop has everything end after a fault.
func (g *grammar) stop() { g.token, g.hasAhead = endOfText, false }

func (g *grammar) expected(t symbol) { g.refuse("'" + t.String() + "' expected") }

func (g *grammar) check(t symbol) {
	if g.token != t {
		g.expected(t)
	}
}

// accept reads t if it comes.
func (g *grammar) accept(t symbol) bool {
	if g.token != t {
		return false
	}
	g.next()
	return true
}

func (g *grammar) expect(t symbol) {
	g.check(t)
	g.next()
}

// expectClosing reads the token that closes what another opened in a line.
func (g *grammar) expectClosing(closing, opening symbol, line int) {
	switch {
	case g.accept(closing):
	case line == g.line:
		g.expected(closing)
	default:
		g.refuse(fmt.Sprintf("'%s' expected (to close '%s' at line %d)", closing, opening, line))
	}
}

func (g *grammar) name() string {
	name := g.word
	g.expect(nameToken)
	return name
}

// maxSyntaxLevels is how deep a chunk may nest: LUAI_MAXCCALLS.
const maxSyntaxLevels = 200

// enter bounds the recursion.
func (g *grammar) enter() {
	if g.levels++; g.levels > maxSyntaxLevels {
		g.fail("chunk has too many syntax levels")
		g.stop()
	}
}

func (g *grammar) leave() { g.levels-- }

// chunk reads statements up to what ends a block.
func (g *grammar) chunk() {
	g.enter()
	for last := false; !last && !g.blockEnds(); {
		last = g.statement()
		g.accept(';')
	}
	g.leave()
}

func (g *grammar) blockEnds() bool {
	switch g.token {
	case elseToken, elseifToken, endToken, untilToken, endOfText:
		return true
	}
	return false
}

// block reads a block with local variables of its own.
func (g *grammar) block() {
	outer := len(g.variables)
	g.chunk()
	g.hide(outer)
}

// statement reads one, and says whether it must be the last one of its block.
func (g *grammar) statement() (last bool) {
	line, token := g.line, g.token
	switch token {
	case ifToken:
		g.branches(line)
	case whileToken:
		g.next()
		g.fetched()
		g.expect(doToken)
		g.loop()
		g.expectClosing(endToken, whileToken, line)
	case doToken:
		g.next()
		g.block()
		g.expectClosing(endToken, doToken, line)
	case forToken:
		g.forLoop(line)
	case repeatToken:
		g.repeatLoop(line)
	case functionToken:
		g.functionStatement(line)
	case localToken:
		g.local()
	case returnToken:
		g.next()
		if !g.blockEnds() && g.token != ';' {
			g.expressions()
			g.settle()
		}
		return true
	case breakToken:
		g.next()
		if g.innermost().loops == 0 {
			g.refuse("no loop to break")
		}
		return true
	default:
		g.callOrAssignment()
	}
	return false
}

// branches reads an if statement.
func (g *grammar) branches(line int) {
	for more := true; more; more = g.token == elseifToken {
		g.next()
		g.fetched()
		g.expect(thenToken)
		g.block()
	}
	if g.accept(elseToken) {
		g.block()
	}
	g.expectClosing(endToken, ifToken, line)
}

// loop reads a block that break may end.
func (g *grammar) loop() {
	g.innermost().loops++
	g.block()
	g.innermost().loops--
}

func (g *grammar) forLoop(line int) {
	outer := len(g.variables)
	g.next()
	first := g.name()
	switch g.token {
	case '=':
		g.declare("(for index)", "(for limit)", "(for step)", first)
		g.next()
		g.fetched()
		g.expect(',')
		g.fetched()
		if g.accept(',') {
			g.fetched()
		}
		g.note(g.line) // of "do"
	case ',', inToken:
		g.declare("(for generator)", "(for state)", "(for control)", first)
		for g.accept(',') {
			g.declare(g.name())
		}
		g.expect(inToken)
		g.note(g.line)
		g.expressions()
		g.settle()
	default:
		g.refuse("'=' or 'in' expected")
	}
	g.expect(doToken)
	g.show()
	g.loop()
	g.hide(outer)
	g.expectClosing(endToken, forToken, line)
}

func (g *grammar) repeatLoop(line int) {
	outer := len(g.variables)
	g.next()
	g.innermost().loops++
	g.chunk()
	g.expectClosing(untilToken, repeatToken, line)
	g.fetched()
	g.innermost().loops--
	g.hide(outer)
}

func (g *grammar) functionStatement(line int) {
	g.next()
	g.use(g.name())
	g.fetchable()
	method := false
	for !method && (g.token == '.' || g.token == ':') {
		method = g.token == ':'
		g.settle()
		g.next()
		g.name()
		g.fetchable()
	}
	g.ended = line // which is where the function is stored
	g.settle()
	g.functionBody(line, method)
}

func (g *grammar) local() {
	g.next()
	if g.accept(functionToken) {
		g.declare(g.name())
		g.show()
		g.functionBody(g.line, false)
		return
	}
	g.declare(g.name())
	for g.accept(',') {
		g.declare(g.name())
	}
	if g.accept('=') {
		g.expressions()
		g.settle()
	}
	g.show()
}

func (g *grammar) callOrAssignment() {
	kind := g.suffixed()
	if kind == callOperand {
		return
	}
	targets := []int{g.unsettled}
	limit := maxSyntaxLevels - g.levels
	for variables := 1; ; variables++ {
		if kind != variableOperand {
			g.refuse("syntax error")
		}
		if !g.accept(',') {
			break
		}
		kind = g.suffixed()
		targets = append(targets, g.unsettled)
		if variables > limit {
			g.tooMany(g.innermost(), limit, "variables in assignment")
		}
	}
	g.expect('=')
	g.expressions()
	g.settle()
	for _, g.unsettled = range targets {
		g.settle()
	}
}
