package topology

import (
	"fmt"
	"net"
	"strconv"
	"time"

	"minikv/cluster"
	"minikv/internal/resp"
	"minikv/server/engine"
)

// consoleAddr is the address of the sessions that Command makes.
const consoleAddr = "console"

// Command runs a command on the node in database 0, as somebody at a console does, and
// waits for the reply, also while the node is frozen. An error reply is returned as an
// error too.
func (n *Node) Command(args ...string) (reply resp.Value, err error) { return n.CommandIn(0, args...) }

// CommandIn is Command in database db.
func (n *Node) CommandIn(db int, args ...string) (reply resp.Value, err error) {
	cmd := make([][]byte, len(args))
	for i, arg := range args {
		cmd[i] = []byte(arg)
	}
	var session *engine.Session
	done := false
	take := func() {
		reply, _, _ = resp.Parse(session.Out)
		session.Out = session.Out[:0]
	}
	finish := func(p cluster.Process) {
		if done = !session.Blocked(); done {
			take()
			p.Close(session)
		}
	}
	begun := n.Do(func(p cluster.Process) {
		session = p.NewSession(consoleAddr)
		session.Trust()
		if db != 0 {
			p.Do(session, [][]byte{[]byte("SELECT"), []byte(strconv.Itoa(db))})
			if take(); reply.Kind == resp.Error {
				p.Close(session)
				done = true
				return
			}
		}
		p.Do(session, cmd)
		finish(p)
	})
	for alive := begun; !done; alive = n.Do(finish) {
		if !alive {
			return resp.Value{}, fmt.Errorf("topology: %s is down", n.name)
		}
		time.Sleep(time.Millisecond)
	}
	if reply.Kind == resp.Error {
		return reply, fmt.Errorf("topology: %s: %s: %s", n.name, args[0], reply.Str)
	}
	return reply, nil
}

// TakeOver begins a clean failover to this replica: its master hands over, and no write
// is lost. It returns an error if the node is no replica, or if its master refuses. (For
// the crash of a master, Kill it.)
func (n *Node) TakeOver() error {
	if n.topology.cfg.Plan.Cluster {
		_, err := n.Command("CLUSTER", "FAILOVER")
		return err
	}
	role, err := n.Command("ROLE")
	if err != nil {
		return err
	}
	if role.List[0].Str != "slave" {
		return fmt.Errorf("topology: %s is not a replica", n.name)
	}
	master, err := n.topology.named(role.List[1].Str + ":" + strconv.FormatInt(role.List[2].Int, 10))
	if err != nil {
		return err
	}
	host, port, err := net.SplitHostPort(n.address)
	if err != nil {
		return fmt.Errorf("topology: take over: %w", err)
	}
	_, err = master.Command("FAILOVER", "TO", host, port)
	return err
}

// Slow makes every command of the node's clients take that long; 0 ends it. On a real
// clock the node does nothing else meanwhile, and what it is doing takes no more time
// once Slow is called again, or the node is frozen or killed. On a virtual one each
// command waits by itself, for as long as Slow said when it came.
func (n *Node) Slow(each time.Duration) {
	n.noteNode("takes %v for each command", each)
	n.slow.Store(int64(each))
	n.pace.happened()
}

// takeTime is what a slow node does with a command, on a real clock. It holds up all its clients.
func (n *Node) takeTime() {
	if n.slow.Load() == 0 || n.clock.base.virtual {
		return
	}
	changed := n.pace.wait()
	if n.down.Load() || n.frozen.Load() {
		return
	}
	select {
	case <-changed:
	case <-time.After(time.Duration(n.slow.Load())):
	}
}
