package datastore

import "slices"

// SetAdd adds a member to the set under key and reports whether it is new.
func (db *DB) SetAdd(key, name []byte) (bool, error) {
	e, err := db.ensure(key, Set)
	if err != nil {
		return false, err
	}
	created := e.value.set.set(name, struct{}{})
	if created && e.value.form == formPlain {
		const anyInteger = 20 // digits
		size := 0
		if _, isInt := ParseInteger(name); !isInt {
			size = anyInteger + 1
		}
		e.value.grow(e.value.set.len(), size, db.keyspace.limits.SetEntries, anyInteger)
	}
	return created, nil
}

// SetRemove removes a member and reports whether it was there.
func (db *DB) SetRemove(key, name []byte) (bool, error) {
	e, err := db.find(key, Set)
	if e == nil {
		return false, err
	}
	at := e.value.set.find(name)
	if at < 0 {
		return false, nil
	}
	e.value.set.remove(at)
	db.dropEmpty(e, key)
	return true, nil
}

// SetHas reports whether a member is in the set under key.
func (db *DB) SetHas(key, name []byte) (bool, error) {
	e, err := db.find(key, Set)
	return e != nil && e.value.set.find(name) >= 0, err
}

// SetMembers returns the members: in ascending order while the set is compact, afterwards
// in the order in which they were added.
func (db *DB) SetMembers(key []byte) ([]string, error) {
	e, err := db.find(key, Set)
	if e == nil {
		return nil, err
	}
	names := make([]string, 0, e.value.set.len())
	e.value.set.each(func(name string, _ struct{}) bool {
		names = append(names, name)
		return true
	})
	if e.value.form == formPlain {
		slices.SortFunc(names, CompareIntegers)
	}
	return names, nil
}

// SetLen counts the members of the set under key, 0 if it is missing.
func (db *DB) SetLen(key []byte) (int, error) {
	e, err := db.find(key, Set)
	if e == nil {
		return 0, err
	}
	return e.value.set.len(), nil
}

// SetRandom returns a member of the set under key, chosen by draw. The set must exist.
// This does not count as a use of key.
func (db *DB) SetRandom(key []byte, draw func() uint64) string {
	set := db.peek(key).value.set
	return set.entries[set.pick(draw)].key
}
