package datastore

// HashGet returns a field of the hash under key and whether it is there.
func (db *DB) HashGet(key, field []byte) (text string, ok bool, err error) {
	e, err := db.find(key, Hash)
	if e == nil {
		return "", false, err
	}
	text, ok = e.value.hash.get(field)
	return text, ok, nil
}

// HashSet sets a field and reports whether it is new.
func (db *DB) HashSet(key, field, text []byte) (created bool, err error) {
	e, err := db.ensure(key, Hash)
	if err != nil {
		return false, err
	}
	created = e.value.hash.set(field, clone(text))
	e.value.grow(e.value.hash.len(), max(len(field), len(text)), db.keyspace.limits.HashEntries,
		db.keyspace.limits.HashValue)
	return created, nil
}

// HashDelete removes a field and reports whether it was there.
func (db *DB) HashDelete(key, field []byte) (bool, error) {
	e, err := db.find(key, Hash)
	if e == nil {
		return false, err
	}
	at := e.value.hash.find(field)
	if at < 0 {
		return false, nil
	}
	e.value.hash.remove(at)
	db.dropEmpty(e, key)
	return true, nil
}

// HashLen counts the fields of the hash under key, 0 if it is missing.
func (db *DB) HashLen(key []byte) (int, error) {
	e, err := db.find(key, Hash)
	if e == nil {
		return 0, err
	}
	return e.value.hash.len(), nil
}

// HashEach visits the fields in the order in which they were first set.
// The visit must not change the keyspace.
func (db *DB) HashEach(key []byte, visit func(field, text string)) error {
	e, err := db.find(key, Hash)
	if e == nil {
		return err
	}
	e.value.hash.each(func(field, text string) bool {
		visit(field, text)
		return true
	})
	return nil
}

// HashIncrBy adds delta to the integer in a field, a missing one being 0, and
// returns the sum. It fails with ErrNotInteger or ErrOverflow.
func (db *DB) HashIncrBy(key, field []byte, delta int64) (int64, error) {
	e, err := db.find(key, Hash)
	if err != nil {
		return 0, err
	}
	at := -1
	if e != nil {
		at = e.value.hash.find(field)
	}
	if at >= 0 {
		slot := &e.value.hash.entries[at]
		n, err := increased(slot.val, delta)
		if err == nil {
			slot.val = FormatInteger(n)
		}
		return n, err
	}
	_, err = db.HashSet(key, field, []byte(FormatInteger(delta)))
	return delta, err
}

// HashRandom returns a field of the hash under key, chosen by draw, and its text. The
// hash must exist. This does not count as a use of key.
func (db *DB) HashRandom(key []byte, draw func() uint64) (field, text string) {
	hash := db.peek(key).value.hash
	e := &hash.entries[hash.pick(draw)]
	return e.key, e.val
}
