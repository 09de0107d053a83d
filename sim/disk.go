package sim

import (
	"time"

	"minikv/server/engine"
)

// disk is what a node has on disk, where that is less than it has in memory:
// with appendfsync everysec the state at the last full second. It is taken
// when that second has passed and the next command comes.
type disk struct {
	synced time.Duration // the second up to which snapshot says what is there
	state  *engine.Snapshot
}

// syncPeriod is how often appendfsync everysec syncs.
const syncPeriod = time.Second

// sync is called before a node executes something.
func (n *node) sync() {
	if !n.w.cfg.EverySec || n.engine == nil {
		return
	}
	if second := n.w.now.Truncate(syncPeriod); second > n.disk.synced || n.disk.state == nil {
		n.disk = disk{second, n.engine.Snapshot()}
	}
}

// reload gives a node that has started again, without data, what it had on disk
// when it crashed.
func (n *node) reload() {
	n.engine.Recover(n.disk.state, 0, nil)
}

// losesTail tells whether something of the last second was not on disk at the crash.
func (n *node) losesTail() bool {
	return n.disk.state != nil && n.crashed.Truncate(syncPeriod) == n.disk.synced
}

func drawPower(c record) Step { return c.crash("synced") }
