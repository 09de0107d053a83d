package engine

import (
	"math"
	"strconv"

	"minikv/datastore"
	"minikv/internal/resp"
)

// LMPOP and ZMPOP, which pop from the first of several keys that has something.

const (
	errNumKeys     = "ERR numkeys should be greater than 0"
	errCountNotPos = "ERR count should be greater than 0"
)

// popOptions are what follows the name of LMPOP or ZMPOP.
type popOptions struct {
	keys  [][]byte
	other bool  // the second of the two words that may stand behind the keys
	count int64 // elements at most
}

// runLMPop is LMPOP numkeys key [key ...] LEFT|RIGHT [COUNT n], replicated as
// LPOP or RPOP.
func runLMPop(c *Call) resp.Value {
	opt, bad := parsePop(c.Args[1:], "LEFT", "RIGHT")
	if bad != "" {
		return resp.Err(bad)
	}
	return popLists(c, opt)
}

// popLists is LMPOP once it is parsed.
func popLists(c *Call, opt popOptions) resp.Value {
	end, name := datastore.Head, "LPOP"
	if opt.other {
		end, name = datastore.Tail, "RPOP"
	}
	for _, key := range opt.keys {
		length, err := c.DB.ListLen(key)
		if err != nil {
			return failed(err)
		}
		if length == 0 {
			continue
		}
		texts, err := popElements(c, key, end, int(min(opt.count, int64(length))))
		if err != nil {
			return failed(err)
		}
		replicatePop(c, name, key, len(texts))
		return resp.List(resp.Str(string(key)), resp.List(texts...))
	}
	return resp.NullList
}

// runZMPop is ZMPOP numkeys key [key ...] MIN|MAX [COUNT n], replicated as
// ZPOPMIN or ZPOPMAX.
func runZMPop(c *Call) resp.Value {
	opt, bad := parsePop(c.Args[1:], "MIN", "MAX")
	if bad != "" {
		return resp.Err(bad)
	}
	return popSortedSets(c, opt)
}

// popSortedSets is ZMPOP once it is parsed.
func popSortedSets(c *Call, opt popOptions) resp.Value {
	name := "ZPOPMIN"
	if opt.other {
		name = "ZPOPMAX"
	}
	for _, key := range opt.keys {
		members, err := popMembers(c, key, opt.other, opt.count)
		if err != nil {
			return failed(err)
		}
		if len(members) == 0 {
			continue
		}
		replicatePop(c, name, key, len(members))
		return resp.List(resp.Str(string(key)), c.membersReply(members, opt.other, true, true))
	}
	return resp.NullList
}

// replicatePop sends name key count.
func replicatePop(c *Call, name string, key []byte, count int) {
	c.Replicate([]byte(name), key, strconv.AppendInt(nil, int64(count), 10))
}

// parsePop reads numkeys key [key ...] one|other [COUNT n].
func parsePop(args [][]byte, one, other string) (opt popOptions, bad string) {
	n, ok := parseInt(args[0])
	switch {
	case !ok || n < 1:
		return opt, errNumKeys
	case n > math.MaxInt32 || int(n)+1 >= len(args):
		return opt, errSyntax
	}
	opt = popOptions{keys: args[1 : n+1], other: is(args[n+1], other), count: 1}
	if !opt.other && !is(args[n+1], one) {
		return opt, errSyntax
	}
	rest := args[n+2:]
	if len(rest) == 0 {
		return opt, ""
	}
	if len(rest) == 1 || !is(rest[0], "COUNT") {
		return opt, errSyntax
	}
	if opt.count, ok = parseInt(rest[1]); !ok || opt.count < 1 {
		return opt, errCountNotPos
	}
	if len(rest) > 2 {
		return opt, errSyntax
	}
	return opt, ""
}
