package engine

import "minikv/datastore"

// changesReplica reports whether a client changes keys at a replica that it may write to.
func (c *Call) changesReplica() bool {
	return c.Cmd.Flags&Write != 0 && !c.Session.isLink() && c.Node.expiryPolicy() == datastore.HideExpired &&
		!c.Node.Paused()
}

// removeExpired has a command remove the expired keys that it would write, as at a master;
// what it only reads or deletes is hidden, as from all clients of a replica. The function
// that it returns ends this.
// Source: lookupKey and expireIfNeeded of Redis 7.0.
func (c *Call) removeExpired() (end func()) {
	n := c.Node
	refs := c.Cmd.refs(c.Args)
	n.keys.SetExpiry(datastore.RemoveExpired)
	n.keys.Spare(func(key []byte) bool {
		flags := keyFlag(0)
		for _, ref := range refs {
			if string(c.Args[ref.at]) == string(key) {
				flags |= ref.flags
			}
		}
		return flags&(keyRW|keyOW) == 0 || flags&keyRO != 0 || readsFirst[c.Cmd.Name]
	})
	return func() {
		n.keys.Spare(nil)
		n.applyExpiryPolicy()
	}
}

// readsFirst are the commands that change a key only where they have found it by reading.
var readsFirst = map[string]bool{"GETDEL": true, "GETEX": true, "XACK": true, "XAUTOCLAIM": true, "XCLAIM": true}
