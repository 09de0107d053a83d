package engine

import (
	"bufio"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"minikv/internal/resp"
)

// TestEffectsAgainstRedis is TestRandomCommandsAgainstRedis with a replica at both
// servers: what the two replicas are told is compared as well. It sends half as many
// commands.
func TestEffectsAgainstRedis(t *testing.T) {
	d, seed := newDiffer(t)
	d.replicas = newReplicaPair(t, d.real)
	forms := slices.DeleteFunc(readForms(t), func(f diffForm) bool {
		sorts := strings.Contains(f.text(), "SORT") && !strings.Contains(f.text(), " STORE")
		return sorts || withoutReplicas.MatchString(f.text())
	})
	d.compareRandom(seed, forms, *diffCommands/2)
}

// withoutReplicas are the forms that only servers without replicas are sent: those about
// replicas, and those by which a replica of Redis becomes another than its master, be it
// that parameters are not replicated (whether 0 or -0 is kept, or how an HLL is, depends
// on some), that a BITFIELD which fails makes its key longer, or that DEBUG RELOAD leaves
// keys out that have expired. Besides a SORT that only reads makes a skiplist of a sorted
// set, which keeps -0 where a listpack does not.
var withoutReplicas = regexp.MustCompile(`^(FAILOVER|WAIT|DEBUG RELOAD|CLIENT (LIST|KILL) TYPE)|` +
	`^CONFIG SET .*(hll-sparse|zset-max)|^BITFIELD .*FAIL`)

// replicaPair is a replica of redis-server and one of the engine.
type replicaPair struct {
	t      *testing.T
	real   *realTarget
	socket *bufio.Reader // from the server
	stream *resp.CommandReader
	realDB string // that the stream has selected

	node    *Node
	replica *Node // applies what node sends
	sent    int64 // offset up to which it has
	ourDB   string
}

// newReplicaPair attaches a replica to the server.
func newReplicaPair(t *testing.T, real *realTarget) *replicaPair {
	real.ask(control, "CONFIG", "SET", "repl-diskless-sync", "no")
	conn, err := net.Dial("tcp", real.address)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, conn.Close())
		real.ask(control, "CONFIG", "SET", "repl-diskless-sync", "yes")
	})
	_, err = conn.Write(resp.AppendCommand(nil, "SYNC"))
	require.NoError(t, err)
	p := &replicaPair{t: t, real: real, socket: bufio.NewReader(conn), stream: resp.NewCommandReader()}
	header := "\n"
	for header == "\n" { // sent while the file is not ready
		header, err = p.socket.ReadString('\n')
		require.NoError(t, err)
	}
	size, err := strconv.Atoi(strings.Trim(header, "$\r\n"))
	require.NoError(t, err, header)
	_, err = p.socket.Discard(size)
	require.NoError(t, err)
	return p
}

// begin forgets what the servers have sent, and attaches a replica to node.
func (p *replicaPair) begin(node *Node) {
	p.toldByReal()
	p.node, p.replica = node, newEngineTarget().node
	node.AddReplica(1)
	p.replica.BecomeReplica("127.0.0.1", 6379)
	p.sent, p.ourDB = node.Offset(), ""
}

// compare returns the first effect that differs since begin; if there is none, the
// digests of our node's keys, and of its replica's.
func (p *replicaPair) compare() (want, got string) {
	real, ours := p.toldByReal(), p.toldByUs()
	sortRemovals(real)
	sortRemovals(ours)
	for i := range max(len(real), len(ours)) {
		switch {
		case i >= len(real):
			return "no more effects", ours[i]
		case i >= len(ours):
			return real[i], "no more effects"
		case dates.ReplaceAllString(real[i], "DATE") != dates.ReplaceAllString(ours[i], "DATE"):
			return real[i], ours[i]
		}
	}
	return fmt.Sprintf("%x is our keys' digest", p.node.keys.Digest()),
		fmt.Sprintf("%x is our keys' digest", p.replica.keys.Digest())
}

// sortRemovals sorts what was removed at one time: in which order a busy redis-server comes
// to keys whose time has passed is not to be known.
func sortRemovals(effects []string) {
	for i := 0; i < len(effects); i++ {
		from := i
		for i < len(effects) && removal.MatchString(effects[i]) {
			i++
		}
		slices.Sort(effects[from:i])
	}
}

var removal = regexp.MustCompile(`^in \d+: "DEL" "[^" ]*"$`)

// dates are the present plus a lifetime that a command gives: the two servers do not run
// it in the same millisecond.
var dates = regexp.MustCompile(`"(1[78]\d{11}|922\d{13})"`)

// toldByReal are the effects that redis-server has sent since they were last asked for.
func (p *replicaPair) toldByReal() (effects []string) {
	const marker = "marker"
	p.real.ask(control, "PUBLISH", marker, "")
	for {
		cmd, err := p.stream.Next()
		require.NoError(p.t, err)
		switch {
		case cmd == nil:
			_, err = p.stream.Fill(p.socket)
			require.NoError(p.t, err)
		case is(cmd[0], "PUBLISH") && string(cmd[1]) == marker:
			return effects
		case is(cmd[0], "PING"), is(cmd[0], "REPLCONF"): // of a server's clock and of WAIT
		default:
			effects = appendEffect(effects, &p.realDB, cmd)
		}
	}
}

// toldByUs are the effects that the engine has sent since begin.
func (p *replicaPair) toldByUs() (effects []string) {
	text, ok := p.node.EffectsSince(p.sent)
	require.True(p.t, ok)
	require.NoError(p.t, p.replica.Apply(text))
	p.sent = p.node.Offset()
	stream := resp.NewCommandReader()
	require.NoError(p.t, stream.Feed(text))
	for {
		cmd, err := stream.Next()
		require.NoError(p.t, err)
		if cmd == nil {
			return effects
		}
		effects = appendEffect(effects, &p.ourDB, cmd)
	}
}

// appendEffect shows a command in the database that the stream has selected.
func appendEffect(effects []string, db *string, cmd [][]byte) []string {
	if is(cmd[0], "SELECT") {
		*db = string(cmd[1])
		return effects
	}
	var b strings.Builder
	b.WriteString("in " + *db + ":")
	for _, word := range cmd {
		b.WriteString(" " + resp.Quote(string(word)))
	}
	return append(effects, b.String())
}
