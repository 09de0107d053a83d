package engine

import (
	"minikv/datastore"
	"minikv/internal/resp"
)

// Intersection, union and difference of sets.

// setOperation computes members from the sets under keys.
type setOperation func(c *Call, keys [][]byte) []string

// runSInter is SINTER key [key ...].
func runSInter(c *Call) resp.Value { return combine(c, intersection) }

// runSUnion is SUNION key [key ...].
func runSUnion(c *Call) resp.Value { return combine(c, union) }

// runSDiff is SDIFF key [key ...].
func runSDiff(c *Call) resp.Value { return combine(c, difference) }

// runSInterStore is SINTERSTORE destination key [key ...].
func runSInterStore(c *Call) resp.Value { return combineStore(c, intersection, "sinterstore") }

// runSUnionStore is SUNIONSTORE destination key [key ...].
func runSUnionStore(c *Call) resp.Value { return combineStore(c, union, "sunionstore") }

// runSDiffStore is SDIFFSTORE destination key [key ...].
func runSDiffStore(c *Call) resp.Value { return combineStore(c, difference, "sdiffstore") }

func combine(c *Call, operation setOperation) resp.Value {
	keys := c.Args[1:]
	if err := c.checkSets(keys); err != nil {
		return failed(err)
	}
	names := operation(c, keys)
	sortIntegers(names)
	return setReply(names)
}

func combineStore(c *Call, operation setOperation, event string) resp.Value {
	target, keys := c.Args[1], c.Args[2:]
	if err := c.checkSets(keys); err != nil {
		return failed(err)
	}
	names := operation(c, keys)
	c.store(target, event, len(names), func() {
		for _, name := range names {
			_, _ = c.DB.SetAdd(target, []byte(name))
		}
	})
	return resp.Int(int64(len(names)))
}

// store replaces what is under target by the n elements that fill puts there,
// or removes it if there are none, even if it has expired: Redis does not look.
func (c *Call) store(target []byte, event string, n int, fill func()) {
	if n == 0 {
		if c.DB.Remove(target) {
			c.Changed(target, "del")
		}
		return
	}
	if c.Node.blocking.byKind[datastore.Stream] > 0 && c.DB.Kind(target) == datastore.Stream {
		c.Node.ready(c.DB.Index(), string(target), datastore.Stream) // for whoever waits for what there will be
	}
	c.DB.Touch(target) // what is replaced has been used once more
	used := c.DB.Uses(target)
	existed := c.DB.Renew(target, fill)
	if existed && c.Node.tracksFrequency() {
		c.DB.SetUses(target, used) // a key that is overwritten keeps them
	}
	c.Changed(target, event)
}

// checkSets reports whether a key holds anything but a set.
func (c *Call) checkSets(keys [][]byte) error {
	for _, key := range keys {
		if _, err := c.DB.SetLen(key); err != nil {
			return err
		}
	}
	return nil
}

// runSInterCard is SINTERCARD numkeys key [key ...] [LIMIT limit].
func runSInterCard(c *Call) resp.Value {
	count, ok := parseInt(c.Args[1])
	switch {
	case !ok || count < 1:
		return resp.Err(errNumKeys)
	case count > int64(len(c.Args)-2):
		return resp.Err("ERR Number of keys can't be greater than number of args")
	}
	keys, rest := c.Args[2:2+count], c.Args[2+count:]
	limit := int64(0)
	for ; len(rest) > 0; rest = rest[2:] {
		if len(rest) == 1 || !is(rest[0], "LIMIT") {
			return resp.Err(errSyntax)
		}
		if limit, ok = parseInt(rest[1]); !ok || limit < 0 {
			return resp.Err(errNegLimit)
		}
	}
	if err := c.checkSets(keys); err != nil {
		return failed(err)
	}
	return resp.Int(limited(int64(len(intersection(c, keys))), limit))
}

const errNegLimit = "ERR LIMIT can't be negative"

// limited is n, at most limit, 0 being no limit.
func limited(n, limit int64) int64 {
	if limit > 0 {
		return min(n, limit)
	}
	return n
}

// intersection goes through the smallest set.
func intersection(c *Call, keys [][]byte) []string {
	smallest, least := 0, -1
	for i, key := range keys {
		if n, _ := c.DB.SetLen(key); least < 0 || n < least {
			smallest, least = i, n
		}
	}
	return c.membersWhere(keys[smallest], func(name []byte) bool {
		for i, key := range keys {
			if has, _ := c.DB.SetHas(key, name); i != smallest && !has {
				return false
			}
		}
		return true
	})
}

func difference(c *Call, keys [][]byte) []string {
	return c.membersWhere(keys[0], func(name []byte) bool {
		for _, key := range keys[1:] {
			if has, _ := c.DB.SetHas(key, name); has {
				return false
			}
		}
		return true
	})
}

func union(c *Call, keys [][]byte) []string {
	seen := make(map[string]bool)
	var names []string
	for _, key := range keys {
		names = append(names, c.membersWhere(key, func(name []byte) bool {
			isNew := !seen[string(name)]
			seen[string(name)] = true
			return isNew
		})...)
	}
	return names
}

// membersWhere are the members of a set that keep accepts.
func (c *Call) membersWhere(key []byte, keep func(name []byte) bool) []string {
	all, _ := c.DB.SetMembers(key)
	kept := all[:0]
	for _, name := range all {
		if keep([]byte(name)) {
			kept = append(kept, name)
		}
	}
	return kept
}
