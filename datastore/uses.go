package datastore

import "time"

// UseCounting is how the uses of keys are counted, for policies that evict the least
// frequently used keys.
type UseCounting struct {
	Draw      func() uint64 // the node's source; nil: nothing is counted
	LogFactor int64         // the larger, the more uses one step of the counter takes
	Decay     int64         // minutes without use that lower the counter by one; 0: it is never lowered
}

// uses counts the uses of a key, by chance and on a logarithmic scale.
type uses struct {
	counter uint8
	minute  uint32 // of the access time when it last changed
}

// newUses is the counter of a new key, so that it is not the first to go.
const newUses = 5

// CountUses sets how uses are counted from now (Unix milliseconds) on. Redis has the same
// 24 bits for a key's last access in seconds, and for the minute of its last use with the
// counter. So when counting begins or ends, one is read as the other.
func (k *Keyspace) CountUses(how UseCounting, now int64) {
	began, ended := k.counting.Draw == nil && how.Draw != nil, k.counting.Draw != nil && how.Draw == nil
	k.counting = how
	if !began && !ended {
		return
	}
	for _, db := range k.dbs {
		if db == nil {
			continue
		}
		for _, e := range db.space.ordered() {
			if began {
				e.uses = k.usesFromAccess(e.accessed, now)
			} else {
				e.accessed = k.accessFromUses(e.uses, now)
			}
		}
	}
}

const (
	accessBits = 1<<24 - 1 // of a last access in seconds
	minuteBits = 1<<16 - 1 // of a last use in minutes; the counter has 8
)

// usesFromAccess is what a last access looks like as uses.
// Source: LFUTimeElapsed of Redis 7.0.
func (k *Keyspace) usesFromAccess(at time.Duration, now int64) uses {
	idle := now/1000 - (now-(k.accessTime-at).Milliseconds())/1000
	bits := now/1000&accessBits - idle
	if bits < 0 {
		bits += accessBits
	}
	ago := now/60_000&minuteBits - bits>>8
	if ago < 0 {
		ago += minuteBits
	}
	return uses{uint8(bits), k.minute() - uint32(ago)}
}

// accessFromUses is what uses look like as a last access.
// Source: estimateObjectIdleTime of Redis 7.0.
func (k *Keyspace) accessFromUses(u uses, now int64) time.Duration {
	minute := (now/60_000 - int64(k.minute()-u.minute)) & minuteBits
	idle := now/1000&accessBits - (minute<<8 | int64(u.counter))
	if idle < 0 {
		idle += accessBits
	}
	return k.accessTime - time.Duration(1000*idle+now%1000)*time.Millisecond
}

// Uses returns the counter of uses of key, 0 to 255. This does not count as a use.
func (db *DB) Uses(key []byte) int {
	if e := db.peek(key); e != nil {
		return int(db.keyspace.decayed(e.uses))
	}
	return 0
}

// SetUses sets the counter of uses of key, 0 to 255.
func (db *DB) SetUses(key []byte, counter int) {
	if e := db.peek(key); e != nil {
		e.uses = uses{uint8(counter), db.keyspace.minute()}
	}
}

func (k *Keyspace) minute() uint32 { return uint32(k.accessTime / time.Minute) }

// unused is the counter of a key that is made now.
func (k *Keyspace) unused() uses { return uses{newUses, k.minute()} }

// decayed is the counter after the time that the key was not used.
// Source: LFUDecrAndReturn of Redis 7.0.
func (k *Keyspace) decayed(u uses) uint8 {
	if k.counting.Decay == 0 {
		return u.counter
	}
	periods := int64(k.minute()-u.minute) / k.counting.Decay
	return u.counter - uint8(min(periods, int64(u.counter)))
}

// use counts one use: the more there were, the less likely it adds to them.
// Source: updateLFU and LFULogIncr of Redis 7.0.
func (k *Keyspace) use(u uses) uses {
	counter := k.decayed(u)
	above := max(int64(counter)-newUses, 0)
	if counter < 255 && k.counting.Draw()%uint64(above*k.counting.LogFactor+1) == 0 {
		counter++
	}
	return uses{counter, k.minute()}
}
