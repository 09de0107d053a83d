package luaengine

// operandKind is what an operand is as a statement of its own, or left of "=".
type operandKind uint8

const (
	valueOperand    operandKind = iota // neither
	variableOperand                    // may be assigned to
	callOperand                        // is a statement
)

// How strongly operators bind what is on their left, and on their right.
// Source: Lua 5.1 reference manual, 2.5.6.
var binding = map[symbol]struct{ left, right int }{
	orToken:  {1, 1},
	andToken: {2, 2},
	'<':      {3, 3}, '>': {3, 3}, atMostToken: {3, 3}, atLeastToken: {3, 3}, unequalToken: {3, 3}, equalToken: {3, 3},
	concatToken: {5, 4},
	'+':         {6, 6}, '-': {6, 6},
	'*': {7, 7}, '/': {7, 7}, '%': {7, 7},
	'^': {10, 9},
}

const unaryBinding = 8

func (g *grammar) expressions() {
	g.expression()
	for g.accept(',') {
		g.settle()
		g.expression()
	}
}

func (g *grammar) expression() { g.operation(0) }

// fetched reads an expression of which Lua takes the value at once.
func (g *grammar) fetched() {
	g.expression()
	g.settle()
}

// operation reads operands with the operators among them that bind more strongly than limit.
func (g *grammar) operation(limit int) {
	g.enter()
	switch g.token {
	case notToken, '-', '#':
		g.next()
		g.operator(unaryBinding)
	default:
		g.operand()
	}
	for binding[g.token].left > limit {
		right := binding[g.token].right
		g.next()
		g.settle()
		g.operator(right)
	}
	g.leave()
}

// operator reads the operand on the right of an operator, which comes behind it.
func (g *grammar) operator(limit int) {
	g.operation(limit)
	g.settle()
	g.note(g.ended)
}

func (g *grammar) operand() {
	switch g.token {
	case dotsToken:
		if !g.innermost().vararg {
			g.refuse("cannot use '...' outside a vararg function")
		}
		g.next()
	case numberToken, stringToken, nilToken, trueToken, falseToken:
		g.next()
	case '{':
		g.table()
	case functionToken:
		g.next()
		g.functionBody(g.line, false)
	default:
		g.suffixed()
	}
}

// suffixed reads a name, or an expression in parentheses, with the fields, indexes and
// calls behind it.
func (g *grammar) suffixed() operandKind {
	kind := g.prefix()
	for {
		switch g.token {
		case '.':
			g.settle()
			g.next()
			g.name()
			g.fetchable()
			kind = variableOperand
		case '[':
			g.settle()
			g.index()
			g.fetchable()
			kind = variableOperand
		case ':':
			g.next()
			g.name()
			g.settle()
			g.arguments()
			kind = callOperand
		case '(', '{', stringToken:
			g.settle()
			g.arguments()
			kind = callOperand
		default:
			return kind
		}
	}
}

func (g *grammar) prefix() operandKind {
	switch g.token {
	case nameToken:
		g.use(g.name())
		g.fetchable()
		return variableOperand
	case '(':
		line := g.line
		g.next()
		g.expression()
		g.expectClosing(')', '(', line)
		g.settle()
	default:
		g.refuse("unexpected symbol")
	}
	return valueOperand
}

func (g *grammar) index() {
	g.next()
	g.fetched()
	g.expect(']')
}

func (g *grammar) arguments() {
	line := g.line
	switch g.token {
	case stringToken:
		g.next()
	case '{':
		g.table()
	case '(':
		if line != g.ended {
			g.refuse("ambiguous syntax (function call x new statement)")
		}
		g.next()
		if g.token != ')' {
			g.expressions()
		}
		g.expectClosing(')', '(', line)
		g.settle()
	default:
		g.refuse("function arguments expected")
	}
	g.note(line)
}

func (g *grammar) table() {
	line := g.line
	g.expect('{')
	for g.token != '}' {
		g.settle()
		keyed := true
		switch {
		case g.token == '[':
			g.index()
			g.expect('=')
		case g.token == nameToken && g.lookAhead() == '=':
			g.next()
			g.next()
		default:
			keyed = false
		}
		if g.expression(); keyed {
			g.settle()
		}
		if !g.accept(',') && !g.accept(';') {
			break
		}
	}
	g.expectClosing('}', '{', line)
	g.settle()
}

// functionBody reads what follows the name of a function that begins in a line.
func (g *grammar) functionBody(line int, method bool) {
	g.size += functionSize
	outer := len(g.variables)
	g.functions = append(g.functions, functionScope{line: line, outer: outer})
	g.expect('(')
	if method {
		g.declare("self")
		g.show()
	}
	if g.token != ')' {
		g.parameters()
	}
	g.show()
	g.expect(')')
	g.chunk()
	g.expectClosing(endToken, functionToken, line)
	g.functions = g.functions[:len(g.functions)-1]
	g.hide(outer)
}

func (g *grammar) parameters() {
	for more := true; more; {
		switch g.token {
		case nameToken:
			g.declare(g.name())
			more = g.accept(',')
		case dotsToken:
			g.next()
			g.declare("arg")
			g.innermost().vararg = true
			return
		default:
			g.refuse("<name> or '...' expected")
			return
		}
	}
}
