package engine

import (
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"minikv/datastore"
	"minikv/internal/resp"
)

// DEBUG, for those who test a server. It needs enable-debug-command.

// debugCommand is one subcommand of DEBUG. They are no rows of the command
// table, as in Redis: arity and name fail with the same error.
type debugCommand struct {
	name     string
	min, max int // words, DEBUG and the name included
	run      func(c *Call) resp.Value
}

var debugCommands []debugCommand

func init() {
	debugCommands = []debugCommand{
		{"AOF-FLUSH-SLEEP", 3, 3, runDebugNothing},
		{"CHANGE-REPL-ID", 2, 2, runDebugChangeReplID},
		{"CONFIG-REWRITE-FORCE-ALL", 2, 2, runDebugRewrite},
		{"DIGEST", 2, 2, runDebugDigest},
		{"DIGEST-VALUE", 2, anyNumber, runDebugDigestValue},
		{"ERROR", 3, 3, runDebugError},
		{"HELP", 2, 2, func(*Call) resp.Value { return debugHelp }},
		{"LEAK", 3, 3, runDebugNothing},
		{"LISTPACK", 3, 3, runDebugStructure("listpack")},
		{"LOADAOF", 2, anyNumber, runDebugLoadAOF},
		{"LOG", 3, 3, runDebugLog},
		{"OBJECT", 3, 3, runDebugObject},
		{"PAUSE-CRON", 3, 3, runDebugPauseCron},
		{"POPULATE", 3, 5, runDebugPopulate},
		{"PROTOCOL", 3, 3, runDebugProtocol},
		{"QUICKLIST", 3, 4, runDebugStructure("quicklist")},
		{"QUICKLIST-PACKED-THRESHOLD", 3, 3, runDebugPackedThreshold},
		{"RELOAD", 2, anyNumber, runDebugReload},
		{"REPLICATE", 3, anyNumber, runDebugReplicate},
		{"REPLYBUFFER", 4, 4, runDebugReplyBuffer},
		{"SDSLEN", 3, 3, runDebugSDSLen},
		{"SET-ACTIVE-EXPIRE", 3, 3, runDebugActiveExpire},
		{"SET-DISABLE-DENY-SCRIPTS", 3, 3, runDebugDenyScripts},
		{"SET-SKIP-CHECKSUM-VALIDATION", 3, 3, runDebugSkipChecksum},
		{"SLEEP", 3, 3, runDebugSleep},
		{"STRUCTSIZE", 2, 2, runDebugStructSize},
	}
}

const anyNumber = 1<<31 - 1

// runDebug is DEBUG subcommand [argument ...].
func runDebug(c *Call) resp.Value {
	for i := range debugCommands {
		one := &debugCommands[i]
		if is(c.Args[1], one.name) && len(c.Args) >= one.min && len(c.Args) <= one.max {
			return one.run(c)
		}
	}
	return resp.Err(errSubSyntax("DEBUG", c.Args[1]))
}

// runDebugNothing accepts what has no meaning without a file or C's memory.
func runDebugNothing(*Call) resp.Value { return resp.OK }

// runDebugChangeReplID is DEBUG CHANGE-REPL-ID.
func runDebugChangeReplID(c *Call) resp.Value {
	c.Node.repl.id, c.Node.repl.oldID = "", ""
	return resp.OK
}

// runDebugDigest is DEBUG DIGEST.
func runDebugDigest(c *Call) resp.Value {
	digest := c.Node.keys.Digest()
	return resp.Simple(hex.EncodeToString(digest[:]))
}

// runDebugDigestValue is DEBUG DIGEST-VALUE [key ...].
func runDebugDigestValue(c *Call) resp.Value {
	list := make([]resp.Value, 0, len(c.Args)-2)
	for _, key := range c.Args[2:] {
		digest := c.DB.Digest(key)
		list = append(list, resp.Simple(hex.EncodeToString(digest[:])))
	}
	return resp.List(list...)
}

// runDebugError is DEBUG ERROR text, which begins with a code of its own. To Redis it
// has not failed.
func runDebugError(c *Call) resp.Value {
	c.counted = failureIgnored
	return resp.Err(blanked(c.Args[2]))
}

// runDebugStructure is DEBUG LISTPACK key and DEBUG QUICKLIST key [0|1], for
// values that have this encoding.
func runDebugStructure(encoding string) func(c *Call) resp.Value {
	return func(c *Call) resp.Value {
		switch c.DB.Encoding(c.Args[2]) {
		case "":
			return resp.Err(errNoKey)
		case encoding:
			return resp.Simple(strings.ToUpper(encoding[:1]) + encoding[1:] + " structure printed on stdout")
		}
		return resp.Err("ERR Not a " + encoding + " encoded object.")
	}
}

// warn logs a text at the level of warnings.
func (n *Node) warn(text string) {
	const warning = 3
	if n.cfg.Log != nil {
		n.cfg.Log(warning, text)
	}
}

// runDebugLog is DEBUG LOG message.
func runDebugLog(c *Call) resp.Value {
	c.Node.warn("DEBUG LOG: " + string(c.Args[2]))
	return resp.OK
}

// runDebugObject is DEBUG OBJECT key.
func runDebugObject(c *Call) resp.Value {
	key, compress := c.Args[2], c.Node.compresses()
	defer c.asKept(key)()
	encoding := c.DB.Encoding(key)
	if encoding == "" {
		return resp.Err(errNoKey)
	}
	idle := c.DB.Idle(key)
	clock := lruClock(c.Node.cfg.Clock.Wall().Add(-idle))
	text := fmt.Sprintf("Value at:%#x refcount:%d encoding:%s serializedlength:%d lru:%d lru_seconds_idle:%d",
		int64(0x7f0000000000), c.refCount(key), encoding, c.DB.SavedBytes(key, compress), clock, idle/time.Second)
	if nodes, length, bytes := c.DB.ListNodes(key); nodes > 0 {
		text += fmt.Sprintf(" ql_nodes:%d ql_avg_node:%.2f ql_listpack_max:%s ql_compressed:%d ql_uncompressed_size:%d",
			nodes, float64(length)/float64(nodes), c.Node.conf.get("list-max-listpack-size"),
			flag(c.Node.conf.get("list-compress-depth") != "0"), bytes)
	}
	return resp.Simple(text)
}

// asKept lets a key that has expired be seen, if it is still kept, until the function that
// it returns is called; the key stays. So do commands of Redis that do not ask for its time.
func (c *Call) asKept(key []byte) (end func()) {
	if !c.DB.Stale(key) {
		return func() {}
	}
	c.Node.keys.SetExpiry(datastore.IgnoreExpiry)
	return c.Node.applyExpiryPolicy
}

// lruClock is a date as Redis notes when a key was last used: seconds in 24 bits.
func lruClock(at time.Time) int64 { return at.Unix() & (1<<24 - 1) }

func (n *Node) compresses() bool { return n.conf.yes("rdbcompression") }

// runDebugPauseCron is DEBUG PAUSE-CRON 0|1: keys do not expire by themselves.
func runDebugPauseCron(c *Call) resp.Value {
	c.Node.conf.noCron = atoi(c.Args[2]) != 0
	return resp.OK
}

// runDebugActiveExpire is DEBUG SET-ACTIVE-EXPIRE 0|1.
func runDebugActiveExpire(c *Call) resp.Value {
	c.Node.conf.noExpire = atoi(c.Args[2]) == 0
	return resp.OK
}

// runDebugDenyScripts is DEBUG SET-DISABLE-DENY-SCRIPTS 0|1: with 1 scripts may
// call commands that are not for scripts.
func runDebugDenyScripts(c *Call) resp.Value {
	c.Node.conf.scriptsCallAll = atoi(c.Args[2]) != 0
	return resp.OK
}

// runDebugSkipChecksum is DEBUG SET-SKIP-CHECKSUM-VALIDATION 0|1.
func runDebugSkipChecksum(c *Call) resp.Value {
	c.Node.conf.anyChecksum = atoi(c.Args[2]) != 0
	return resp.OK
}

// runDebugPopulate is DEBUG POPULATE count [prefix] [size]: keys PREFIX:0, …
// that are not there yet. They are not propagated.
func runDebugPopulate(c *Call) resp.Value {
	count, ok := parseInt(c.Args[2])
	prefix, size := "key", int64(0)
	if len(c.Args) > 3 {
		prefix = resp.CString(c.Args[3])
	}
	if len(c.Args) > 4 && ok {
		size, ok = parseInt(c.Args[4])
	}
	if !ok || count < 0 || size < 0 || size > resp.DefaultMaxBulk {
		return resp.Err("ERR value is out of range, must be positive")
	}
	for i := range count {
		key := []byte(prefix + ":" + decimal(i))
		if c.DB.Exists(key) {
			continue
		}
		value := []byte("value:" + decimal(i))
		if size > 0 {
			sized := make([]byte, size)
			copy(sized, value)
			value = sized
		}
		c.DB.SetString(key, value, datastore.NoDeadline)
		c.Node.touch(c.DB.Index(), string(key))
		c.Node.invalidate(string(key), c.Session)
	}
	return resp.OK
}

// runDebugPackedThreshold is DEBUG QUICKLIST-PACKED-THRESHOLD bytes: from which
// size an element of a list has a node of its own, which nothing shows.
func runDebugPackedThreshold(c *Call) resp.Value {
	const most = 1<<32 - 1<<20
	if n, ok := ParseMemory(string(c.Args[2])); !ok || n > most {
		return resp.Err("ERR argument must be a memory value bigger than 1 and smaller than 4gb")
	}
	return resp.OK
}

// runDebugReload is DEBUG RELOAD [MERGE] [NOFLUSH] [NOSAVE]: all data goes through
// the format of data files. There is no older file to load in its place.
func runDebugReload(c *Call) resp.Value {
	n := c.Node
	flush, merge := true, false
	for _, option := range c.Args[2:] {
		flush, merge = flush && !is(option, "NOFLUSH"), merge || is(option, "MERGE")
		if !is(option, "MERGE") && !is(option, "NOFLUSH") && !is(option, "NOSAVE") {
			return resp.Err("ERR DEBUG RELOAD only supports the MERGE, NOFLUSH and NOSAVE options.")
		}
	}
	if !flush && !merge && (n.functions.count() > 0 || n.keys.Len() > 0) {
		return resp.Err("ERR Error trying to load the RDB dump") // of keys a redis-server dies
	}
	n.tellEmptied(-1)
	n.keys.Reload(n.past(), n.compresses())
	return resp.OK
}

// runDebugLoadAOF is DEBUG LOADAOF: as RELOAD with appendonly; without, the only
// file is that of the latest BGREWRITEAOF.
func runDebugLoadAOF(c *Call) resp.Value {
	n := c.Node
	n.tellEmptied(-1)
	if !n.conf.yes("appendonly") {
		n.keys.FlushAll()
		if n.rewritten != nil {
			n.keys.Load(n.rewritten)
		}
	}
	n.keys.Reload(n.past(), n.compresses())
	return resp.OK
}

// runDebugReplicate is DEBUG REPLICATE word [word ...]: a command for replicas alone.
func runDebugReplicate(c *Call) resp.Value {
	words := make([]string, 0, len(c.Args)-2)
	for _, arg := range c.Args[2:] {
		words = append(words, string(arg))
	}
	c.Node.Propagate(words...)
	return resp.OK
}

// runDebugReplyBuffer is DEBUG REPLYBUFFER PEAK-RESET-TIME|RESIZING value: how
// buffers change that CLIENT LIST shows.
func runDebugReplyBuffer(c *Call) resp.Value {
	conf := &c.Node.conf
	value, isInt := parseInt(c.Args[3])
	switch {
	case is(c.Args[2], "PEAK-RESET-TIME") && is(c.Args[3], "NEVER"):
		conf.replyPeakReset = -1
	case is(c.Args[2], "PEAK-RESET-TIME") && is(c.Args[3], "RESET"):
		conf.replyPeakReset = replyShrink
	case is(c.Args[2], "PEAK-RESET-TIME") && !isInt:
		return resp.Err(errNotInt)
	case is(c.Args[2], "PEAK-RESET-TIME"):
		conf.replyPeakReset = time.Duration(value) * time.Millisecond
	case is(c.Args[2], "RESIZING"):
		conf.fixedReplies = value == 0
	default:
		return resp.Err(errSubSyntax("DEBUG", c.Args[1]))
	}
	return resp.OK
}

// runDebugSDSLen is DEBUG SDSLEN key, for a string that has just been set.
func runDebugSDSLen(c *Call) resp.Value {
	const header = 3
	key := c.Args[2]
	defer c.asKept(key)()
	text, ok := c.DB.PeekString(key)
	switch encoding := c.DB.Encoding(key); {
	case encoding == "":
		return resp.Err(errNoKey)
	case !ok || encoding == "int":
		return resp.Err("ERR Not an sds encoded string.")
	case encoding == "embstr":
		return sdsReply(key, text, datastore.Allocated(16+header+len(text)+1)-16)
	}
	return sdsReply(key, text, datastore.Allocated(datastore.SDSBytes(len(text))))
}

func sdsReply(key []byte, text string, size int64) resp.Value {
	return resp.Simple(fmt.Sprintf("key_sds_len:%d, key_sds_avail:0, key_zmalloc: %d, "+
		"val_sds_len:%d, val_sds_avail:0, val_zmalloc: %d",
		len(key), datastore.Allocated(datastore.SDSBytes(len(key))), len(text), size))
}

// runDebugSleep is DEBUG SLEEP seconds: the whole node stands still.
func runDebugSleep(c *Call) resp.Value {
	if c.Node.cfg.Sleep == nil {
		return resp.Err(errSubSyntax("DEBUG", c.Args[1]))
	}
	seconds, _ := parseFloat(c.Args[2])
	c.Node.cfg.Sleep(time.Duration(seconds * float64(time.Second)))
	return resp.OK
}

// runDebugStructSize is DEBUG STRUCTSIZE, as a 64-bit redis-server has them.
func runDebugStructSize(*Call) resp.Value {
	return resp.Str("bits:64 robj:16 dictentry:24 sdshdr5:1 sdshdr8:3 sdshdr16:5 sdshdr32:9 sdshdr64:17 ")
}

// runDebugProtocol is DEBUG PROTOCOL type: a reply of that type.
func runDebugProtocol(c *Call) resp.Value {
	three := []resp.Value{resp.Int(0), resp.Int(1), resp.Int(2)}
	switch kind := c.Args[2]; {
	case is(kind, "STRING"):
		return resp.Str("Hello World")
	case is(kind, "INTEGER"):
		return resp.Int(12345)
	case is(kind, "DOUBLE"):
		return resp.Float(3.141)
	case is(kind, "BIGNUM"):
		return resp.Value{Kind: resp.BigNumber, Str: "1234567999999999999999999999999999999"}
	case is(kind, "NULL"):
		return resp.Null
	case is(kind, "ARRAY"):
		return resp.List(three...)
	case is(kind, "SET"):
		return resp.Value{Kind: resp.Set, List: three}
	case is(kind, "MAP"):
		return resp.Pairs(three[0], resp.Flag(false), three[1], resp.Flag(true), three[2], resp.Flag(false))
	case is(kind, "ATTRIB"):
		c.beforeReply(resp.Value{Kind: resp.Attribute, List: []resp.Value{resp.Str("key-popularity"),
			resp.List(resp.Str("key:123"), resp.Int(90))}})
		return resp.Str("Some real reply following the attribute")
	case is(kind, "PUSH"):
		if c.Proto < 3 {
			return resp.Err("ERR RESP2 is not supported by this command")
		}
		c.beforeReply(resp.Value{Kind: resp.Push, List: []resp.Value{resp.Str("server-cpu-usage"), resp.Int(42)}})
		return resp.Str("Some real reply following the push reply")
	case is(kind, "VERBATIM"):
		return resp.Value{Kind: resp.Verbatim, Str: "This is a verbatim\nstring"}
	case is(kind, "TRUE"), is(kind, "FALSE"):
		return resp.Flag(is(kind, "TRUE"))
	}
	return resp.Err("ERR Wrong protocol type name. Please use one of the following: " +
		"string|integer|double|bignum|null|array|set|map|attrib|push|verbatim|true|false")
}

// beforeReply sends a client what stands before its reply.
func (c *Call) beforeReply(v resp.Value) {
	if !c.Script {
		c.Session.send(v)
	}
}
