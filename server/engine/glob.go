package engine

// MatchGlob reports whether text matches a pattern of PSUBSCRIBE or KEYS. It is for
// command families that other packages register.
func MatchGlob(pattern, text string) bool { return matchGlob(pattern, text) }

// MatchGlobFold is MatchGlob without regard to case, as CONFIG GET matches.
func MatchGlobFold(pattern, text string) bool { return matchGlobFold(pattern, text) }

// matchGlob reports whether text matches pattern: * any run, ? any byte,
// [a-z] and [^a-z] classes, \ for the next byte itself. An empty text matches
// an empty pattern only, not "*": KEYS and SCAN take a single * for all themselves.
// Source: stringmatchlen of Redis 7.0, down to unclosed classes.
func matchGlob(pattern, text string) bool { return glob{pattern, false}.matches(text) }

// matchGlobFold is matchGlob for CONFIG GET and other lists of names, in which
// case does not matter; it does for a byte behind \ in a class.
func matchGlobFold(pattern, text string) bool { return glob{pattern, true}.matches(text) }

// glob is a pattern, and whether case does not matter.
type glob struct {
	pattern string
	fold    bool
}

func (g glob) matches(text string) bool {
	if text == "" {
		return g.pattern == ""
	}
	pattern := g.pattern
	backPattern, backText := -1, 0
	p, t := 0, 0
	for t < len(text) {
		if p < len(pattern) && pattern[p] == '*' {
			for p < len(pattern) && pattern[p] == '*' {
				p++
			}
			backPattern, backText = p, t
			continue
		}
		if next, ok := g.matchOne(p, text[t]); ok {
			p, t = next, t+1
			continue
		}
		if backPattern < 0 {
			return false
		}
		backText++
		p, t = backPattern, backText
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// matchOne matches one byte with the pattern's element at p, and returns where
// the next one begins.
func (g glob) matchOne(p int, b byte) (next int, ok bool) {
	pattern := g.pattern
	if p == len(pattern) {
		return 0, false
	}
	switch {
	case pattern[p] == '?':
		return p + 1, true
	case pattern[p] == '[':
		return g.matchClass(p+1, b)
	case pattern[p] == '\\' && p+1 < len(pattern):
		p++
	}
	return p + 1, g.folded(pattern[p]) == g.folded(b)
}

// matchClass matches one byte with a class whose text begins at p.
func (g glob) matchClass(p int, b byte) (next int, ok bool) {
	pattern := g.pattern
	negated := p < len(pattern) && pattern[p] == '^'
	if negated {
		p++
	}
	found := false
	for ; p < len(pattern) && pattern[p] != ']'; p++ {
		switch {
		case pattern[p] == '\\' && p+1 < len(pattern):
			p++
			found = found || pattern[p] == b
		case p+2 < len(pattern) && pattern[p+1] == '-':
			found = found || g.inRange(b, pattern[p], pattern[p+2])
			p += 2
		default:
			found = found || g.folded(pattern[p]) == g.folded(b)
		}
	}
	return min(p+1, len(pattern)), found != negated
}

// inRange reports whether b lies between two bytes, in the order of C's chars on
// amd64, where those from 128 on are negative. The bounds are put in order
// before their case is taken from them: without it Z-a is empty.
func (g glob) inRange(b, first, last byte) bool {
	if int8(first) > int8(last) {
		first, last = last, first
	}
	c := int8(g.folded(b))
	return int8(g.folded(first)) <= c && c <= int8(g.folded(last))
}

func (g glob) folded(b byte) byte {
	if g.fold && 'A' <= b && b <= 'Z' {
		return b + 'a' - 'A'
	}
	return b
}
