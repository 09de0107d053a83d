package engine

// MatchGlob reports whether text matches a pattern as PSUBSCRIBE and KEYS have
// them, for command families that other packages register.
func MatchGlob(pattern, text string) bool { return matchGlob(pattern, text) }

// matchGlob reports whether text matches pattern: * any run, ? any byte,
// [a-z] and [^a-z] classes, \ for the next byte itself.
// Source: stringmatchlen of Redis 7.0, down to unclosed classes.
func matchGlob(pattern, text string) bool {
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
		if next, ok := matchOne(pattern, p, text[t]); ok {
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
func matchOne(pattern string, p int, b byte) (next int, ok bool) {
	if p == len(pattern) {
		return 0, false
	}
	switch {
	case pattern[p] == '?':
		return p + 1, true
	case pattern[p] == '[':
		return matchClass(pattern, p+1, b)
	case pattern[p] == '\\' && p+1 < len(pattern):
		p++
	}
	return p + 1, pattern[p] == b
}

// matchClass matches one byte with a class whose text begins at p.
func matchClass(pattern string, p int, b byte) (next int, ok bool) {
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
			low, high := pattern[p], pattern[p+2]
			if low > high {
				low, high = high, low
			}
			p += 2
			found = found || low <= b && b <= high
		default:
			found = found || pattern[p] == b
		}
	}
	return min(p+1, len(pattern)), found != negated
}
