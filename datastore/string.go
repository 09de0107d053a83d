package datastore

// String returns the string under key and whether the key is there.
func (db *DB) String(key []byte) (text string, ok bool, err error) {
	e, err := db.find(key, String)
	if e == nil {
		return "", false, err
	}
	return e.value.text(), true, nil
}

// PeekString returns the value under key if it is a string. This does not count as an
// access.
func (db *DB) PeekString(key []byte) (text string, ok bool) {
	e := db.peek(key)
	if e == nil || e.value.kind != String {
		return "", false
	}
	return e.value.text(), true
}

// SetString puts a string under key, in place of a value of any kind. The deadline is in
// Unix milliseconds, NoDeadline or KeepDeadline.
func (db *DB) SetString(key, text []byte, deadline int64) {
	e := db.lookup(key)
	if e == nil {
		e = db.replace(key, String)
	} else if e.value.kind != String {
		db.keyspace.pool.freeValue(e.value)
	}
	e.value = value{kind: String, str: clone(text)}
	if deadline != KeepDeadline {
		db.setDeadline(e, deadline)
	}
}

// SetNumberText is SetString for the text of a fraction, which is never stored as an
// integer. The deadline stays.
func (db *DB) SetNumberText(key, text []byte) {
	db.SetString(key, text, KeepDeadline)
	if e := db.lookup(key); e != nil { // not expired by its old deadline
		e.value.form = formEmbedded
	}
}

// SetRaw is SetString for a text that was computed byte by byte.
func (db *DB) SetRaw(key, text []byte, deadline int64) {
	db.SetString(key, text, deadline)
	db.Unshare(key)
}

// Unshare makes the string under key, if there is one, count as changed in place, even if
// no byte of it was changed.
func (db *DB) Unshare(key []byte) {
	if e := db.lookup(key); e != nil && e.value.kind == String { // not expired by its old deadline
		e.value.form = formGrown
	}
}

// IncrBy adds delta to the integer under key, a missing one being 0, and
// returns the sum. It fails with ErrNotInteger or ErrOverflow.
func (db *DB) IncrBy(key []byte, delta int64) (int64, error) {
	e, err := db.find(key, String)
	if err != nil {
		return 0, err
	}
	var n int64
	if e != nil {
		if n, err = increased(e.value.text(), delta); err != nil {
			return 0, err
		}
	} else {
		n = delta
		e = db.replace(key, String)
	}
	e.value = value{kind: String, str: FormatInteger(n)}
	return n, nil
}

// Append appends tail to the string under key and returns the new length in bytes. A
// missing key counts as empty.
func (db *DB) Append(key, tail []byte) (int, error) {
	e, err := db.find(key, String)
	if err != nil {
		return 0, err
	}
	if e == nil {
		e = db.replace(key, String)
		e.value = value{kind: String, str: string(tail)}
		return len(tail), nil
	}
	v := &e.value
	return v.overwrite(v.length(), tail), nil
}

// SetRange overwrites the string under key from byte offset on, and returns the new
// length in bytes. A gap is filled with zero bytes. text must not be empty.
func (db *DB) SetRange(key []byte, offset int, text []byte) (int, error) {
	e, err := db.ensure(key, String)
	if err != nil {
		return 0, err
	}
	return e.value.overwrite(offset, text), nil
}

// Length returns how many bytes the string under key has, 0 if there is none.
func (db *DB) Length(key []byte) (n int, exists bool, err error) {
	e, err := db.find(key, String)
	if e == nil {
		return 0, false, err
	}
	return e.value.length(), true, nil
}

// Part returns a copy of the bytes from (included) to to (excluded) of the string under
// key, as far as they exist. This does not count as a use of key.
func (db *DB) Part(key []byte, from, to int) string {
	e := db.peek(key)
	if e == nil || e.value.kind != String {
		return ""
	}
	v := &e.value
	to = min(to, v.length())
	switch {
	case from >= to:
		return ""
	case v.buffer != nil:
		return string(v.buffer.bytes[from:to])
	}
	return v.str[from:to]
}

// increased is the number in text plus delta.
func increased(text string, delta int64) (int64, error) {
	n, ok := ParseInteger(text)
	if !ok {
		return 0, ErrNotInteger
	}
	if n, ok = addInteger(n, delta); !ok {
		return 0, ErrOverflow
	}
	return n, nil
}
