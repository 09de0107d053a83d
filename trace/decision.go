package trace

import "strings"

// Sources are the scripts that a trace has shown so far: their lines, by SHA1.
type Sources map[string][]string

// Decision is where a script made its last decision: the last condition that it came to,
// or the last statement of a script that came to none.
type Decision struct {
	Line int    // from 1
	Text string // of the line, without its indent
}

// Note adds the scripts that e shows.
func (s Sources) Note(e *Event) {
	for _, d := range e.Details {
		if d.What == Script && d.Text != "" {
			s[d.Key] = strings.Split(d.Text, "\n")
		}
	}
}

// Decision returns what decided the script that e ran; of several scripts, the last one.
// ok is false if the trace does not say, because it was made without lines or e ran no
// script.
func (s Sources) Decision(e *Event) (found Decision, ok bool) {
	var source []string
	condition := false
	for _, d := range e.Details {
		if d.What == Script {
			source, found, ok, condition = s[d.Key], Decision{}, false, false
		}
		if d.What != Line || d.Line < 1 || d.Line > len(source) {
			continue
		}
		text := strings.TrimSpace(source[d.Line-1])
		if turn := turns(text); turn || !condition {
			found, ok, condition = Decision{d.Line, text}, true, turn
		}
	}
	return found, ok
}

// turns reports whether a line of Lua begins with a condition.
func turns(line string) bool {
	for _, word := range []string{"if", "elseif", "while"} {
		if rest, is := strings.CutPrefix(line, word); is && (rest == "" || strings.ContainsRune(" (\t", rune(rest[0]))) {
			return true
		}
	}
	return false
}
