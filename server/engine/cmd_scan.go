package engine

import (
	"strconv"

	"minikv/datastore"
	"minikv/internal/resp"
)

// The SCAN family, https://redis.io/docs/latest/commands/scan/. What is there
// from the first call to the last is returned; see datastore's scan.go.

var scanCommands = []Command{
	{Name: "HSCAN", Arity: -3, Flags: ReadOnly, Groups: "hash", Run: runHScan},
	{Name: "SCAN", Arity: -2, Flags: ReadOnly, anyKeys: true, Groups: "keyspace", Run: runScan},
	{Name: "SSCAN", Arity: -3, Flags: ReadOnly, Groups: "set", Run: runSScan},
	{Name: "ZSCAN", Arity: -3, Flags: ReadOnly, Groups: "sortedset", Run: runZScan},
}

const errCursor = "ERR invalid cursor"

// scanOptions are what follows the cursor.
type scanOptions struct {
	count   int
	pattern string
	all     bool   // no pattern
	typed   bool   // SCAN: TYPE is given
	kind    string // the name behind TYPE
}

// runScan is SCAN cursor [MATCH pattern] [COUNT count] [TYPE type].
func runScan(c *Call) resp.Value {
	cursor, ok := parseCursor(c.Args[1])
	if !ok {
		return resp.Err(errCursor)
	}
	opt, bad := parseScan(c.Args[2:], true)
	if bad != "" {
		return resp.Err(bad)
	}
	found := []resp.Value{}
	next := c.DB.Scan(cursor, opt.count, opt.wants, func(key string, kind datastore.Kind) {
		if !opt.typed || opt.kind == kind.String() {
			found = append(found, resp.Str(key))
		}
	})
	return scanReply(next, found)
}

// runHScan is HSCAN key cursor [MATCH pattern] [COUNT count].
func runHScan(c *Call) resp.Value {
	return scanKey(c, datastore.Hash, func(cursor uint64, opt scanOptions, add func(...string)) uint64 {
		next, _ := c.DB.HashScan(c.Args[1], cursor, opt.count, func(field, text string) { add(field, text) })
		return next
	})
}

// runSScan is SSCAN key cursor [MATCH pattern] [COUNT count].
func runSScan(c *Call) resp.Value {
	return scanKey(c, datastore.Set, func(cursor uint64, opt scanOptions, add func(...string)) uint64 {
		if c.DB.Compact(c.Args[1]) {
			names, _ := c.DB.SetMembers(c.Args[1])
			for _, name := range names {
				add(name)
			}
			return 0
		}
		next, _ := c.DB.SetScan(c.Args[1], cursor, opt.count, func(name string) { add(name) })
		return next
	})
}

// runZScan is ZSCAN key cursor [MATCH pattern] [COUNT count]. A compact sorted
// set comes in its order.
func runZScan(c *Call) resp.Value {
	return scanKey(c, datastore.ZSet, func(cursor uint64, opt scanOptions, add func(...string)) uint64 {
		if c.DB.Compact(c.Args[1]) {
			n, _ := c.DB.ZLen(c.Args[1])
			members, _ := c.DB.ZRange(c.Args[1], 0, n)
			for _, m := range members {
				add(m.Name, datastore.ListpackScore(m.Score))
			}
			return 0
		}
		next, _ := c.DB.ZScan(c.Args[1], cursor, opt.count, func(name string, score float64) {
			add(name, resp.FormatDouble(score))
		})
		return next
	})
}

// scanKey is the scan of one key's elements. A compact value is returned whole,
// whatever COUNT says, as Redis does. scan calls add with each element: its
// name, and what belongs to it.
func scanKey(
	c *Call, kind datastore.Kind, scan func(cursor uint64, opt scanOptions, add func(...string)) uint64,
) resp.Value {
	cursor, ok := parseCursor(c.Args[2])
	if !ok {
		return resp.Err(errCursor)
	}
	switch c.DB.Kind(c.Args[1]) {
	case datastore.None:
		return scanReply(0, nil)
	case kind:
	default:
		c.DB.Touch(c.Args[1])
		return resp.Err(errWrongType)
	}
	opt, bad := parseScan(c.Args[3:], false)
	if bad != "" {
		return resp.Err(bad)
	}
	if c.DB.Compact(c.Args[1]) {
		cursor, opt.count = 0, -1
	}
	found := []resp.Value{}
	next := scan(cursor, opt, func(element ...string) {
		if !opt.wants(element[0]) {
			return
		}
		for _, text := range element {
			found = append(found, resp.Str(text))
		}
	})
	return scanReply(next, found)
}

// parseCursor reads a cursor as C's strtoul does, which wraps negative ones and ends at a
// zero byte.
func parseCursor(arg []byte) (cursor uint64, ok bool) {
	text := resp.CString(string(arg))
	if text == "" {
		return 0, true
	}
	negative := text[0] == '-'
	if negative || text[0] == '+' {
		text = text[1:]
	}
	cursor, err := strconv.ParseUint(text, 10, 64)
	if negative {
		cursor = -cursor
	}
	return cursor, err == nil
}

// parseScan reads the options; TYPE is for SCAN only.
func parseScan(args [][]byte, typed bool) (opt scanOptions, bad string) {
	opt = scanOptions{count: 10, all: true}
	for ; len(args) > 1; args = args[2:] {
		switch {
		case is(args[0], "COUNT"):
			n, ok := parseInt(args[1])
			if !ok {
				return opt, errNotInt
			}
			if n < 1 {
				return opt, errSyntax
			}
			opt.count = int(n)
		case is(args[0], "MATCH"):
			opt.pattern = string(args[1])
			opt.all = opt.pattern == "*"
		case is(args[0], "TYPE") && typed:
			opt.typed, opt.kind = true, lowerASCII(string(args[1]))
		default:
			return opt, errSyntax
		}
	}
	if len(args) > 0 {
		return opt, errSyntax
	}
	return opt, ""
}

// wants reports whether MATCH lets a name through.
func (o *scanOptions) wants(name string) bool { return o.all || matchGlob(o.pattern, name) }

func scanReply(next uint64, found []resp.Value) resp.Value {
	return resp.List(resp.Str(strconv.FormatUint(next, 10)), resp.List(found...))
}
