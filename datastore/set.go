package datastore

// SetAdd adds a member to the set under key and reports whether it is new.
func (db *DB) SetAdd(key, name []byte) (bool, error) {
	e, err := db.ensure(key, Set)
	if err != nil {
		return false, err
	}
	return e.value.set.set(name, struct{}{}), nil
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

// SetMembers returns the members in the order in which they were added.
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
	return names, nil
}
