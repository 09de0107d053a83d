package engine

import (
	"fmt"
	"strings"

	"minikv/datastore"
	"minikv/internal/resp"
)

// HyperLogLog commands, https://redis.io/docs/latest/commands/?group=hyperloglog

var hllCommands = []Command{
	{Name: "PFADD", Arity: -2, Flags: Write | DenyOOM | Fast, Groups: "hyperloglog", Run: runPFAdd},
	{Name: "PFCOUNT", Arity: -2, Flags: ReadOnly | MayReplicate, Groups: "hyperloglog", Run: runPFCount},
	{Name: "PFDEBUG", Arity: 3, Flags: Write | DenyOOM | Admin, Groups: "hyperloglog", Run: runPFDebug},
	{Name: "PFMERGE", Arity: -2, Flags: Write | DenyOOM, Groups: "hyperloglog", Run: runPFMerge},
	{Name: "PFSELFTEST", Arity: 1, Flags: Admin, Groups: "hyperloglog", Run: runPFSelfTest},
}

const (
	errNotHLL     = "WRONGTYPE Key is not a valid HyperLogLog string value."
	errInvalidHLL = "INVALIDOBJ Corrupted HLL object detected"
)

// hyperLogLog is the one under key, nil if the key is missing.
func (c *Call) hyperLogLog(key []byte) (h *datastore.HyperLogLog, bad string) {
	text, ok, err := c.DB.String(key)
	switch {
	case err != nil:
		return nil, errWrongType
	case !ok:
		return nil, ""
	}
	if h, ok = datastore.OpenHyperLogLog(text, c.Node.sparseMax()); !ok {
		return nil, errNotHLL
	}
	return h, ""
}

// ownHyperLogLog is hyperLogLog for a command that may write: as in redis-server
// the value is of the raw encoding from here on, whether anything is written or not.
func (c *Call) ownHyperLogLog(key []byte) (h *datastore.HyperLogLog, bad string) {
	if h, bad = c.hyperLogLog(key); h != nil {
		c.DB.SetRaw(key, h.Bytes(), datastore.KeepDeadline)
	}
	return h, bad
}

func (n *Node) sparseMax() int { return int(n.conf.number("hll-sparse-max-bytes")) }

// runPFAdd is PFADD key [element ...].
func runPFAdd(c *Call) resp.Value {
	key := c.Args[1]
	h, bad := c.ownHyperLogLog(key)
	if bad != "" {
		return resp.Err(bad)
	}
	updates := 0
	if h == nil {
		updates++
		h = datastore.NewHyperLogLog(c.Node.sparseMax())
	}
	for _, element := range c.Args[2:] {
		grown, ok := h.Add(element)
		if !ok {
			return resp.Err(errInvalidHLL)
		}
		updates += flag(grown)
	}
	if updates == 0 {
		return resp.Zero
	}
	h.Changed()
	c.DB.SetRaw(key, h.Bytes(), datastore.KeepDeadline)
	c.Changed(key, "pfadd")
	c.Amounts(updates)
	return resp.One
}

// runPFCount is PFCOUNT key [key ...]. The count of a single key is kept in its
// value, which is a change.
func runPFCount(c *Call) resp.Value {
	if len(c.Args) > 2 {
		values, _, bad := c.mergedRegisters(c.Args[1:])
		if bad != "" {
			return resp.Err(bad)
		}
		return resp.Int(int64(datastore.CountRegisters(&values)))
	}
	h, bad := c.ownHyperLogLog(c.Args[1])
	switch {
	case bad != "":
		return resp.Err(bad)
	case h == nil:
		return resp.Zero
	}
	count, ok := h.Cached()
	if !ok {
		values, ok := h.Registers()
		if !ok {
			return resp.Err(errInvalidHLL)
		}
		count = datastore.CountRegisters(&values)
		h.SetCached(count)
		c.DB.SetRaw(c.Args[1], h.Bytes(), datastore.KeepDeadline)
		c.Changed(c.Args[1], "")
	}
	return resp.Int(int64(count))
}

// mergedRegisters is the greatest value of each register among keys, and
// whether one of them is dense.
func (c *Call) mergedRegisters(keys [][]byte) (values [16384]byte, dense bool, bad string) {
	for _, key := range keys {
		h, bad := c.hyperLogLog(key)
		if bad != "" {
			return values, false, bad
		}
		if h == nil {
			continue
		}
		dense = dense || !h.Sparse()
		one, ok := h.Registers()
		if !ok {
			return values, false, errInvalidHLL
		}
		for i, value := range one {
			values[i] = max(values[i], value)
		}
	}
	return values, dense, ""
}

// runPFMerge is PFMERGE destination [source ...].
func runPFMerge(c *Call) resp.Value {
	key := c.Args[1]
	values, dense, bad := c.mergedRegisters(c.Args[1:])
	if bad != "" {
		return resp.Err(bad)
	}
	h, _ := c.ownHyperLogLog(key)
	if h == nil {
		h = datastore.NewHyperLogLog(c.Node.sparseMax())
	}
	if dense && !h.MakeDense() {
		return resp.Err(errInvalidHLL)
	}
	for i, value := range values {
		if value > 0 {
			h.Set(i, value)
		}
	}
	h.Changed()
	c.DB.SetRaw(key, h.Bytes(), datastore.KeepDeadline)
	c.Changed(key, "pfadd")
	return resp.OK
}

// runPFDebug is PFDEBUG GETREG|DECODE|ENCODING|TODENSE key.
func runPFDebug(c *Call) resp.Value {
	key := c.Args[2]
	h, bad := c.ownHyperLogLog(key)
	switch {
	case bad != "":
		return resp.Err(bad)
	case h == nil:
		return resp.Err("ERR The specified key does not exist")
	}
	switch {
	case is(c.Args[1], "GETREG"):
		if bad := c.makeDense(key, h); bad != "" {
			return resp.Err(bad)
		}
		values, _ := h.Registers()
		list := make([]resp.Value, len(values))
		for i, value := range values {
			list[i] = resp.Int(int64(value))
		}
		return resp.List(list...)
	case is(c.Args[1], "DECODE"):
		if !h.Sparse() {
			return resp.Err("ERR HLL encoding is not sparse")
		}
		return resp.Str(describeRuns(h))
	case is(c.Args[1], "ENCODING"):
		if h.Sparse() {
			return resp.Simple("sparse")
		}
		return resp.Simple("dense")
	case is(c.Args[1], "TODENSE"):
		sparse := h.Sparse()
		bad := c.makeDense(key, h)
		switch {
		case bad != "":
			return resp.Err(bad)
		case sparse:
			return resp.One
		}
		return resp.Zero
	}
	return resp.Err(oneLine([]byte("ERR Unknown PFDEBUG subcommand '" + resp.CString(c.Args[1]) + "'")))
}

// makeDense gives up the runs of a sparse one, which is propagated.
func (c *Call) makeDense(key []byte, h *datastore.HyperLogLog) (bad string) {
	if !h.Sparse() {
		return ""
	}
	if !h.MakeDense() {
		return errInvalidHLL
	}
	c.DB.SetRaw(key, h.Bytes(), datastore.KeepDeadline)
	c.changedUntold(c.DB.Index(), key, "")
	return ""
}

// describeRuns shows the runs of a sparse one: z of zeros, Z of many, v of a value.
func describeRuns(h *datastore.HyperLogLog) string {
	var words []string
	h.EachRun(func(length int, value byte, wide bool) {
		switch {
		case value > 0:
			words = append(words, fmt.Sprintf("v:%d,%d", value, length))
		case wide:
			words = append(words, fmt.Sprintf("Z:%d", length))
		default:
			words = append(words, fmt.Sprintf("z:%d", length))
		}
	})
	return strings.Join(words, " ")
}

// runPFSelfTest is PFSELFTEST. The tests of this package have run.
func runPFSelfTest(*Call) resp.Value { return resp.OK }
