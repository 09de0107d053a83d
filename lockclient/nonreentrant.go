package lockclient

// heldAlready is the error with which a script refuses a holder that asks
// again. Servers before 7.0 send it as it is, later ones after "ERR ".
const heldAlready = "NON_REENTRANT_REACQUIRE"

// Constant after initialisation.
var nonReentrantAcquire = embedded("nonreentrant_acquire")

// NonReentrant names Redisson's non-reentrant lock (since 4.4.0): a Mutex that its holder
// cannot take again. Taking it again, from the holder's context or with its owner's name,
// returns ErrDeadlock.
func (c *Client) NonReentrant(key string) *Lock {
	return c.hashLock(key, nonReentrant{mutex{c, key}})
}

// NonReentrantFair names Redisson's non-reentrant fair lock (since 4.4.0). It waits as
// Fair does, and is otherwise as NonReentrant.
func (c *Client) NonReentrantFair(key string) *Lock {
	return c.fair(key, true)
}

// nonReentrant is the dialect of NonReentrant.
type nonReentrant struct{ mutex }

func (n nonReentrant) reentrant() bool { return false }

func (n nonReentrant) acquire(r *request) call {
	return call{nonReentrantAcquire, []string{n.key}, []string{millis(r.lease), r.owner, heldAlready}}
}
