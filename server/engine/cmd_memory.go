package engine

import (
	"math/bits"

	"minikv/datastore"
	"minikv/internal/resp"
)

// MEMORY and its subcommands, https://redis.io/docs/latest/commands/memory/

var memoryCommands = []Command{
	{Name: "USAGE", Arity: -3, Flags: ReadOnly, Keys: oneKey(2), Groups: "read slow", Run: runMemoryUsage},
	help("MEMORY", "slow", memoryHelp),
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
	kind := c.DB.Kind(key)
	if kind == datastore.None {
		return resp.Null
	}
	const dictEntry = 24
	return resp.Int(dictEntry + allocated(stringHeader(len(key))) + c.valueSize(key, kind))
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
		elements, _ := c.DB.ListRange(key, 0, -1)
		for _, text := range elements {
			add(text)
		}
		const quicklistAndNode = 80
		return object + quicklistAndNode + allocated(listpackHeader+entries)
	case datastore.Set:
		members, _ := c.DB.SetMembers(key)
		for _, name := range members {
			add(name)
		}
	case datastore.ZSet:
		members, _ := c.DB.ZRange(key, 0, -1)
		for _, m := range members {
			add(m.Name)
			add(resp.FormatDouble(m.Score))
		}
	case datastore.Stream:
		const streamAndTree = 120
		stream, _ := c.DB.Stream(key)
		return object + streamAndTree + allocated(stream.Bytes())
	}
	return object + allocated(listpackHeader+entries)
}

// stringSize is the size of a string: within its object when it is an integer
// or up to 44 bytes long.
func (c *Call) stringSize(key []byte) int64 {
	const object, embedded = 16, 44
	text, _, _ := c.DB.String(key)
	if _, isInt := datastore.ParseInteger(text); isInt {
		return object
	}
	if len(text) <= embedded {
		return allocated(object + 4 + len(text))
	}
	return object + allocated(stringHeader(len(text)))
}

// stringHeader is the size of a dynamic string of n bytes with its header and
// closing zero.
func stringHeader(n int) int {
	switch {
	case n < 1<<5:
		return n + 2
	case n < 1<<8:
		return n + 4
	case n < 1<<16:
		return n + 6
	}
	return n + 10
}

// allocated rounds up to jemalloc's size classes: 8, multiples of 16 up to 128,
// then four for each doubling.
func allocated(n int) int64 {
	if n <= 8 {
		return 8
	}
	spacing := 16
	if n > 128 {
		spacing = 1 << (bits.Len(uint(n-1)) - 3)
	}
	return int64((n + spacing - 1) / spacing * spacing)
}
