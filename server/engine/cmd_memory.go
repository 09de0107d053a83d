package engine

import (
	"math/bits"

	"minikv/datastore"
	"minikv/internal/resp"
)

// MEMORY and its subcommands, https://redis.io/docs/latest/commands/memory/

var memoryCommands = []Command{
	{Name: "DOCTOR", Arity: 2, Run: runMemoryDoctor},
	{Name: "MALLOC-STATS", Arity: 2, Run: runMemoryMallocStats},
	{Name: "PURGE", Arity: 2, Run: runMemoryPurge},
	{Name: "STATS", Arity: 2, Run: runMemoryStats},
	{Name: "USAGE", Arity: -3, Flags: ReadOnly, uncounted: true, Run: runMemoryUsage},
	help("MEMORY", "", memoryHelp),
}

// runMemoryUsage is MEMORY USAGE key [SAMPLES count]. Strings have the size
// that a 64-bit redis-server with jemalloc reports; collections that of its
// compact encoding, at whatever length.
func runMemoryUsage(c *Call) resp.Value {
	key := c.Args[2]
	for i := 3; i < len(c.Args); i += 2 {
		if !is(c.Args[i], "SAMPLES") || i+1 == len(c.Args) {
			return resp.Err(errSyntax)
		}
		if samples, ok := parseInt(c.Args[i+1]); !ok {
			return resp.Err(errNotInt)
		} else if samples < 0 {
			return resp.Err(errSyntax)
		}
	}
	defer c.asKept(key)()
	kind := c.DB.Kind(key)
	if kind == datastore.None {
		return resp.Null
	}
	const dictEntry = 24
	idle, used := c.DB.Idle(key), c.DB.Uses(key)
	defer func() { // asking is no access
		c.DB.SetIdle(key, idle)
		c.DB.SetUses(key, used)
	}()
	name := datastore.Allocated(datastore.SDSBytes(len(key)))
	return resp.Int(dictEntry + c.Node.slotEntry() + name + c.valueSize(key, kind))
}

// valueSize is the size of the value under key, its object header included.
func (c *Call) valueSize(key []byte, kind datastore.Kind) int64 {
	const object, listpackHeader = 16, 7
	entries := 0
	add := func(text string) { entries += len(text) + 2 }
	switch kind {
	case datastore.String:
		return c.stringSize(key)
	case datastore.Hash:
		_ = c.DB.HashEach(key, func(field, text string) { add(field); add(text) })
	case datastore.List:
		n, _ := c.DB.ListLen(key)
		elements, _ := c.DB.ListRange(key, 0, n)
		for _, text := range elements {
			add(text)
		}
		const quicklistAndNode = 80
		return object + quicklistAndNode + datastore.Allocated(listpackHeader+entries)
	case datastore.Set:
		members, _ := c.DB.SetMembers(key)
		for _, name := range members {
			add(name)
		}
	case datastore.ZSet:
		n, _ := c.DB.ZLen(key)
		members, _ := c.DB.ZRange(key, 0, n)
		for _, m := range members {
			add(m.Name)
			add(resp.FormatDouble(m.Score))
		}
	case datastore.Stream:
		const streamAndTree = 120
		stream, _ := c.DB.Stream(key)
		return object + streamAndTree + datastore.Allocated(stream.Bytes())
	}
	return object + datastore.Allocated(listpackHeader+entries)
}

// stringSize is the size of a string: within its object when it is an integer
// or short and was not changed in place.
func (c *Call) stringSize(key []byte) int64 {
	const object = 16
	length, _, _ := c.DB.Length(key)
	switch c.DB.Encoding(key) {
	case "int":
		return object
	case "embstr":
		return datastore.Allocated(object + 4 + length)
	}
	return object + datastore.Allocated(datastore.SDSBytes(length))
}

// runMemoryMallocStats is MEMORY MALLOC-STATS: what a redis-server says whose
// allocator tells nothing.
func runMemoryMallocStats(*Call) resp.Value {
	return resp.Str("Stats not supported for the current allocator")
}

// runMemoryPurge is MEMORY PURGE: there is nothing to give back.
func runMemoryPurge(*Call) resp.Value { return resp.OK }

// runMemoryDoctor is MEMORY DOCTOR, in the words of Redis.
func runMemoryDoctor(c *Call) resp.Value {
	const little = 5 << 20
	text := "Hi Sam, I can't find any memory issue in your instance. I can only account for what occurs on this base.\n"
	if c.Node.usedMemory() < little {
		text = "Hi Sam, this instance is empty or is using very little memory, my issues detector can't be used in " +
			"these conditions. Please, leave for your mission on Earth and fill it with some data. The new Sam and " +
			"I will be back to our programming as soon as I finished rebooting.\n"
	}
	return resp.Value{Kind: resp.Verbatim, Str: text}
}

// What an empty redis-server uses, in bytes, and what it uses more in a cluster.
const (
	startupMemory = 876008
	clusterMemory = 723952
)

// startup is what the node uses without data.
func (n *Node) startup() int64 {
	if n.cfg.Topology != nil {
		return startupMemory + clusterMemory
	}
	return startupMemory
}

// slotEntry is what each key needs in the lists of the keys of a slot, which only a
// node of a cluster has.
func (n *Node) slotEntry() int64 {
	if n.cfg.Topology != nil {
		return 16
	}
	return 0
}

// slotBytes is slotEntry of all keys. In a cluster these are in database 0.
func (n *Node) slotBytes() int64 { return n.slotEntry() * int64(n.keys.DB(0).Len()) }

// usedMemory is how many bytes redis-server would use for the data: an estimate,
// for which many keys stand for the others where there are more.
func (n *Node) usedMemory() int64 { return n.startup() + n.keys.Bytes() + n.slotBytes() }

// runMemoryStats is MEMORY STATS, with what does not belong to an allocator.
func runMemoryStats(c *Call) resp.Value {
	n := c.Node
	used := n.usedMemory()
	data := used - n.startup()
	keys := int64(n.keys.Len())
	perKey := int64(0)
	if keys > 0 {
		perKey = data / keys
	}
	list := []resp.Value{
		resp.Str("peak.allocated"), resp.Int(n.peakMemory(used)),
		resp.Str("total.allocated"), resp.Int(used),
		resp.Str("startup.allocated"), resp.Int(n.startup()),
		resp.Str("replication.backlog"), resp.Int(int64(len(n.repl.log))),
		resp.Str("clients.slaves"), resp.Zero,
		resp.Str("clients.normal"), resp.Zero,
		resp.Str("cluster.links"), resp.Zero,
		resp.Str("aof.buffer"), resp.Zero,
		resp.Str("lua.caches"), resp.Zero,
		resp.Str("functions.caches"), resp.Zero,
	}
	for i := range n.keys.Databases() {
		db := n.keys.DB(i)
		if db.Len() == 0 {
			continue
		}
		expiring, _ := db.Expiring(n.nowMillis())
		table, deadlines := tableBytes(db.Len()), tableBytes(expiring)
		list = append(list, resp.Str("db."+decimal(int64(i))), resp.Pairs(
			resp.Str("overhead.hashtable.main"), resp.Int(table),
			resp.Str("overhead.hashtable.expires"), resp.Int(deadlines),
			resp.Str("overhead.hashtable.slot-to-keys"), resp.Int(n.slotEntry()*int64(db.Len()))))
	}
	overhead := n.overhead()
	return resp.Pairs(append(list,
		resp.Str("overhead.total"), resp.Int(overhead),
		resp.Str("keys.count"), resp.Int(keys),
		resp.Str("keys.bytes-per-key"), resp.Int(perKey),
		resp.Str("dataset.bytes"), resp.Int(used-overhead),
		resp.Str("dataset.percentage"), resp.Float(100*float64(used-overhead)/float64(max(data, 1))),
		resp.Str("peak.percentage"), resp.Float(100*float64(used)/float64(n.peakMemory(used))),
		resp.Str("fragmentation"), resp.Float(1),
		resp.Str("fragmentation.bytes"), resp.Zero,
	)...)
}

// overhead is what is used for other things than data, in bytes.
func (n *Node) overhead() int64 {
	total := n.startup() + n.slotBytes()
	for i := range n.keys.Databases() {
		db := n.keys.DB(i)
		expiring, _ := db.Expiring(n.nowMillis())
		total += tableBytes(db.Len()) + tableBytes(expiring)
	}
	return total
}

// tableBytes is the size of a hash table of n keys: a slot of a power of two and
// an entry for each.
func tableBytes(n int) int64 {
	const entry, header, slot = 24, 16, 8
	if n == 0 {
		return 0
	}
	return int64(n*(entry+header)) + slot<<bits.Len(uint(max(n, 4)-1))
}

// peakMemory is the most memory that was seen in use, used included.
func (n *Node) peakMemory(used int64) int64 {
	n.stats.peakMemory = max(n.stats.peakMemory, used)
	return n.stats.peakMemory
}
