package resp

// SplitArgs splits a line into arguments as Redis splits inline commands,
// configuration lines and what is typed at redis-cli: at blanks, with
// 'single' quotes (only \' is special inside) and "double" quotes (\n \r \t
// \b \a \xHH, and a backslash makes any other character itself). It returns
// false when a quote is not closed, or closed in front of anything but a blank.
//
// Source: sdssplitargs of Redis 7.0, by its behaviour.
func SplitArgs(line []byte) (args [][]byte, ok bool) {
	s := splitter{line: line}
	for s.skipBlanks() {
		arg, ok := s.argument()
		if !ok {
			return nil, false
		}
		args = append(args, arg)
	}
	return args, true
}

type splitter struct {
	line []byte
	pos  int
}

// skipBlanks reports whether an argument follows.
func (s *splitter) skipBlanks() bool {
	for s.pos < len(s.line) && isSpace(s.line[s.pos]) {
		s.pos++
	}
	return s.pos < len(s.line)
}

func (s *splitter) argument() ([]byte, bool) {
	arg := []byte{}
	for s.pos < len(s.line) {
		c := s.line[s.pos]
		s.pos++
		switch c {
		case ' ', '\n', '\r', '\t':
			return arg, true
		case '"':
			return s.doubleQuoted(arg)
		case '\'':
			return s.singleQuoted(arg)
		}
		arg = append(arg, c)
	}
	return arg, true
}

func (s *splitter) doubleQuoted(arg []byte) ([]byte, bool) {
	for s.pos < len(s.line) {
		c := s.line[s.pos]
		s.pos++
		switch {
		case c == '"':
			return arg, s.atBlank()
		case c == '\\' && s.pos+2 < len(s.line) && s.line[s.pos] == 'x' &&
			isHex(s.line[s.pos+1]) && isHex(s.line[s.pos+2]):
			arg = append(arg, hexDigit(s.line[s.pos+1])<<4|hexDigit(s.line[s.pos+2]))
			s.pos += 3
		case c == '\\' && s.pos < len(s.line):
			arg = append(arg, unescape(s.line[s.pos]))
			s.pos++
		default:
			arg = append(arg, c)
		}
	}
	return nil, false
}

func (s *splitter) singleQuoted(arg []byte) ([]byte, bool) {
	for s.pos < len(s.line) {
		c := s.line[s.pos]
		s.pos++
		switch {
		case c == '\'':
			return arg, s.atBlank()
		case c == '\\' && s.pos < len(s.line) && s.line[s.pos] == '\'':
			arg = append(arg, '\'')
			s.pos++
		default:
			arg = append(arg, c)
		}
	}
	return nil, false
}

// atBlank reports whether a closing quote stands where it may.
func (s *splitter) atBlank() bool {
	return s.pos == len(s.line) || isSpace(s.line[s.pos])
}

func unescape(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	case 'b':
		return '\b'
	case 'a':
		return '\a'
	}
	return c
}

func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func hexDigit(c byte) byte {
	switch {
	case c <= '9':
		return c - '0'
	case c <= 'F':
		return c - 'A' + 10
	}
	return c - 'a' + 10
}
