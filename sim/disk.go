package sim

import (
	"time"

	"minikv/server/engine"
)

// disk is what a node has on disk, where that is less than it has in memory:
// with appendfsync everysec the state at the last full second, the least that Redis
// promises. A fast disk has more: redis-server 7.0.15 begins to sync with the first write
// of a second, which lasts some milliseconds then, and a second or two on a slow one. The
// state is taken when that second has passed and the next command comes.
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

// unsynced is how long before its crash what a node has lost begins; 0: everything was
// on disk. Who stands still does not sync either.
func (n *node) unsynced() time.Duration {
	d := &n.disk
	if d.state == nil || n.still.Truncate(syncPeriod) != d.synced || n.engine.Offset() == d.state.Offset() {
		return 0
	}
	return n.crashed - d.synced
}

func drawPower(c record) Step { return c.crash("synced") }
