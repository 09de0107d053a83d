package engine

import (
	"minikv/internal/resp"
)

// LCS, https://redis.io/docs/latest/commands/lcs/

// lcsOptions are what follows the keys of LCS.
type lcsOptions struct {
	length, indexes, withLength bool
	minLength                   int64
}

// largestTable is what the table of an LCS has at most, in bytes.
const largestTable = 512 << 20

// runLCS is LCS key1 key2 [LEN] [IDX] [MINMATCHLEN min-match-len] [WITHMATCHLEN].
func runLCS(c *Call) resp.Value {
	a, _, errA := c.DB.String(c.Args[1])
	b, _, errB := c.DB.String(c.Args[2])
	if errA != nil || errB != nil {
		return resp.Err("ERR The specified keys must contain string values")
	}
	opt, bad := parseLCS(c.Args[3:])
	if bad != "" {
		return resp.Err(bad)
	}
	if most := min(largestTable, c.Node.conf.maxString); int64(len(a)+1)*int64(len(b)+1) > most/4 {
		return resp.Err("ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len")
	}
	table := newLCSTable(a, b)
	switch total := int64(table.at(len(a), len(b))); {
	case opt.indexes:
		_, matches := table.trace(opt)
		return resp.Pairs(resp.Str("matches"), resp.List(matches...), resp.Str("len"), resp.Int(total))
	case opt.length:
		return resp.Int(total)
	}
	common, _ := table.trace(opt)
	return resp.Str(common)
}

func parseLCS(args [][]byte) (opt lcsOptions, bad string) {
	for i := 0; i < len(args); i++ {
		switch {
		case is(args[i], "IDX"):
			opt.indexes = true
		case is(args[i], "LEN"):
			opt.length = true
		case is(args[i], "WITHMATCHLEN"):
			opt.withLength = true
		case is(args[i], "MINMATCHLEN") && i+1 < len(args):
			n, ok := parseInt(args[i+1])
			if !ok {
				return opt, errNotInt
			}
			opt.minLength = max(0, n)
			i++
		default:
			return opt, errSyntax
		}
	}
	if opt.indexes && opt.length {
		return opt, "ERR If you want both the length and indexes, please just use IDX."
	}
	return opt, ""
}

// lcsTable is the lengths of the longest common subsequences of all prefixes.
type lcsTable struct {
	a, b  string
	cells []uint32
}

func newLCSTable(a, b string) *lcsTable {
	t := &lcsTable{a, b, make([]uint32, (len(a)+1)*(len(b)+1))}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cell := &t.cells[i*(len(b)+1)+j]
			if a[i-1] == b[j-1] {
				*cell = t.at(i-1, j-1) + 1
			} else {
				*cell = max(t.at(i-1, j), t.at(i, j-1))
			}
		}
	}
	return t
}

// at is the length for the first i bytes of a and the first j of b.
func (t *lcsTable) at(i, j int) uint32 { return t.cells[i*(len(t.b)+1)+j] }

// trace goes back from the end and returns the subsequence, and the runs of it
// that stand together in both strings, the last first.
func (t *lcsTable) trace(opt lcsOptions) (common string, matches []resp.Value) {
	i, j := len(t.a), len(t.b)
	text := make([]byte, t.at(i, j))
	run := 0 // bytes of the run that begins at i, j
	emit := func() {
		if run > 0 && int64(run) >= opt.minLength {
			matches = append(matches, matchReply(i, j, run, opt.withLength))
		}
		run = 0
	}
	for i > 0 && j > 0 {
		if t.a[i-1] == t.b[j-1] {
			text[t.at(i, j)-1] = t.a[i-1]
			i, j, run = i-1, j-1, run+1
			continue
		}
		emit()
		if t.at(i-1, j) > t.at(i, j-1) {
			i--
		} else {
			j--
		}
	}
	emit()
	return string(text), matches
}

// matchReply is one run of n bytes that begins at i and j.
func matchReply(i, j, n int, withLength bool) resp.Value {
	span := func(from int) resp.Value { return resp.List(resp.Int(int64(from)), resp.Int(int64(from+n-1))) }
	if withLength {
		return resp.List(span(i), span(j), resp.Int(int64(n)))
	}
	return resp.List(span(i), span(j))
}
