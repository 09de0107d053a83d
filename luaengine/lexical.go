package luaengine

import (
	"fmt"
	"strconv"
	"strings"
)

// lexicalCheck reads a chunk's text once before gopher-lua's parser, which takes
// more for Lua than Lua 5.1 does: a ";" without a statement or field before it, a number
// that runs into a name, an escape beyond \255, and a call whose parenthesis is on
// the next line. It returns the text as gopher-lua shall have it; the error begins
// with the line.
// Source: Lua 5.1, llex.c and lparser.c.
func lexicalCheck(text string) (string, error) {
	x := &lexer{text: text, line: 1, opens: true}
	for x.fault == nil && x.at < len(x.text) {
		x.token()
	}
	return x.blanked(), x.fault
}

// lexer is the state between two tokens.
type lexer struct {
	text    string
	blanks  []span // of the text, in their order
	at      int    // of the next byte
	line    int    // of the next byte
	ended   int    // the line where the latest token ended
	nesting []nest
	naming  naming
	suffix  bool // the latest token ends what an index, a call or a method may follow
	opens   bool // the latest token opens a block, or ends a statement or a field: no ";" may follow
	signs   int  // in a row that stand before an operand
	fault   error
}

// span is a part of a text.
type span struct{ from, to int }

// naming says that the names which come are being declared.
type naming uint8

const (
	notNaming naming = iota
	variableNames
	functionName
)

// nest is what is open: a block, or a bracket.
type nest uint8

const (
	block nest = iota
	grouping
	parameters
	indexing // "[" behind what can be indexed
	tableKey
	constructor
	tableArgument // a constructor that is the argument of a call
)

// token reads one token, or what is between two.
func (x *lexer) token() {
	c := x.text[x.at]
	switch {
	case c == '\n' || c == '\r':
		x.newline()
		return
	case c == ' ' || c == '\t':
		x.at++
		return
	case c == '\v' || c == '\f': // which gopher-lua does not know as blanks
		x.blanks = append(x.blanks, span{x.at, x.at + 1})
		x.at++
		return
	case strings.HasPrefix(x.text[x.at:], "--"):
		x.comment()
		return
	case strings.HasPrefix(x.text[x.at:], ".."):
		x.at += len("..")
		if strings.HasPrefix(x.text[x.at:], ".") {
			x.at++
		}
		x.suffix, x.opens, x.naming, x.signs = false, false, notNaming, 0
	case isLetter(c):
		x.word()
	case isNumeral(c) || c == '.' && x.at+1 < len(x.text) && isNumeral(x.text[x.at+1]):
		x.number()
	case c == '"' || c == '\'':
		x.quoted(c)
	case longLevel(x.text[x.at:]) >= 0:
		x.long()
		x.opens, x.naming, x.signs = false, notNaming, 0
	default:
		x.at++
		if c == '-' || c == '#' {
			x.signs++
		} else {
			x.signs = 0
		}
		x.sign(c)
	}
	x.ended = x.line
	if max(len(x.nesting), x.signs) > maxSyntaxLevels && x.fault == nil {
		x.fail("chunk has too many syntax levels") // which the parser would take a second to read
	}
}

func (x *lexer) fail(format string, args ...any) {
	x.fault = fmt.Errorf("%d: %s", x.line, fmt.Sprintf(format, args...))
}

// newline reads the end of a line, of one byte or two.
func (x *lexer) newline() {
	first := x.text[x.at]
	x.at++
	if x.at < len(x.text) && x.text[x.at] != first && (x.text[x.at] == '\n' || x.text[x.at] == '\r') {
		x.at++
	}
	x.line++
}

// blanked is the text with blanks in the place of some parts.
func (x *lexer) blanked() string {
	if len(x.blanks) == 0 {
		return x.text
	}
	text := []byte(x.text)
	for _, b := range x.blanks {
		for i := b.from; i < b.to; i++ {
			text[i] = ' '
		}
	}
	return string(text)
}

// comment reads a comment. One to the end of its line may begin like a long one
// that is none, which gopher-lua would not read.
func (x *lexer) comment() {
	start := x.at
	x.at += len("--")
	if longLevel(x.text[x.at:]) >= 0 {
		x.long()
		return
	}
	for x.at < len(x.text) && x.text[x.at] != '\n' && x.text[x.at] != '\r' {
		x.at++
	}
	if strings.HasPrefix(x.text[start:x.at], "--[") {
		x.blanks = append(x.blanks, span{start, x.at})
	}
}

// long reads a long bracket with what it encloses.
func (x *lexer) long() {
	for end := longEnd(x.text, x.at); x.at < end; {
		if c := x.text[x.at]; c == '\n' || c == '\r' {
			x.newline()
		} else {
			x.at++
		}
	}
}

// quoted reads a string, up to the end of the line if it does not end: the parser
// says so.
func (x *lexer) quoted(quote byte) {
	start := x.at
	x.opens, x.naming, x.signs = false, notNaming, 0
	for x.at++; x.at < len(x.text); {
		switch c := x.text[x.at]; {
		case c == quote:
			x.at++
			return
		case c == '\n' || c == '\r':
			return
		case c != '\\' || x.at+1 == len(x.text):
			x.at++
		case isNumeral(x.text[x.at+1]):
			digits := x.at + 1
			for x.at++; x.at < len(x.text) && x.at < digits+3 && isNumeral(x.text[x.at]); {
				x.at++
			}
			if n, _ := strconv.Atoi(x.text[digits:x.at]); n > 255 {
				x.fail("escape sequence too large near '%s'", x.text[start:digits-1])
				return
			}
		default:
			if x.at++; x.text[x.at] == '\n' || x.text[x.at] == '\r' {
				x.newline()
			} else {
				x.at++
			}
		}
	}
}

// number reads a number, and the letters behind it, which belong to it.
func (x *lexer) number() {
	start := x.at
	for x.at < len(x.text) && (isNumeral(x.text[x.at]) || x.text[x.at] == '.') {
		x.at++
	}
	if x.at < len(x.text) && x.text[x.at]|0x20 == 'e' {
		if x.at++; x.at < len(x.text) && (x.text[x.at] == '+' || x.text[x.at] == '-') {
			x.at++
		}
	}
	for x.at < len(x.text) && (isLetter(x.text[x.at]) || isNumeral(x.text[x.at])) {
		x.at++
	}
	x.suffix, x.opens, x.naming, x.signs = false, false, notNaming, 0
	if _, ok := parseNumber(x.text[start:x.at]); !ok {
		x.fail("malformed number near '%s'", x.text[start:x.at])
	}
}

// word reads a name or a word of the language.
func (x *lexer) word() {
	start := x.at
	for x.at < len(x.text) && (isLetter(x.text[x.at]) || isNumeral(x.text[x.at])) {
		x.at++
	}
	x.opens = false
	before, signs := x.naming, x.signs
	x.naming, x.signs = notNaming, 0
	switch word := x.text[start:x.at]; word {
	case "do", "repeat":
		x.open(block)
		x.opens = true
	case "then", "else":
		x.opens = true
	case "if":
		x.open(block)
	case "end", "until":
		x.close()
	case "function":
		x.open(block)
		x.naming = functionName
	case "local":
		x.naming = variableNames
	case "not":
		x.signs = signs + 1
	case "and", "break", "elseif", "false", "for", "in", "nil", "or", "return", "true", "while":
	default:
		x.naming = before
		x.suffix = before == notNaming
		return
	}
	x.suffix = false
}

func (x *lexer) open(n nest) { x.nesting = append(x.nesting, n) }

// close closes what was opened last; the parser says whether it fits.
func (x *lexer) close() (was nest) {
	last := len(x.nesting) - 1
	if last < 0 {
		return block
	}
	was = x.nesting[last]
	x.nesting = x.nesting[:last]
	return was
}

// sign reads a byte that is a sign, of which some have two or three.
func (x *lexer) sign(c byte) {
	suffix, opens, naming := x.suffix, x.opens, x.naming
	x.suffix, x.opens, x.naming = false, false, notNaming
	choose := func(yes, no nest) {
		if suffix {
			no = yes
		}
		x.open(no)
	}
	switch c {
	case '(':
		if suffix && x.line != x.ended {
			x.fail("ambiguous syntax (function call x new statement) near '('")
		}
		n := grouping
		if naming == functionName {
			n = parameters
		}
		x.open(n)
	case ')':
		was := x.close()
		x.suffix, x.opens = was == grouping, was == parameters
	case '[':
		choose(indexing, tableKey)
	case ']':
		x.suffix = x.close() == indexing
	case '{':
		choose(tableArgument, constructor)
	case '}':
		x.suffix = x.close() == tableArgument
	case '.', ':':
		x.naming = naming
	case ',':
		x.naming, x.opens = naming, x.inConstructor()
	case ';':
		x.opens = true
	}
	if opens && (c == ';' || c == ',') {
		x.fail("unexpected symbol near '%c'", c)
	}
}

func (x *lexer) inConstructor() bool {
	if len(x.nesting) == 0 {
		return false
	}
	n := x.nesting[len(x.nesting)-1]
	return n == constructor || n == tableArgument
}
