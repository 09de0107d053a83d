package main

import (
	"strings"

	"minikv/server/engine"
)

// guess is what may have been meant by a word that is no directive, or "". Dashes
// in front and a value behind '=' are what other programs' options have.
func guess(word string) string {
	name, value, assigned := strings.Cut(strings.TrimLeft(strings.Trim(word, `"`), "-"), "=")
	switch near := nearest(strings.ToLower(name)); {
	case near == "":
		return ""
	case assigned:
		return "--" + near + " " + value
	default:
		return near
	}
}

// nearest is the known name that takes the fewest changes to get from name, if
// that is few.
func nearest(name string) (found string) {
	const longest = 64 // beyond it nothing is near
	if len(name) > longest {
		return ""
	}
	known := append(engine.ParameterNames(), "include")
	for _, d := range ownDirectives {
		known = append(known, d.name)
	}
	best := len(name)/2 + 1
	for _, one := range known {
		if d := distance(name, one); d < best {
			best, found = d, one
		}
	}
	return found
}

// distance is the number of insertions, deletions, replacements and swaps of
// neighbours that lead from a to b.
func distance(a, b string) int {
	rows := [3][]int{make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)}
	for j := range rows[1] {
		rows[1][j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, above, row := rows[0], rows[1], rows[2]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := above[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			row[j] = min(change, above[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		rows = [3][]int{above, row, before}
	}
	return rows[1][len(b)]
}
