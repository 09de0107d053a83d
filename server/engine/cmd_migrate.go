package engine

import (
	"strconv"

	"minikv/datastore"
	"minikv/internal/resp"
)

// Migration is what MIGRATE asks for.
type Migration struct {
	Host          string
	Port          string // as it was given
	DB            int64  // of the other node
	TimeoutMillis int64  // at least 1
	Copy, Replace bool
	Auth          []string // arguments of AUTH; nil: none
	Keys          []string // those that exist
}

// What MIGRATE replies when it fails: ErrMigrateWrite when nobody listens at the address,
// or nobody takes what is sent; ErrMigrateRead when no answer comes.
const (
	ErrMigrateWrite = "IOERR error or timeout writing to target instance"
	ErrMigrateRead  = "IOERR error or timeout reading to target instance"
)

// ParseMigrate reads MIGRATE host port key|"" destination-db timeout [COPY]
// [REPLACE] [AUTH password|AUTH2 username password] [KEYS key [key ...]]. When
// there is nothing to move, done is true and reply the answer.
func ParseMigrate(c *Call) (m Migration, reply resp.Value, done bool) {
	keys, bad := m.options(c.Args)
	if bad != "" {
		return m, resp.Err(bad), true
	}
	timeout, okTimeout := parseInt(c.Args[5])
	db, okDB := parseInt(c.Args[4])
	if !okTimeout || !okDB {
		return m, resp.Err(errNotInt), true
	}
	if timeout <= 0 {
		timeout = 1000
	}
	m.Host, m.Port = string(c.Args[1]), string(c.Args[2])
	m.DB, m.TimeoutMillis = db, timeout
	for _, key := range keys {
		if c.DB.Touch(key) {
			m.Keys = append(m.Keys, string(key))
		}
	}
	if len(m.Keys) == 0 {
		return m, resp.Simple("NOKEY"), true
	}
	return m, resp.Value{}, false
}

// options reads what stands behind the timeout and returns the keys.
func (m *Migration) options(args [][]byte) (keys [][]byte, bad string) {
	keys = args[3:4]
	for i := 6; i < len(args); i++ {
		left := len(args) - 1 - i
		switch {
		case is(args[i], "COPY"):
			m.Copy = true
		case is(args[i], "REPLACE"):
			m.Replace = true
		case is(args[i], "AUTH") && left >= 1:
			m.Auth = []string{string(args[i+1])}
			i++
		case is(args[i], "AUTH2") && left >= 2:
			m.Auth = []string{string(args[i+1]), string(args[i+2])}
			i += 2
		case is(args[i], "KEYS") && len(args[3]) != 0:
			return nil, "ERR When using MIGRATE KEYS option, the key argument must be set to the empty string"
		case is(args[i], "KEYS"):
			return args[i+1:], ""
		default:
			return nil, errSyntax
		}
	}
	return keys, ""
}

// Restore is the command by which another server gets a key.
type Restore struct {
	Key  string
	Args []string
}

// Restores returns the commands for those keys that have not expired.
func (m *Migration) Restores(n *Node, db int) (list []Restore) {
	word := "RESTORE"
	if n.cfg.Topology != nil {
		word = "RESTORE-ASKING"
	}
	now, data := n.nowMillis(), n.keys.DB(db)
	for _, key := range m.Keys {
		ttl := int64(0)
		if at, has := data.Deadline([]byte(key)); has && at != datastore.NoDeadline {
			ttl = max(at-now, 1)
		}
		payload, ok := data.Dump([]byte(key), n.compresses())
		if !ok {
			continue
		}
		args := []string{word, key, strconv.FormatInt(ttl, 10), string(payload)}
		if m.Replace {
			args = append(args, "REPLACE")
		}
		list = append(list, Restore{key, args})
	}
	return list
}

// runMigrateAlone is MIGRATE on a node without a topology.
func runMigrateAlone(c *Call) resp.Value {
	m, reply, done := ParseMigrate(c)
	if done {
		return reply
	}
	return MigrateOutside(c, m)
}
