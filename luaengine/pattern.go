package luaengine

import "strings"

// Limits of patterns.
const (
	maxCaptures     = 32 // LUA_MAXCAPTURES
	maxPatternDepth = 100_000
	patternSteps    = 1 << 16 // between two pauses
	readPerStep     = 8       // bytes of a set, or of what %b encloses, that take as long as a step
	comparedPerStep = 64      // bytes of a back reference
)

// Lengths of captures that are no text.
const (
	captureOpen     = -1
	capturePosition = -2
)

// matcher matches a pattern of Lua 5.1 by backtracking.
// Source: Lua 5.1 reference manual, 5.4.1.
type matcher struct {
	text, pattern string
	captures      int
	capture       [maxCaptures]struct{ start, length int }
	steps, depth  int          // steps since the latest pause
	pause         func()       // called now and then: a pattern may take exponential time
	fail          func(string) // raises the error of a wrong pattern
}

// match matches pattern[p:] at text[s:] and returns the end, or -1.
func (m *matcher) match(s, p int) int {
	if m.depth++; m.depth > maxPatternDepth {
		m.fail("pattern too complex")
	}
	defer func() { m.depth-- }()
	for {
		m.count(1)
		if p == len(m.pattern) {
			return s
		}
		switch m.pattern[p] {
		case '(':
			if p+1 < len(m.pattern) && m.pattern[p+1] == ')' {
				return m.open(s, p+2, capturePosition)
			}
			return m.open(s, p+1, captureOpen)
		case ')':
			return m.close(s, p+1)
		case '$':
			if p+1 == len(m.pattern) {
				if s == len(m.text) {
					return s
				}
				return -1
			}
		case '%':
			end, next, special := m.special(s, p)
			if special {
				if end < 0 {
					return -1
				}
				s, p = end, next
				continue
			}
		}
		end := m.classEnd(p)
		if end == len(m.pattern) || !strings.ContainsRune("?*+-", rune(m.pattern[end])) {
			if !m.single(s, p, end) {
				return -1
			}
			s, p = s+1, end
			continue
		}
		if m.pattern[end] == '?' {
			if m.single(s, p, end) {
				if r := m.match(s+1, end+1); r >= 0 {
					return r
				}
			}
			p = end + 1
			continue
		}
		return m.repeat(s, p, end)
	}
}

// count counts steps, and pauses if they are many.
func (m *matcher) count(steps int) {
	if m.steps += steps; m.steps >= patternSteps {
		m.steps = 0
		m.pause()
	}
}

// special handles %b, %f and back references; the last result is false for an
// ordinary class.
func (m *matcher) special(s, p int) (end, next int, special bool) {
	if p+1 >= len(m.pattern) {
		return 0, 0, false
	}
	switch c := m.pattern[p+1]; {
	case c == 'b':
		return m.balance(s, p+2), p + 4, true
	case c == 'f':
		p += 2
		if p >= len(m.pattern) || m.pattern[p] != '[' {
			m.fail("missing '[' after '%f' in pattern")
		}
		end := m.classEnd(p)
		before, after := byte(0), byte(0)
		if s > 0 {
			before = m.text[s-1]
		}
		if s < len(m.text) {
			after = m.text[s]
		}
		if m.inSet(before, p, end-1) || !m.inSet(after, p, end-1) {
			return -1, 0, true
		}
		return s, end, true
	case c >= '0' && c <= '9':
		return m.back(s, c), p + 2, true
	}
	return 0, 0, false
}

// repeat matches the class [p, end) as often as the sign after it says.
func (m *matcher) repeat(s, p, end int) int {
	n := 0
	switch m.pattern[end] {
	case '-':
		for {
			if r := m.match(s, end+1); r >= 0 {
				return r
			}
			if !m.single(s, p, end) {
				return -1
			}
			s++
		}
	case '+':
		if !m.single(s, p, end) {
			return -1
		}
		s++
	}
	for m.single(s+n, p, end) {
		n++
	}
	for ; n >= 0; n-- {
		if r := m.match(s+n, end+1); r >= 0 {
			return r
		}
	}
	return -1
}

func (m *matcher) open(s, p, length int) int {
	if m.captures >= maxCaptures {
		m.fail("too many captures")
	}
	m.capture[m.captures].start, m.capture[m.captures].length = s, length
	m.captures++
	r := m.match(s, p)
	if r < 0 {
		m.captures--
	}
	return r
}

func (m *matcher) close(s, p int) int {
	for i := m.captures - 1; i >= 0; i-- {
		if m.capture[i].length != captureOpen {
			continue
		}
		m.capture[i].length = s - m.capture[i].start
		r := m.match(s, p)
		if r < 0 {
			m.capture[i].length = captureOpen
		}
		return r
	}
	m.fail("invalid pattern capture")
	return -1
}

func (m *matcher) balance(s, p int) int {
	if p+1 >= len(m.pattern) {
		m.fail("unbalanced pattern")
	}
	if s >= len(m.text) || m.text[s] != m.pattern[p] {
		return -1
	}
	opening, closing, depth := m.pattern[p], m.pattern[p+1], 1
	start := s
	for s++; s < len(m.text); s++ {
		switch m.text[s] {
		case closing:
			if depth--; depth == 0 {
				m.count((s - start) / readPerStep)
				return s + 1
			}
		case opening:
			depth++
		}
	}
	m.count((s - start) / readPerStep)
	return -1
}

func (m *matcher) back(s int, digit byte) int {
	i := int(digit) - '1'
	if i < 0 || i >= m.captures || m.capture[i].length == captureOpen {
		m.fail("invalid capture index")
	}
	start, n := m.capture[i].start, m.capture[i].length
	m.count(max(n, 0) / comparedPerStep)
	if n < 0 || !strings.HasPrefix(m.text[s:], m.text[start:start+n]) {
		return -1
	}
	return s + n
}

// classEnd is where the single class at p ends.
func (m *matcher) classEnd(p int) int {
	start, c := p, m.pattern[p]
	p++
	switch c {
	case '%':
		if p == len(m.pattern) {
			m.fail("malformed pattern (ends with '%')")
		}
		return p + 1
	case '[':
		if p < len(m.pattern) && m.pattern[p] == '^' {
			p++
		}
		for first := true; first || p >= len(m.pattern) || m.pattern[p] != ']'; first = false {
			if p >= len(m.pattern) {
				m.fail("malformed pattern (missing ']')")
			}
			if m.pattern[p] == '%' && p+1 < len(m.pattern) {
				p++
			}
			p++
		}
		m.count((p - start) / readPerStep)
		return p + 1
	}
	return p
}

// single reports whether text[s] is in the class [p, end).
func (m *matcher) single(s, p, end int) bool {
	if s >= len(m.text) {
		return false
	}
	c := m.text[s]
	switch m.pattern[p] {
	case '.':
		return true
	case '%':
		return inClass(c, m.pattern[p+1])
	case '[':
		return m.inSet(c, p, end-1)
	}
	return m.pattern[p] == c
}

// inSet reports whether c is in the set from '[' at p to ']' at end.
func (m *matcher) inSet(c byte, p, end int) bool {
	m.count((end - p) / readPerStep)
	found := true
	p++
	if m.pattern[p] == '^' {
		found = false
		p++
	}
	for ; p < end; p++ {
		switch {
		case m.pattern[p] == '%':
			p++
			if inClass(c, m.pattern[p]) {
				return found
			}
		case p+2 < end && m.pattern[p+1] == '-':
			if m.pattern[p] <= c && c <= m.pattern[p+2] {
				return found
			}
			p += 2
		case m.pattern[p] == c:
			return found
		}
	}
	return !found
}

// inClass reports whether c is in the class that a letter after % names.
func inClass(c, class byte) bool {
	var in bool
	letter := 'a' <= c|0x20 && c|0x20 <= 'z'
	digit := '0' <= c && c <= '9'
	switch class | 0x20 {
	case 'a':
		in = letter
	case 'c':
		in = c < 0x20 || c == 0x7f
	case 'd':
		in = digit
	case 'l':
		in = 'a' <= c && c <= 'z'
	case 'p':
		in = 0x20 < c && c < 0x7f && !letter && !digit
	case 's':
		in = c == ' ' || '\t' <= c && c <= '\r'
	case 'u':
		in = 'A' <= c && c <= 'Z'
	case 'w':
		in = letter || digit
	case 'x':
		in = digit || 'a' <= c|0x20 && c|0x20 <= 'f'
	case 'z':
		in = c == 0
	default:
		return class == c
	}
	if class < 'a' {
		return !in
	}
	return in
}
