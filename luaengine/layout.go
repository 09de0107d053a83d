package luaengine

import (
	"slices"
	"strings"
)

// Layout returns a script with one statement a line, indented, as a person would write
// it; many clients send theirs in one line. Only white space changes. A text that is not
// Lua comes back in some shape, or as it is.
func Layout(script string) string {
	list := tokens(script)
	l := layout{}
	for _, t := range list {
		l.token(t)
	}
	l.newLine()
	if out := l.out.String(); slices.EqualFunc(list, tokens(out), sameToken) {
		return out
	}
	return script
}

func sameToken(a, b token) bool { return a.text == b.text }

// token is one word, sign, literal or comment.
type token struct {
	text  string
	kind  tokenKind
	lines int // line breaks before it
}

type tokenKind uint8

const (
	aWord    tokenKind = iota // a name or a keyword
	aLiteral                  // a string or a number
	aSign
	aComment
)

// tokens cuts a script into its tokens.
func tokens(s string) []token {
	var list []token
	lines := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c == ' ' || c == '\t' || c == '\r' || c == '\n' {
			if c == '\n' {
				lines++
			}
			i++
			continue
		}
		t := token{kind: aSign, lines: lines}
		end := i + 1
		switch {
		case strings.HasPrefix(s[i:], "--"):
			t.kind, end = aComment, commentEnd(s, i)
		case c == '"' || c == '\'':
			t.kind, end = aLiteral, quotedEnd(s, i)
		case c == '[' && longLevel(s[i:]) >= 0:
			t.kind, end = aLiteral, longEnd(s, i)
		case isNumeral(c) || c == '.' && i+1 < len(s) && isNumeral(s[i+1]):
			t.kind, end = aLiteral, numberEnd(s, i)
		case isLetter(c):
			t.kind = aWord
			for end < len(s) && (isLetter(s[end]) || isNumeral(s[end])) {
				end++
			}
		default:
			end = i + signLength(s[i:])
		}
		t.text = s[i:end]
		list = append(list, t)
		i, lines = end, 0
	}
	return list
}

func isNumeral(c byte) bool { return c >= '0' && c <= '9' }

func isLetter(c byte) bool { return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' }

// signLength is the length of the operator or bracket that s begins with.
func signLength(s string) int {
	for _, long := range [...]string{"...", "..", "==", "~=", "<=", ">="} {
		if strings.HasPrefix(s, long) {
			return len(long)
		}
	}
	return 1
}

// commentEnd is the end of the comment at i, its line break not included.
func commentEnd(s string, i int) int {
	if longLevel(s[i+2:]) >= 0 {
		return longEnd(s, i+2)
	}
	if n := strings.IndexByte(s[i:], '\n'); n >= 0 {
		return i + n
	}
	return len(s)
}

// quotedEnd is the end of the string in quotes at i.
func quotedEnd(s string, i int) int {
	for end := i + 1; end < len(s); end++ {
		switch s[end] {
		case '\\':
			end++
		case s[i]:
			return end + 1
		}
	}
	return len(s)
}

// longLevel is the number of equals signs of the long bracket that s begins
// with, or -1.
func longLevel(s string) int {
	rest := strings.TrimLeft(strings.TrimPrefix(s, "["), "=")
	if !strings.HasPrefix(s, "[") || !strings.HasPrefix(rest, "[") {
		return -1
	}
	return len(s) - 1 - len(rest)
}

func longEnd(s string, i int) int {
	closing := "]" + strings.Repeat("=", longLevel(s[i:])) + "]"
	if n := strings.Index(s[i:], closing); n >= 0 {
		return i + n + len(closing)
	}
	return len(s)
}

// numberEnd is the end of the number at i, with its exponent.
func numberEnd(s string, i int) int {
	end := i + 1
	for end < len(s) && (isNumeral(s[end]) || isLetter(s[end]) || s[end] == '.' && !strings.HasPrefix(s[end:], "..") ||
		(s[end] == '+' || s[end] == '-') && s[end-1]|0x20 == 'e' && !strings.HasPrefix(s[i:], "0x")) {
		end++
	}
	return end
}

// layout puts tokens into lines.
type layout struct {
	out    strings.Builder
	line   strings.Builder
	depth  int // of blocks
	inside int // of brackets
	before token
	outer  []int // inside, outside of each open block
	params bool  // between "function" and its body
}

// maxIndent keeps deeply nested blocks from filling the memory with blanks.
const maxIndent = 40

// newLine ends the present line, if there is anything in it.
func (l *layout) newLine() {
	if l.line.Len() == 0 {
		return
	}
	l.out.WriteString(l.line.String())
	l.out.WriteByte('\n')
	l.line.Reset()
	l.before = token{}
}

func (l *layout) token(t token) {
	if l.inside == 0 && l.begins(t) {
		l.newLine()
	}
	if t.text == ";" && l.inside == 0 {
		l.write(t)
		l.newLine()
		return
	}
	switch t.text {
	case "end", "until", "else", "elseif":
		if t.kind == aWord {
			l.newLine()
			l.close()
		}
	}
	l.write(t)
	l.after(t)
}

// begins reports whether t begins a statement behind a whole one.
func (l *layout) begins(t token) bool {
	b := l.before
	if b.text == "" {
		return false
	}
	if t.kind == aComment {
		return t.lines > 0
	}
	if t.kind != aWord {
		return false
	}
	switch t.text {
	case "local", "if", "while", "for", "repeat", "return", "break":
		return true
	case "function":
		return ends(b)
	case "and", "or", "then", "do", "in":
		return false
	case "not", "nil", "true", "false":
		return false
	}
	return ends(b)
}

// ends reports whether an expression can end with t.
func ends(t token) bool {
	switch t.kind {
	case aLiteral:
		return true
	case aWord:
		switch t.text {
		case "nil", "true", "false", "end", "break":
			return true
		}
		return !isKeyword(t.text)
	}
	return t.text == ")" || t.text == "]" || t.text == "}" || t.text == "..."
}

func isKeyword(s string) bool {
	switch s {
	case "and", "break", "do", "else", "elseif", "end", "false", "for", "function", "if", "in", "local", "nil", "not",
		"or", "repeat", "return", "then", "true", "until", "while":
		return true
	}
	return false
}

// write appends t to the line, with a blank before it where one belongs.
func (l *layout) write(t token) {
	if l.line.Len() == 0 {
		l.line.WriteString(strings.Repeat("  ", min(l.depth, maxIndent)))
	} else if l.apart(t) {
		l.line.WriteByte(' ')
	}
	l.line.WriteString(t.text)
	l.before = t
}

// apart reports whether a blank belongs between the token before and t.
func (l *layout) apart(t token) bool {
	b := l.before
	switch {
	case t.kind == aWord && b.kind == aWord, t.kind == aLiteral && b.kind == aWord, t.kind == aComment:
		return true
	case strings.Contains(",;)]}.:", t.text):
		return false
	case b.text == "(" || b.text == "[" || b.text == "{" || b.text == "." || b.text == ":" || b.text == "#":
		return false
	case t.text == "(" || t.text == "[":
		return !ends(b) && b.text != "function"
	case b.text == ",":
		return true
	case b.text == "-":
		return !l.unary()
	}
	return true
}

// unary reports whether the sign before stands for itself, as in "= -1".
func (l *layout) unary() bool {
	text := strings.TrimRight(strings.TrimSuffix(l.line.String(), "-"), " ")
	if text == "" {
		return true
	}
	last := text[len(text)-1]
	return !isLetter(last) && !isNumeral(last) && last != ')' && last != ']' && last != '"' && last != '\'' ||
		strings.HasSuffix(text, " return")
}

// after opens and closes what t opens and closes.
func (l *layout) after(t token) {
	switch t.kind {
	case aComment:
		l.newLine()
	case aSign:
		switch t.text {
		case "(", "{", "[":
			l.inside++
		case ")", "}", "]":
			l.inside = max(0, l.inside-1)
			if l.params && t.text == ")" {
				l.params = false
				l.open()
			}
		}
	case aWord:
		switch t.text {
		case "then", "do", "else", "repeat":
			l.open()
		case "function":
			l.params = true
		}
	}
}

// open begins a block on a line of its own, whatever brackets it stands in.
func (l *layout) open() {
	l.newLine()
	l.outer = append(l.outer, l.inside)
	l.depth++
	l.inside = 0
}

// close ends a block.
func (l *layout) close() {
	if n := len(l.outer); n > 0 {
		l.inside, l.outer = l.outer[n-1], l.outer[:n-1]
		l.depth--
	}
}
