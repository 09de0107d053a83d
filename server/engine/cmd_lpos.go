package engine

import (
	"minikv/internal/resp"
)

// searchOptions are the options of LPOS.
type searchOptions struct {
	rank   int64 // the first match that counts, from 1; negative: from the tail
	count  int64 // matches wanted, 0 for all
	many   bool  // COUNT was given: the reply is an array
	maxLen int64 // elements looked at, 0 for all
}

// runLPos is LPOS key element [RANK n] [COUNT n] [MAXLEN n].
func runLPos(c *Call) resp.Value {
	opt, bad := parseSearch(c.Args[3:])
	if bad != "" {
		return resp.Err(bad)
	}
	n, err := c.DB.ListLen(c.Args[1])
	if err != nil {
		return failed(err)
	}
	texts, err := c.DB.ListRange(c.Args[1], 0, n)
	if err != nil {
		return failed(err)
	}
	found := opt.search(texts, string(c.Args[2]))
	switch {
	case opt.many:
		return resp.List(found...)
	case len(found) == 0:
		return resp.Null
	}
	return found[0]
}

// parseSearch reads the options of LPOS.
func parseSearch(args [][]byte) (opt searchOptions, bad string) {
	opt = searchOptions{rank: 1, count: 1}
	for i := 0; i < len(args); i += 2 {
		if i+1 == len(args) {
			return opt, errSyntax
		}
		n, ok := parseInt(args[i+1])
		switch {
		case is(args[i], "RANK"):
			if opt.rank = n; !ok {
				return opt, errNotInt
			}
			if n == 0 {
				return opt, errRankZero
			}
		case is(args[i], "COUNT"):
			if opt.count, opt.many = n, true; !ok || n < 0 {
				return opt, errNegCount
			}
		case is(args[i], "MAXLEN"):
			if opt.maxLen = n; !ok || n < 0 {
				return opt, errNegMaxLen
			}
		default:
			return opt, errSyntax
		}
	}
	return opt, ""
}

// search returns the positions of the matches that are wanted.
func (o *searchOptions) search(texts []string, element string) []resp.Value {
	found := []resp.Value{}
	rank, backward := o.rank, o.rank < 0
	if backward {
		rank = -rank
	}
	limit := len(texts)
	if o.maxLen > 0 {
		limit = int(min(o.maxLen, int64(limit)))
	}
	matches := int64(0)
	for i := range limit {
		at := i
		if backward {
			at = len(texts) - 1 - i
		}
		if texts[at] != element {
			continue
		}
		matches++
		if matches >= rank {
			found = append(found, resp.Int(int64(at)))
		}
		if o.count > 0 && int64(len(found)) == o.count {
			break
		}
	}
	return found
}
