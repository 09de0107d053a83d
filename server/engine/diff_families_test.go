package engine

import "math/rand"

// familyWord fills in one word of the families' grammars.
func familyWord(random *rand.Rand, kind string) string {
	pick := func(choices ...string) string { return choices[random.Intn(len(choices))] }
	switch kind {
	case "I":
		return pick("1-1", "1-2", "2", "3-0", "3-7", "4-1", "5", "5-5", "6-*", "7-1", "8-3", "9-1", "9-*", "12-0", "0-1",
			"0", "0-0", "x", "1-x", "-", "18446744073709551615-18446744073709551615", "18446744073709551616", `"1- 2"`, "+1-01")
	case "J":
		return pick("-", "+", "0", "2", "(2", "3-7", "(3-7", "5-5", "9", "(1-1", "(", "(-", "(0", "x",
			"(18446744073709551615-18446744073709551615")
	case "G":
		return pick("g", "g", "h", `""`)
	case "M":
		return pick("alice", "bob", "carol")
	}
	return kind
}
