package datastore

// End is one end of a list.
type End uint8

// The ends of a list: index 0 is at the head.
const (
	Head End = iota
	Tail
)

// ListPush adds an element at one end and returns the new length.
func (db *DB) ListPush(key []byte, end End, text []byte) (int, error) {
	e, err := db.ensure(key, List)
	if err != nil {
		return 0, err
	}
	if end == Head {
		e.value.list.pushFront(clone(text))
	} else {
		e.value.list.pushBack(clone(text))
	}
	return e.value.list.len(), nil
}

// ListPop removes and returns the element at one end; ok is false if there was none.
func (db *DB) ListPop(key []byte, end End) (text string, ok bool, err error) {
	e, err := db.find(key, List)
	if e == nil {
		return "", false, err
	}
	if end == Head {
		text = e.value.list.popFront()
	} else {
		text = e.value.list.popBack()
	}
	db.dropEmpty(e, key)
	return text, true, nil
}

// ListMove removes the element at one end of a list, which must exist, adds it at an end
// of another list or the same, and returns it. If the only element of a list is moved
// onto the same list, the list keeps its deadline.
func (db *DB) ListMove(from []byte, fromEnd End, to []byte, toEnd End) (text string, err error) {
	index := 0
	if fromEnd == Tail {
		index = -1
	}
	text, _, err = db.ListAt(from, index)
	if err != nil {
		return "", err
	}
	if _, err = db.ListPush(to, toEnd, []byte(text)); err != nil {
		return "", err
	}
	text, _, err = db.ListPop(from, fromEnd)
	return text, err
}

// ListLen counts the elements of the list under key, 0 if it is missing.
func (db *DB) ListLen(key []byte) (int, error) {
	e, err := db.find(key, List)
	if e == nil {
		return 0, err
	}
	return e.value.list.len(), nil
}

// ListAt returns the element at index, counted from the head; a negative index counts
// from the end, which is -1. ok is false if it is out of range.
func (db *DB) ListAt(key []byte, index int) (text string, ok bool, err error) {
	e, err := db.find(key, List)
	if e == nil {
		return "", false, err
	}
	if index < 0 {
		index += e.value.list.len()
	}
	if uint(index) >= uint(e.value.list.len()) {
		return "", false, nil
	}
	return e.value.list.at(index), true, nil
}

// ListRange returns the elements from, up to but not including to; both must
// be in range.
func (db *DB) ListRange(key []byte, from, to int) ([]string, error) {
	e, err := db.find(key, List)
	if e == nil || from >= to {
		return nil, err
	}
	texts := make([]string, 0, to-from)
	for i := from; i < to; i++ {
		texts = append(texts, e.value.list.at(i))
	}
	return texts, nil
}

// ListSet replaces element index and reports whether it is in range.
func (db *DB) ListSet(key []byte, index int, text []byte) (bool, error) {
	e, err := db.find(key, List)
	if e == nil || index < 0 || index >= e.value.list.len() {
		return false, err
	}
	*e.value.list.slot(index) = clone(text)
	return true, nil
}

// ListTrim keeps only the elements from, up to but not including to, and
// returns how many it removed.
func (db *DB) ListTrim(key []byte, from, to int) (int, error) {
	e, err := db.find(key, List)
	if e == nil {
		return 0, err
	}
	before := e.value.list.len()
	e.value.list.keep(func(i int, _ string) bool { return i >= from && i < to })
	removed := before - e.value.list.len()
	db.dropEmpty(e, key)
	return removed, nil
}

// ListRemove removes up to limit elements equal to text, starting at the given end; limit
// 0 removes all of them. It returns how many it removed.
func (db *DB) ListRemove(key []byte, end End, limit int, text []byte) (int, error) {
	e, err := db.find(key, List)
	if e == nil {
		return 0, err
	}
	list, skip := e.value.list, 0
	if end == Tail && limit > 0 {
		for i := range list.len() {
			if list.at(i) == string(text) {
				skip++
			}
		}
		skip = max(0, skip-limit)
	}
	removed := 0
	list.keep(func(_ int, s string) bool {
		if s != string(text) || limit > 0 && removed == limit {
			return true
		}
		if skip > 0 {
			skip--
			return true
		}
		removed++
		return false
	})
	db.dropEmpty(e, key)
	return removed, nil
}

// ListInsert inserts text before the first element equal to pivot, or after it. It
// returns the new length, 0 if key is missing, -1 if no element equals pivot.
func (db *DB) ListInsert(key []byte, after bool, pivot, text []byte) (int, error) {
	e, err := db.find(key, List)
	if e == nil {
		return 0, err
	}
	list := e.value.list
	for i := range list.len() {
		if list.at(i) == string(pivot) {
			if after {
				i++
			}
			list.insert(i, clone(text))
			return list.len(), nil
		}
	}
	return -1, nil
}
