package engine

import (
	"math"
	"slices"
	"strings"

	"minikv/datastore"
	"minikv/internal/resp"
)

// SORT, https://redis.io/docs/latest/commands/sort/

var sortCommands = []Command{
	{Name: "SORT", Arity: -2, Flags: Write | DenyOOM, Groups: "set sortedset list dangerous", Run: runSort},
	{Name: "SORT_RO", Arity: -2, Flags: ReadOnly, Groups: "set sortedset list dangerous", Run: runSortRO},
}

// sortOptions are what follows the key of SORT.
type sortOptions struct {
	descending, alpha bool
	offset, count     int64    // LIMIT; a negative count is all
	by                string   // pattern of the keys of the weights, or ""
	unsorted          bool     // BY without an asterisk
	get               []string // patterns
	target            []byte   // STORE, or nil
}

// sortElement is an element with what it is sorted by.
type sortElement struct {
	text   string
	number float64
	weight string // ALPHA
	absent bool   // there is no weight
}

// runSort is SORT key [BY pattern] [LIMIT offset count] [GET pattern ...]
// [ASC|DESC] [ALPHA] [STORE destination].
func runSort(c *Call) resp.Value { return sortKey(c, true) }

// runSortRO is SORT_RO: SORT without STORE.
func runSortRO(c *Call) resp.Value { return sortKey(c, false) }

func sortKey(c *Call, mayStore bool) resp.Value {
	opt, bad := parseSort(c, mayStore)
	if bad != "" {
		return resp.Err(bad)
	}
	texts, bad := opt.load(c)
	if bad != "" {
		return resp.Err(bad)
	}
	if !opt.unsorted {
		if texts, bad = opt.sort(c, texts); bad != "" {
			return resp.Err(bad)
		}
	}
	from, to := opt.window(len(texts))
	list := opt.output(c, texts[from:to])
	if opt.target == nil {
		return resp.List(list...)
	}
	c.store(opt.target, "sortstore", len(list), func() {
		for _, v := range list {
			_, _ = c.DB.ListPush(opt.target, datastore.Tail, []byte(v.Str))
		}
	})
	if len(list) > 0 {
		c.Amounts(len(list))
	}
	return resp.Int(int64(len(list)))
}

func parseSort(c *Call, mayStore bool) (opt sortOptions, bad string) {
	opt.count = -1
	args := c.Args[2:]
	for i := 0; i < len(args); i++ {
		left := len(args) - i - 1
		switch {
		case is(args[i], "ASC"):
			opt.descending = false
		case is(args[i], "DESC"):
			opt.descending = true
		case is(args[i], "ALPHA"):
			opt.alpha = true
		case is(args[i], "LIMIT") && left >= 2:
			var okOffset, okCount bool
			opt.offset, okOffset = parseInt(args[i+1])
			opt.count, okCount = parseInt(args[i+2])
			if !okOffset || !okCount {
				return opt, errNotInt
			}
			i += 2
		case is(args[i], "STORE") && left >= 1 && mayStore:
			opt.target = args[i+1]
			i++
		case is(args[i], "BY") && left >= 1:
			opt.by = string(args[i+1])
			constant := !strings.Contains(opt.by, "*")
			opt.unsorted = opt.unsorted || constant
			if !constant && c.Node.cfg.Topology != nil {
				return opt, "ERR BY option of SORT denied in Cluster mode."
			}
			if !constant && !c.Session.user.readsAnyKey(c.Cmd, c.Args) {
				return opt, "ERR BY option of SORT denied due to insufficient ACL permissions."
			}
			i++
		case is(args[i], "GET") && left >= 1:
			if c.Node.cfg.Topology != nil {
				return opt, "ERR GET option of SORT denied in Cluster mode."
			}
			if !c.Session.user.readsAnyKey(c.Cmd, c.Args) {
				return opt, "ERR GET option of SORT denied due to insufficient ACL permissions."
			}
			opt.get = append(opt.get, string(args[i+1]))
			i++
		default:
			return opt, errSyntax
		}
	}
	return opt, ""
}

// load returns the elements. A set that must not depend on its order is sorted
// although the client does not want it.
func (o *sortOptions) load(c *Call) (texts []string, bad string) {
	key := c.Args[1]
	switch c.DB.Kind(key) {
	case datastore.None:
	case datastore.List:
		n, _ := c.DB.ListLen(key)
		texts, _ = c.DB.ListRange(key, 0, n)
		if o.unsorted && o.descending {
			slices.Reverse(texts)
		}
	case datastore.Set:
		texts, _ = c.DB.SetMembers(key)
		if o.unsorted && (o.target != nil || c.Script) {
			o.unsorted, o.alpha, o.by = false, true, ""
		}
	case datastore.ZSet:
		c.DB.Grow(key) // as Redis does before it sorts
		n, _ := c.DB.ZLen(key)
		members, _ := c.DB.ZRange(key, 0, n)
		if o.unsorted && o.descending {
			slices.Reverse(members)
		}
		for _, m := range members {
			texts = append(texts, m.Name)
		}
	default:
		c.DB.Touch(key)
		return nil, errWrongType
	}
	return texts, ""
}

// sort orders the elements by their weights.
func (o *sortOptions) sort(c *Call, texts []string) (sorted []string, bad string) {
	elements := make([]sortElement, len(texts))
	for i, text := range texts {
		e := &elements[i]
		e.text, e.weight = text, text
		if o.by != "" {
			var ok bool
			if e.weight, ok = c.fromPattern(o.by, text); !ok {
				e.absent = true
				continue
			}
		}
		if !o.alpha {
			var ok bool
			if e.number, ok = parseWeight(e.weight); !ok {
				return nil, "ERR One or more scores can't be converted into double"
			}
		}
	}
	slices.SortStableFunc(elements, func(a, b sortElement) int {
		if o.descending {
			return o.compare(b, a)
		}
		return o.compare(a, b)
	})
	sorted = make([]string, len(elements))
	for i := range elements {
		sorted[i] = elements[i].text
	}
	return sorted, ""
}

func (o *sortOptions) compare(a, b sortElement) int {
	switch {
	case o.alpha && a.absent != b.absent:
		return flag(b.absent) - flag(a.absent)
	case o.alpha && a.absent:
		return 0
	case o.alpha:
		return strings.Compare(a.weight, b.weight)
	case a.number < b.number:
		return -1
	case a.number > b.number:
		return 1
	}
	return strings.Compare(a.text, b.text)
}

// parseWeight reads a number as C's strtod does, up to a zero byte; no text is
// 0. A decimal number so small that its digits do not all count is out of range.
func parseWeight(text string) (float64, bool) {
	const smallestNormal = 0x1p-1022
	text = resp.CString(text)
	f, rest := strtod(text)
	subnormal := f != 0 && math.Abs(f) < smallestNormal && !strings.ContainsAny(text, "xX")
	return f, rest == "" && !math.IsNaN(f) && !subnormal && !overflowed(text, f)
}

// window is the part of n elements that LIMIT leaves.
func (o *sortOptions) window(n int) (from, to int) {
	start := min(max(0, o.offset), int64(n))
	end := int64(n)
	if o.count >= 0 {
		end = min(end, start+min(o.count, int64(n)))
	}
	return int(start), int(end)
}

// output is what the client gets for the elements.
func (o *sortOptions) output(c *Call, texts []string) []resp.Value {
	list := make([]resp.Value, 0, len(texts)*max(1, len(o.get)))
	for _, text := range texts {
		if len(o.get) == 0 {
			list = append(list, resp.Str(text))
		}
		for _, pattern := range o.get {
			value, ok := c.fromPattern(pattern, text)
			list = append(list, textReply(value, ok, nil))
		}
	}
	return list
}

// fromPattern is what stands under the key that pattern makes of an element:
// the asterisk is replaced by it, "->" is followed by a hash field, and "#" is
// the element itself.
// Source: lookupKeyByPattern of Redis 7.0.
func (c *Call) fromPattern(pattern, element string) (text string, ok bool) {
	if pattern == "#" {
		return element, true
	}
	before, after, found := strings.Cut(pattern, "*")
	if !found {
		return "", false
	}
	after, field, isHash := strings.Cut(after, "->")
	if isHash && field == "" {
		after, isHash = after+"->", false
	}
	key := []byte(before + element + after)
	if isHash {
		text, ok, _ = c.DB.HashGet(key, []byte(field))
	} else {
		text, ok, _ = c.DB.String(key)
	}
	return text, ok
}
