package datastore

// Snapshot is a copy of all databases at one instant. It never changes and may
// be loaded into any number of keyspaces.
type Snapshot struct {
	keys []savedKey // by database, then by creation
}

type savedKey struct {
	db       int
	key      string
	value    value
	deadline int64
}

// Len returns the number of keys of the snapshot, including expired ones.
func (s *Snapshot) Len() int { return len(s.keys) }

// Snapshot copies everything, deadlines and kept expired keys included.
func (k *Keyspace) Snapshot() *Snapshot {
	s := &Snapshot{keys: make([]savedKey, 0, k.Len())}
	for _, db := range k.dbs {
		if db == nil {
			continue
		}
		for _, e := range db.ordered() {
			s.keys = append(s.keys, savedKey{db.index, e.key, e.value.clone(), e.deadline})
		}
	}
	return s
}

// Load replaces all contents with those of a snapshot, which must have as many databases.
// The policy stays.
func (k *Keyspace) Load(s *Snapshot) {
	k.FlushAll()
	k.Quietly(func() {
		for _, saved := range s.keys {
			k.DB(saved.db).put([]byte(saved.key), saved.value.clone(), saved.deadline)
		}
	})
}
