package cluster

// packetKind is what a packet of the cluster bus is, in the order in which
// CLUSTER INFO counts them.
type packetKind uint8

const (
	pingPacket packetKind = iota
	pongPacket
	meetPacket
	failPacket
	publishPacket
	authRequestPacket
	authAckPacket
	updatePacket
	manualStartPacket
	modulePacket
	publishShardPacket
	packetKinds
)

// packetNames are the kinds as CLUSTER INFO names them.
var packetNames = [packetKinds]string{
	"ping", "pong", "meet", "fail", "publish", "auth-req", "auth-ack", "update", "mfstart", "module", "publishshard",
}

// packet is one message of the cluster bus. It never changes once it is sent.
// Source: clusterMsg of Redis 7.0.
type packet struct {
	kind    packetKind
	sender  string // the node's name
	host    string // where it listens
	port    int
	busPort int
	flags   nodeFlags
	master  string   // the name of its master, "" for a master
	slots   *slotSet // that it serves; a replica shows its master's

	hostname string // PING, PONG, MEET: cluster-announce-hostname

	currentEpoch uint64
	configEpoch  uint64 // a replica shows its master's
	offset       int64  // of replication
	paused       bool   // a master that has stopped writes for a manual failover
	forced       bool   // AUTH REQUEST: vote even though the master is up

	gossip []gossip // PING, PONG, MEET

	about      string // FAIL, UPDATE: the node that the packet is about
	aboutEpoch uint64 // UPDATE: its configEpoch
	aboutSlots *slotSet

	channel, message string // PUBLISH, PUBLISHSHARD
}

// gossip is what a node tells about a third one. Times are Unix seconds.
type gossip struct {
	name         string
	pongReceived int64
	host         string
	port         int
	busPort      int
	flags        nodeFlags
}
