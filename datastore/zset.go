package datastore

// ScoreRange is a range of scores. Infinities are bounds like others.
type ScoreRange struct {
	Min, Max           float64
	AboveMin, BelowMax bool // the bound itself is excluded
}

// NameRange is a range of names of members, all of which must have the same score.
type NameRange struct {
	Min, Max NameBound
}

// NameBound is an end of a NameRange. Side -1 lies before every name and 1 behind every
// name. With Side 0 the bound is Name itself or, if Exclusive, lies just beside it.
type NameBound struct {
	Name      string
	Side      int
	Exclusive bool
}

// ZScore returns the score of a member and whether it is there.
func (db *DB) ZScore(key, name []byte) (score float64, ok bool, err error) {
	e, err := db.find(key, ZSet)
	if e == nil {
		return 0, false, err
	}
	score, ok = e.value.zset.scores.get(name)
	return score, ok, nil
}

// ZSet gives a member a score, which must not be NaN, and reports whether the
// member is new.
func (db *DB) ZSet(key, name []byte, score float64) (created bool, err error) {
	e, err := db.ensure(key, ZSet)
	if err != nil {
		return false, err
	}
	z := e.value.zset
	if z.scores.find(name) < 0 {
		e.value.grow(z.len()+1, len(name), db.keyspace.limits.ZSetEntries, db.keyspace.limits.ZSetValue)
	}
	if e.value.form == formPlain {
		score = unsigned(score) // as dropSigns
	}
	return z.set(name, score), nil
}

// ZReserve makes a sorted set that will have so many members, with names of at most size
// bytes. It has the encoding for these from the first member on, on which it depends
// whether -0 is kept. It must not replace anything.
func (db *DB) ZReserve(key []byte, members, size int) error {
	e, err := db.ensure(key, ZSet)
	if err == nil {
		e.value.grow(members, size, db.keyspace.limits.ZSetEntries, db.keyspace.limits.ZSetValue)
	}
	return err
}

// ZRemove removes a member and reports whether it was there.
func (db *DB) ZRemove(key, name []byte) (bool, error) {
	e, err := db.find(key, ZSet)
	if e == nil {
		return false, err
	}
	removed := e.value.zset.remove(name)
	db.dropEmpty(e, key)
	return removed, nil
}

// ZLen counts the members of the sorted set under key, 0 if it is missing.
func (db *DB) ZLen(key []byte) (int, error) {
	e, err := db.find(key, ZSet)
	if e == nil {
		return 0, err
	}
	return e.value.zset.len(), nil
}

// ZRank returns how many members stand before the given one, and whether it is
// there.
func (db *DB) ZRank(key, name []byte) (rank int, ok bool, err error) {
	e, err := db.find(key, ZSet)
	if e == nil {
		return 0, false, err
	}
	z := e.value.zset
	score, ok := z.scores.get(name)
	if !ok {
		return 0, false, nil
	}
	m := Member{string(name), score}
	return z.rank(func(o Member) bool { return CompareMembers(o, m) < 0 }), true, nil
}

// ZScoreSpan returns the ranks from, up to but not including to, of the
// members whose score is in a range; from >= to when there are none.
func (db *DB) ZScoreSpan(key []byte, r ScoreRange) (from, to int, err error) {
	return db.zspan(key,
		func(m Member) bool { return m.Score < r.Min || r.AboveMin && m.Score == r.Min },
		func(m Member) bool { return m.Score < r.Max || !r.BelowMax && m.Score == r.Max })
}

// ZNameSpan is ZScoreSpan for a range of names, among members of one score. If the scores
// differ, Redis promises nothing; ZNameSpan then does what Redis does with a listpack,
// which it reads from one end or the other. Source: zzlFirstInLexRange and
// zzlLastInLexRange of Redis 7.0.
func (db *DB) ZNameSpan(key []byte, r NameRange, fromEnd bool) (from, to int, err error) {
	before := func(m Member) bool { return r.Min.above(m.Name, r.Min.Exclusive) }
	within := func(m Member) bool { return r.Max.above(m.Name, !r.Max.Exclusive) }
	e, err := db.find(key, ZSet)
	if e == nil {
		return 0, 0, err
	}
	z, n := e.value.zset, e.value.zset.len()
	first, last := z.span(0, 1)[0], z.span(n-1, n)[0]
	switch {
	case e.value.form != formPlain, first.Score == last.Score:
		return z.rank(before), z.rank(within), nil
	case before(last), !within(first):
		return 0, 0, nil
	}
	members := z.span(0, n)
	if fromEnd {
		for to = n; !within(members[to-1]); {
			to--
		}
		for from = to; from > 0 && !before(members[from-1]); {
			from--
		}
		return from, to, nil
	}
	for before(members[from]) {
		from++
	}
	for to = from; to < n && within(members[to]); {
		to++
	}
	return from, to, nil
}

// ZRange returns the members of ranks from, up to but not including to; both
// must be in range.
func (db *DB) ZRange(key []byte, from, to int) ([]Member, error) {
	e, err := db.find(key, ZSet)
	if e == nil {
		return nil, err
	}
	return e.value.zset.span(from, to), nil
}

// ZRemoveSpan removes the members of ranks from, up to but not including to;
// both must be in range.
func (db *DB) ZRemoveSpan(key []byte, from, to int) error {
	e, err := db.find(key, ZSet)
	if e == nil {
		return err
	}
	e.value.zset.removeSpan(from, to)
	db.dropEmpty(e, key)
	return nil
}

// zspan counts the members before a range, and those before its end.
func (db *DB) zspan(key []byte, before, within func(Member) bool) (from, to int, err error) {
	e, err := db.find(key, ZSet)
	if e == nil {
		return 0, 0, err
	}
	return e.value.zset.rank(before), e.value.zset.rank(within), nil
}

// above reports whether the bound lies above a name; a bound with that name
// itself does if orEqual.
func (b NameBound) above(name string, orEqual bool) bool {
	if b.Side != 0 {
		return b.Side > 0
	}
	return name < b.Name || orEqual && name == b.Name
}
