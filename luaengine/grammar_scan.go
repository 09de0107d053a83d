package luaengine

import (
	"fmt"
	"strconv"
	"strings"
)

// symbol is a token: a byte that stands for itself, or one of the constants.
type symbol int

const (
	andToken symbol = 1<<8 + iota
	breakToken
	doToken
	elseToken
	elseifToken
	endToken
	falseToken
	forToken
	functionToken
	ifToken
	inToken
	localToken
	nilToken
	notToken
	orToken
	repeatToken
	returnToken
	thenToken
	trueToken
	untilToken
	whileToken
	concatToken
	dotsToken
	equalToken
	atLeastToken
	atMostToken
	unequalToken
	endOfText
	numberToken
	nameToken
	stringToken
)

// tokenTexts are the tokens from andToken on as error texts have them.
var tokenTexts = [...]string{
	"and", "break", "do", "else", "elseif", "end", "false", "for", "function", "if", "in", "local", "nil", "not",
	"or", "repeat", "return", "then", "true", "until", "while",
	"..", "...", "==", ">=", "<=", "~=", "<eof>", "<number>", "<name>", "<string>",
}

// reservedWords are the names that are tokens of their own.
var reservedWords = func() map[string]symbol {
	words := make(map[string]symbol)
	for t := andToken; t <= whileToken; t++ {
		words[t.String()] = t
	}
	return words
}()

// String is how an error text has a token that is expected.
func (t symbol) String() string {
	switch {
	case t >= andToken:
		return tokenTexts[t-andToken]
	case t < ' ' || t == 0x7F:
		return fmt.Sprintf("char(%d)", int(t))
	}
	return string([]byte{byte(t)})
}

// scanner takes a text apart as Lua 5.1 does. With the first fault the text ends for it.
// Source: Lua 5.1, llex.c.
type scanner struct {
	text   string
	at     int    // of the next byte
	line   int    // of the next byte
	saved  []byte // the latest name, number or string as an error shows it
	latest string // name
	fault  string // the line and what is wrong there; "" if nothing is
	blanks []span // of the text, which gopher-lua does not know as such, in their order
}

// span is a part of a text.
type span struct{ from, to int }

// blanked is the text with blanks in the place of what gopher-lua does not know as such.
func (s *scanner) blanked() string {
	if len(s.blanks) == 0 {
		return s.text
	}
	text := []byte(s.text)
	for _, b := range s.blanks {
		for i := b.from; i < b.to; i++ {
			text[i] = ' '
		}
	}
	return string(text)
}

// fail says what is wrong.
func (s *scanner) fail(message string) {
	if s.fault == "" {
		s.fault = strconv.Itoa(s.line) + ": " + message
		s.at = len(s.text)
	}
}

// failNear says what is wrong, and at which token. Names, numbers and strings are shown
// as far as they have been read, up to a zero byte; a zero byte that is a token is not.
func (s *scanner) failNear(message string, t symbol) {
	shown := t.String()
	switch t {
	case 0:
		s.fail(message)
		return
	case nameToken, numberToken, stringToken:
		shown = cString(string(s.saved))
	}
	s.fail(message + " near '" + shown + "'")
}

// scan reads a token with the blanks and comments before it.
func (s *scanner) scan() symbol {
	for s.at < len(s.text) {
		s.saved = s.saved[:0]
		switch c := s.text[s.at]; {
		case c == '\n' || c == '\r':
			s.newline()
		case strings.IndexByte(spaces, c) >= 0:
			if c == '\v' || c == '\f' {
				s.blanks = append(s.blanks, span{s.at, s.at + 1})
			}
			s.at++
		case strings.HasPrefix(s.text[s.at:], "--"):
			s.comment()
		default:
			return s.scanToken(c)
		}
	}
	return endOfText
}

func (s *scanner) scanToken(c byte) symbol {
	switch {
	case isLetter(c):
		return s.word()
	case isNumeral(c):
		return s.number()
	case c == '"' || c == '\'':
		return s.quoted(c)
	case c == '.':
		return s.dot()
	case c == '[':
		return s.bracket()
	}
	s.at++
	if s.peek() == '=' {
		for i, first := range []byte("=><~") {
			if c == first {
				s.at++
				return equalToken + symbol(i)
			}
		}
	}
	return symbol(c)
}

// peek is the next byte, 0 at the end of the text.
func (s *scanner) peek() byte {
	if s.at < len(s.text) {
		return s.text[s.at]
	}
	return 0
}

// save takes the next byte for what an error shows.
func (s *scanner) save() {
	s.saved = append(s.saved, s.text[s.at])
	s.at++
}

// saveOneOf takes the next byte if it is one of set, or, as in Lua, a zero byte.
func (s *scanner) saveOneOf(set string) bool {
	if s.at == len(s.text) || s.text[s.at] != 0 && strings.IndexByte(set, s.text[s.at]) < 0 {
		return false
	}
	s.save()
	return true
}

// newline reads the end of a line, of one byte or two.
func (s *scanner) newline() {
	first := s.text[s.at]
	s.at++
	if second := s.peek(); second != first && (second == '\n' || second == '\r') {
		s.at++
	}
	s.line++
}

// comment reads a comment. One to the end of its line may begin like a long one that
// is none, which gopher-lua would not read.
func (s *scanner) comment() {
	start, bracket := s.at, false
	s.at += len("--")
	if bracket = s.peek() == '['; bracket {
		if level, is := s.separator('['); is {
			s.long(level, "unfinished long comment")
			return
		}
	}
	for s.at < len(s.text) && s.text[s.at] != '\n' && s.text[s.at] != '\r' {
		s.at++
	}
	if bracket {
		s.blanks = append(s.blanks, span{start, s.at})
	}
}

// separator reads a bracket and the "=" behind it: how many these are, and whether
// another such bracket, which it does not read, makes it that of a long string.
func (s *scanner) separator(bracket byte) (level int, is bool) {
	s.save()
	for s.peek() == '=' {
		s.save()
		level++
	}
	return level, s.peek() == bracket
}

// bracket reads a "[", or a long string.
func (s *scanner) bracket() symbol {
	level, is := s.separator('[')
	switch {
	case is:
		s.long(level, "unfinished long string")
		return stringToken
	case level == 0:
		return '['
	}
	s.failNear("invalid long string delimiter", stringToken)
	return endOfText
}

// long reads what a long bracket encloses, and its end.
func (s *scanner) long(level int, unfinished string) {
	s.save()
	if c := s.peek(); c == '\n' || c == '\r' {
		s.newline()
	}
	for s.at < len(s.text) {
		switch s.text[s.at] {
		case ']':
			if n, is := s.separator(']'); is && n == level {
				s.save()
				return
			}
		case '\n', '\r':
			s.saved = append(s.saved, '\n')
			s.newline()
		default:
			s.save()
		}
	}
	s.failNear(unfinished, endOfText)
}

func (s *scanner) quoted(quote byte) symbol {
	for s.save(); s.at < len(s.text); {
		switch c := s.text[s.at]; c {
		case quote:
			s.save()
			return stringToken
		case '\n', '\r':
			s.failNear("unfinished string", stringToken)
		case '\\':
			s.at++
			s.escape()
		default:
			s.save()
		}
	}
	s.failNear("unfinished string", endOfText)
	return endOfText
}

// escape reads what follows a backslash.
func (s *scanner) escape() {
	if s.at == len(s.text) {
		return
	}
	c := s.text[s.at]
	switch {
	case c == '\n' || c == '\r':
		s.saved = append(s.saved, '\n')
		s.newline()
	case isNumeral(c):
		n := 0
		for end := s.at + 3; s.at < end && isNumeral(s.peek()); s.at++ {
			n = 10*n + int(s.text[s.at]-'0')
		}
		if n > 255 {
			s.failNear("escape sequence too large", stringToken)
		}
		s.saved = append(s.saved, byte(n))
	default:
		if i := strings.IndexByte("abfnrtv", c); i >= 0 {
			c = "\a\b\f\n\r\t\v"[i]
		}
		s.saved = append(s.saved, c)
		s.at++
	}
}

// dot reads what begins with a dot.
func (s *scanner) dot() symbol {
	s.save()
	switch {
	case s.saveOneOf("."):
		if s.saveOneOf(".") {
			return dotsToken
		}
		return concatToken
	case isNumeral(s.peek()):
		return s.number()
	}
	return '.'
}

// number reads a number with the letters that run into it.
func (s *scanner) number() symbol {
	for isNumeral(s.peek()) || s.peek() == '.' {
		s.save()
	}
	if s.saveOneOf("Ee") {
		s.saveOneOf("+-")
	}
	for isNumeral(s.peek()) || isLetter(s.peek()) {
		s.save()
	}
	if _, ok := parseNumber(string(s.saved)); !ok {
		s.failNear("malformed number", numberToken)
		return endOfText
	}
	return numberToken
}

// word reads a name or a reserved word.
func (s *scanner) word() symbol {
	start := s.at
	for isNumeral(s.peek()) || isLetter(s.peek()) {
		s.save()
	}
	s.latest = s.text[start:s.at]
	if t, ok := reservedWords[s.latest]; ok {
		return t
	}
	return nameToken
}
