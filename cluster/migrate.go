package cluster

import (
	"math"
	"strconv"
	"time"

	"minikv/internal/resp"
	"minikv/server/engine"
)

// migrations are the MIGRATE commands that wait for another process. While one
// does, all clients of the node wait, as they do in Redis, where MIGRATE blocks
// the whole server.
// Source: migrateCommand of Redis 7.0.
type migrations struct {
	m       *Member
	running []*migration
}

// migration is one MIGRATE under way.
type migration struct {
	engine.Migration
	session  *engine.Session // nil: it has its answer
	db       int             // of this node
	caller   *Caller
	until    int64    // Unix milliseconds
	moved    []string // keys that the other process has
	left     int      // replies to RESTORE still to come
	failed   string   // what the other process has said first of an error, or ""
	shut     bool     // it has refused AUTH or SELECT, so that nothing counts
	restores []engine.Restore
}

// run is MIGRATE. In a transaction or a script nothing can wait for another process of
// the topology; for a server outside of it the node stands still, as redis-server does.
func (s *migrations) run(c *engine.Call) resp.Value {
	parsed, reply, done := engine.ParseMigrate(c)
	if done {
		return reply
	}
	now := s.m.unixMillis()
	m := &migration{Migration: parsed, session: c.Session, db: c.DB.Index(), until: now + parsed.TimeoutMillis}
	port, err := strconv.Atoi(parsed.Port)
	to := s.m.dir.Resolve(parsed.Host, port)
	if err != nil || to == 0 {
		return engine.MigrateOutside(c, parsed)
	}
	m.restores = parsed.Restores(s.m.node, m.db)
	if len(m.restores) == 0 {
		return resp.OK
	}
	suspended, ok := c.Suspend()
	if !ok {
		return resp.Err(engine.ErrMigrateWrite)
	}
	m.caller = NewCaller(s.m.post, to, nil)
	s.running = append(s.running, m)
	s.m.node.Pause(engine.PausedByMigration, math.MaxInt64, true)
	s.send(m)
	return suspended
}

// send puts all commands on their way.
func (s *migrations) send(m *migration) {
	refused := func(v resp.Value, ok bool) { m.shut = m.note(v, ok) || m.shut }
	if m.Auth != nil {
		m.caller.Do(refused, append([]string{"AUTH"}, m.Auth...)...)
	}
	if m.DB != 0 {
		m.caller.Do(refused, "SELECT", strconv.FormatInt(m.DB, 10))
	}
	m.left = len(m.restores)
	for _, one := range m.restores {
		m.caller.Do(func(v resp.Value, ok bool) { s.restored(m, one.Key, v, ok) }, one.Args...)
	}
}

// note keeps the first error of the other process; it reports whether v is one.
func (m *migration) note(v resp.Value, ok bool) bool {
	bad := ok && v.Kind == resp.Error
	if bad && m.failed == "" {
		m.failed = v.Str
	}
	return bad
}

// restored takes the reply to RESTORE of one key.
func (s *migrations) restored(m *migration, key string, v resp.Value, ok bool) {
	m.left--
	switch {
	case !ok:
		s.finish(m, resp.Err(engine.ErrMigrateRead))
		return
	case !m.note(v, ok) && !m.shut:
		m.moved = append(m.moved, key)
	}
	if m.left == 0 {
		s.finish(m, resp.OK)
	}
}

// finish takes away what has arrived at the other process and answers the client.
func (s *migrations) finish(m *migration, reply resp.Value) {
	session := m.session
	if session == nil {
		return
	}
	m.session = nil
	m.caller.Close()
	s.running = without(s.running, m)
	if m.failed != "" {
		reply = resp.Err("ERR Target instance replied with error: " + m.failed)
	}
	n := s.m.node
	if !m.Copy {
		n.RemoveMigrated(m.db, m.moved)
	}
	n.Resume(session, reply)
	n.Unpause(engine.PausedByMigration)
}

// receive takes messages of the connections to other processes.
func (s *migrations) receive(m Message) {
	for _, one := range append([]*migration(nil), s.running...) {
		one.caller.Receive(m)
	}
}

// tick ends what has waited for too long.
func (s *migrations) tick() {
	now := s.m.unixMillis()
	for _, one := range append([]*migration(nil), s.running...) {
		if now >= one.until {
			s.finish(one, resp.Err(engine.ErrMigrateRead))
		}
	}
}

func (s *migrations) nextDeadline() (wait time.Duration, ok bool) {
	for _, one := range s.running {
		left := time.Duration(max(one.until-s.m.unixMillis(), 0)) * time.Millisecond
		wait, ok = sooner(wait, ok)(left, true)
	}
	return wait, ok
}
