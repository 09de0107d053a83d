package datastore

// How far a group has read is counted by the entries of a stream's life. The
// count holds as long as nothing was deleted from between; otherwise it can
// sometimes be told again from where the group stands.
// Source: t_stream.c of Redis 7.0.

// Advance notes that the group has delivered the entry with an ID, unless it
// was delivered before.
func (g *Group) Advance(s *StreamData, id StreamID) {
	if id.Compare(g.LastID) <= 0 {
		return
	}
	if g.EntriesRead != EntriesReadUnknown && !s.hasTombstones(id) {
		g.EntriesRead++
	} else if s.EntriesAdded != 0 {
		g.EntriesRead = s.distance(id)
	}
	g.LastID = id
}

// Lag returns how many entries the group has not read yet; ok is false if that is not
// known.
func (g *Group) Lag(s *StreamData) (entries int64, ok bool) {
	switch {
	case s.EntriesAdded == 0:
		return 0, true
	case g.EntriesRead != EntriesReadUnknown && !s.hasTombstones(g.LastID):
		return s.EntriesAdded - g.EntriesRead, true
	}
	read := s.distance(g.LastID)
	return s.EntriesAdded - read, read != EntriesReadUnknown
}

// hasTombstones reports whether an entry from an ID on may have been deleted,
// other than those before the first one there is.
// Source: streamRangeHasTombstones of Redis 7.0.15.
func (s *StreamData) hasTombstones(from StreamID) bool {
	return s.length > 0 && s.MaxDeletedID != FirstStreamID && s.FirstID.Compare(s.MaxDeletedID) <= 0 &&
		from.Compare(s.MaxDeletedID) <= 0
}

// distance counts the entries there ever were up to an ID, or is EntriesReadUnknown.
func (s *StreamData) distance(id StreamID) int64 {
	last := id.Compare(s.LastID)
	switch {
	case s.EntriesAdded == 0:
		return 0
	case s.length == 0 && last <= 0, last == 0:
		return s.EntriesAdded
	case last > 0:
		return EntriesReadUnknown
	}
	if s.MaxDeletedID == FirstStreamID || s.MaxDeletedID.Compare(s.FirstID) < 0 {
		switch first := id.Compare(s.FirstID); {
		case first < 0:
			return s.EntriesAdded - int64(s.length)
		case first == 0:
			return s.EntriesAdded - int64(s.length) + 1
		}
	}
	return EntriesReadUnknown
}
