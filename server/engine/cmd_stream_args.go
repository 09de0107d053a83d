package engine

import (
	"math"
	"strconv"
	"strings"

	"minikv/datastore"
	"minikv/internal/resp"
)

const (
	errStreamID    = "ERR Invalid stream ID specified as stream command argument"
	errStreamStart = "ERR invalid start ID for the interval"
	errStreamEnd   = "ERR invalid end ID for the interval"
)

// parseStreamID reads ms or ms-seq; seq is missing when it is not given.
func parseStreamID(arg []byte, missing uint64) (id datastore.StreamID, bad string) {
	id, hasSeq, bad := parseNewStreamID(arg)
	if !hasSeq && bad == "" {
		return id, errStreamID
	}
	if !strings.Contains(resp.CString(arg), "-") {
		id.Seq = missing
	}
	return id, bad
}

// parseNewStreamID is parseStreamID with a missing seq of 0, for XADD: of ms-*
// the seq is yet to be found.
func parseNewStreamID(arg []byte) (id datastore.StreamID, hasSeq bool, bad string) {
	const longest = 127
	if len(arg) > longest {
		return id, true, errStreamID
	}
	millis, seq, split := strings.Cut(resp.CString(arg), "-")
	var okMillis, okSeq bool
	id.Millis, okMillis = parseUnsigned(millis)
	switch {
	case !split:
		return id, true, errUnless(okMillis)
	case seq == "*":
		return id, false, errUnless(okMillis)
	}
	id.Seq, okSeq = parseUnsigned(seq)
	return id, true, errUnless(okMillis && okSeq)
}

func errUnless(ok bool) string {
	if ok {
		return ""
	}
	return errStreamID
}

// parseUnsigned reads an unsigned 64-bit integer as Redis reads those of IDs:
// what is no proper integer is tried with C's strtoull, which skips spaces and
// takes signs and zeros in front.
// Source: string2ull of Redis 7.0.
func parseUnsigned(text string) (uint64, bool) {
	if n, ok := datastore.ParseInteger(text); ok {
		return uint64(n), n >= 0
	}
	text = strings.TrimLeft(text, " \t\n\v\f\r")
	negative := strings.HasPrefix(text, "-")
	if negative || strings.HasPrefix(text, "+") {
		text = text[1:]
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, false
	}
	if negative {
		n = -n
	}
	return n, true
}

// parseAnyStreamID is parseStreamID that also knows the ends, - and +.
func parseAnyStreamID(arg []byte, missing uint64) (id datastore.StreamID, bad string) {
	switch resp.CString(arg) {
	case "-":
		return datastore.FirstStreamID, ""
	case "+":
		return datastore.LastStreamID, ""
	}
	return parseStreamID(arg, missing)
}

// parseStreamIDs reads a list of IDs.
func parseStreamIDs(args [][]byte) (ids []datastore.StreamID, bad string) {
	ids = make([]datastore.StreamID, len(args))
	for i, arg := range args {
		if ids[i], bad = parseStreamID(arg, 0); bad != "" {
			return nil, bad
		}
	}
	return ids, ""
}

// parseStreamInterval reads the ends of a range; a ( in front excludes one.
func parseStreamInterval(start, end []byte) (from, to datastore.StreamID, bad string) {
	if from, bad = parseStreamStart(start); bad != "" {
		return from, to, bad
	}
	if !excludes(end) {
		to, bad = parseAnyStreamID(end, math.MaxUint64)
		return from, to, bad
	}
	if to, bad = parseStreamID(end[1:], math.MaxUint64); bad != "" {
		return from, to, bad
	}
	to, ok := to.Previous()
	if !ok {
		bad = errStreamEnd
	}
	return from, to, bad
}

// parseStreamStart reads the beginning of a range.
func parseStreamStart(start []byte) (from datastore.StreamID, bad string) {
	if !excludes(start) {
		return parseAnyStreamID(start, 0)
	}
	if from, bad = parseStreamID(start[1:], 0); bad != "" {
		return from, bad
	}
	from, ok := from.Next()
	if !ok {
		bad = errStreamStart
	}
	return from, bad
}

func excludes(bound []byte) bool { return len(bound) > 1 && bound[0] == '(' }

// streamOptions are the options of XADD and XTRIM.
type streamOptions struct {
	noMake            bool
	trims             bool
	trim              datastore.Trim
	thresholdAt       int // position of the threshold in the command
	idGiven, seqGiven bool
	id                datastore.StreamID
	next              int // position behind the options: that of XADD's ID
}

// parseStreamOptions reads what follows the key of XADD or XTRIM.
// Source: streamParseAddOrTrimArgsOrReply of Redis 7.0.
func parseStreamOptions(c *Call, add bool) (opt streamOptions, bad string) {
	limit, limited := int64(0), false
	i := 2
options:
	for ; i < len(c.Args); i++ {
		arg, more := c.Args[i], len(c.Args)-1-i
		switch {
		case add && string(arg) == "*":
			break options
		case is(arg, "MAXLEN") && more > 0, is(arg, "MINID") && more > 0:
			if i, bad = opt.parseThreshold(c.Args, i); bad != "" {
				return opt, bad
			}
		case is(arg, "LIMIT") && more > 0:
			var ok bool
			i++
			if limit, ok = parseInt(c.Args[i]); !ok {
				return opt, errNotInt
			} else if limit < 0 {
				return opt, "ERR The LIMIT argument must be >= 0."
			}
			limited = true
		case add && is(arg, "NOMKSTREAM"):
			opt.noMake = true
		case add:
			opt.idGiven = true
			if opt.id, opt.seqGiven, bad = parseNewStreamID(arg); bad != "" {
				return opt, bad
			}
			break options
		default:
			return opt, errSyntax
		}
	}
	opt.next = i
	return opt, opt.applyLimit(c, add, limit, limited)
}

// parseThreshold reads MAXLEN or MINID at position i, [=|~] and the threshold,
// and returns the position of that.
func (o *streamOptions) parseThreshold(args [][]byte, i int) (at int, bad string) {
	if o.trims {
		return i, "ERR syntax error, MAXLEN and MINID options at the same time are not compatible"
	}
	o.trims, o.trim.ByID = true, is(args[i], "MINID")
	if more := len(args) - 1 - i; more >= 2 && len(args[i+1]) == 1 && (args[i+1][0] == '~' || args[i+1][0] == '=') {
		i++
		o.trim.Approx = args[i][0] == '~'
	}
	i++
	o.thresholdAt = i
	if o.trim.ByID {
		o.trim.MinID, bad = parseStreamID(args[i], 0)
		return i, bad
	}
	n, ok := parseInt(args[i])
	switch {
	case !ok:
		return i, errNotInt
	case n < 0:
		return i, "ERR The MAXLEN argument must be >= 0."
	}
	o.trim.MaxLen = n
	return i, ""
}

// applyLimit checks LIMIT, or chooses what it is when it was not given.
func (o *streamOptions) applyLimit(c *Call, add bool, limit int64, limited bool) (bad string) {
	const nodes, byDefault, most = 100, 10_000, 1_000_000
	switch {
	case limit > 0 && !o.trims:
		return "ERR syntax error, LIMIT cannot be used without specifying a trimming strategy"
	case !add && !o.trims:
		return "ERR syntax error, XTRIM must be called with a trimming strategy"
	case c.Session.isLink(): // the master has made it exact
	case limited && !o.trim.Approx:
		return "ERR syntax error, LIMIT cannot be used without the special ~ option"
	case limited:
		o.trim.Limit = limit
	case o.trim.Approx:
		perNode := c.Node.conf.number("stream-node-max-entries")
		o.trim.Limit = byDefault
		if perNode > 0 {
			o.trim.Limit = nodes * min(perNode, most/nodes)
		}
	}
	return ""
}
