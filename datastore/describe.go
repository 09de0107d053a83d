package datastore

import (
	"math"
	"strconv"
	"strings"
)

// Describe returns the state of key in one line, such as hash{a:1 b:2} ttl=2980ms; a
// missing key is "none". Elements come in the order of the value; texts that could be
// misread are quoted. The same state always gives the same text. This does not count as
// an access to key, and removes nothing.
func (db *DB) Describe(key []byte) string {
	e := db.space.find(key, db.keyspace.opt.Shards)
	if e == nil || db.expired(e) {
		return None.String()
	}
	b := []byte(e.value.kind.String())
	b = append(b, '{')
	b = e.value.describe(b)
	b = append(b, '}')
	if e.deadline != NoDeadline {
		b = append(b, " ttl="...)
		b = strconv.AppendInt(b, e.deadline-db.keyspace.instant(), 10)
		b = append(b, "ms"...)
	}
	return string(b)
}

// describe appends the elements, separated by spaces.
func (v value) describe(b []byte) []byte {
	space := func() {
		if b[len(b)-1] != '{' {
			b = append(b, ' ')
		}
	}
	switch v.kind {
	case String:
		b = appendText(b, v.text())
	case Hash:
		v.hash.each(func(field, text string) bool {
			space()
			b = appendText(append(appendText(b, field), ':'), text)
			return true
		})
	case List:
		for i := range v.list.len() {
			space()
			b = appendText(b, v.list.at(i))
		}
	case ZSet:
		for _, m := range v.zset.span(0, v.zset.len()) {
			space()
			b = appendScore(append(appendText(b, m.Name), ':'), m.Score)
		}
	case Set:
		v.set.each(func(name string, _ struct{}) bool {
			space()
			b = appendText(b, name)
			return true
		})
	case Stream:
		b = v.stream.describe(b)
	}
	return b
}

// appendScore appends a score in the fewest digits. Those that are dates in
// milliseconds are not written with an exponent.
func appendScore(b []byte, score float64) []byte {
	if math.Abs(score) < 1<<53 && score == math.Trunc(score) {
		return strconv.AppendInt(b, int64(score), 10)
	}
	return strconv.AppendFloat(b, score, 'g', -1, 64)
}

// appendText appends s, quoted if it could be misread.
func appendText(b []byte, s string) []byte {
	if plain(s) {
		return append(b, s...)
	}
	return strconv.AppendQuote(b, s)
}

// plain reports whether s can stand without quotes. A colon may: Redisson's
// owners are "uuid:thread".
func plain(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"\{}`, r)
	})
}
