package engine

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"minikv/internal/resp"
)

// section is one section of INFO.
type section struct {
	name      string // as it is asked for, in any case
	byDefault bool   // shown without arguments
	write     func(n *Node, t *strings.Builder)
}

// sections are those of 7.0.15 in its order.
var sections = []section{
	{"Server", true, (*Node).infoServer},
	{"Clients", true, (*Node).infoClients},
	{"Memory", true, (*Node).infoMemory},
	{"Persistence", true, (*Node).infoPersistence},
	{"Stats", true, (*Node).infoStats},
	{"Replication", true, (*Node).infoReplication},
	{"CPU", true, (*Node).infoCPU},
	{"Modules", true, func(*Node, *strings.Builder) {}},
	{"Commandstats", false, (*Node).infoCommandStats},
	{"Errorstats", true, (*Node).infoErrorStats},
	{"Latencystats", false, (*Node).infoLatencyStats},
	{"Cluster", true, (*Node).infoCluster},
	{"Keyspace", true, (*Node).infoKeyspace},
}

// runInfo is INFO [section ...]: default, all, everything, or names.
func runInfo(c *Call) resp.Value {
	text := &strings.Builder{}
	text.Grow(1 << 10) // holds most sections
	for i := range sections {
		c.infoSection(text, &sections[i])
	}
	return resp.Value{Kind: resp.Verbatim, Str: text.String()}
}

// infoSection writes one section, if it is wanted.
func (c *Call) infoSection(text *strings.Builder, one *section) {
	if !one.wanted(c.Args[1:]) {
		return
	}
	if text.Len() > 0 {
		text.WriteString("\r\n")
	}
	text.WriteString("# " + one.name + "\r\n")
	one.write(c.Node, text)
}

func (s *section) wanted(asked [][]byte) bool {
	if len(asked) == 0 {
		return s.byDefault
	}
	for _, name := range asked {
		switch {
		case len(name) == len(s.name) && strings.EqualFold(string(name), s.name), is(name, "EVERYTHING"), is(name, "ALL"):
			return true
		case is(name, "DEFAULT"):
			if s.byDefault {
				return true
			}
		}
	}
	return false
}

// line writes a line as fmt has it, of whose verbs %s and %d need not go by
// reflection: lock clients ask for the replication section at each acquisition.
func line(t *strings.Builder, format string, args ...any) {
	for len(args) > 0 {
		text, verb, _ := strings.Cut(format, "%")
		t.WriteString(text)
		switch arg := args[0].(type) {
		case string:
			t.WriteString(arg)
		case int:
			writeInt(t, int64(arg))
		case int64:
			writeInt(t, arg)
		default:
			fmt.Fprintf(t, "%"+verb, args...)
			t.WriteString("\r\n")
			return
		}
		format, args = verb[1:], args[1:]
	}
	t.WriteString(format)
	t.WriteString("\r\n")
}

func writeInt(t *strings.Builder, n int64) {
	var digits [20]byte
	t.Write(strconv.AppendInt(digits[:0], n, 10))
}

// clientPort is the port to which clients come: that of TLS if it is the only one.
func (n *Node) clientPort() string {
	if port := n.Parameter("port"); port != "0" {
		return port
	}
	return n.Parameter("tls-port")
}

func (n *Node) infoServer(t *strings.Builder) {
	uptime := n.seconds()
	now := n.cfg.Clock.Wall()
	line(t, "redis_version:%s", Version)
	line(t, "redis_git_sha1:00000000")
	line(t, "redis_git_dirty:0")
	line(t, "redis_build_id:0")
	line(t, "redis_mode:%s", n.modeName())
	line(t, "os:%s", n.cfg.OS)
	line(t, "arch_bits:64")
	line(t, "monotonic_clock:POSIX clock_gettime")
	line(t, "multiplexing_api:epoll")
	line(t, "atomicvar_api:c11-builtin")
	line(t, "gcc_version:0.0.0")
	line(t, "process_id:%d", n.cfg.ProcessID)
	line(t, "process_supervised:no")
	line(t, "run_id:%s", n.RunID())
	line(t, "tcp_port:%s", n.clientPort())
	line(t, "server_time_usec:%d", now.UnixMicro())
	line(t, "uptime_in_seconds:%d", uptime)
	line(t, "uptime_in_days:%d", uptime/86400)
	line(t, "hz:%s", n.conf.get("hz"))
	line(t, "configured_hz:%s", n.conf.get("hz"))
	line(t, "lru_clock:%d", now.Unix()&(1<<24-1))
	line(t, "executable:%s", n.cfg.Executable)
	line(t, "config_file:%s", n.cfg.ConfigFile)
	line(t, "io_threads_active:0")
	if n.ending.request != nil {
		line(t, "shutdown_in_milliseconds:%d", n.ending.until-n.nowMillis())
	}
}

func (n *Node) infoClients(t *strings.Builder) {
	line(t, "connected_clients:%d", n.sessions.count-len(n.repl.replicas))
	line(t, "cluster_connections:%d", n.clusterConnections())
	line(t, "maxclients:%s", n.conf.get("maxclients"))
	line(t, "client_recent_max_input_buffer:%d", n.largestQuery())
	line(t, "client_recent_max_output_buffer:0")
	line(t, "blocked_clients:%d", n.blocking.count)
	line(t, "tracking_clients:%d", n.tracking.clients)
	line(t, "clients_in_timeout_table:%d", len(n.blocking.timed))
}

func (n *Node) infoReplication(t *strings.Builder) {
	r := &n.repl
	if r.isReplica() {
		n.infoReplica(t)
	} else {
		line(t, "role:master")
	}
	line(t, "connected_slaves:%d", len(r.replicas))
	if n.conf.minGood > 0 && n.conf.number("min-replicas-max-lag") > 0 {
		line(t, "min_slaves_good_slaves:%d", n.goodReplicas())
	}
	for i := range r.replicas {
		one := &r.replicas[i]
		lag := int64(0)
		if one.State == ReplicaOnline {
			lag = n.unixSeconds() - one.AckedAt
		}
		line(t, "slave%d:ip=%s,port=%d,state=%s,offset=%d,lag=%d", i, one.Host, one.Port, one.State, one.Offset, lag)
	}
	histlen := len(r.log)
	first := int64(0)
	if r.logging {
		first = r.first + 1
	}
	failover := r.failover
	if failover == "" {
		failover = "no-failover"
	}
	line(t, "master_failover_state:%s", failover)
	line(t, "master_replid:%s", n.ReplicationID())
	oldID, oldEnd := strings.Repeat("0", 40), int64(-1)
	if r.oldID != "" {
		oldID, oldEnd = r.oldID, r.oldEnd+1
	}
	line(t, "master_replid2:%s", oldID)
	line(t, "master_repl_offset:%d", r.offset)
	line(t, "second_repl_offset:%d", oldEnd)
	line(t, "repl_backlog_active:%d", flag(r.logging))
	line(t, "repl_backlog_size:%d", n.conf.backlog)
	line(t, "repl_backlog_first_byte_offset:%d", first)
	line(t, "repl_backlog_histlen:%d", histlen)
}

// infoReplica is what a replica says of its link.
func (n *Node) infoReplica(t *strings.Builder) {
	r := &n.repl
	link, heard, offset := "down", int64(-1), r.offset
	if r.link == LinkConnected {
		link, heard = "up", n.unixSeconds()-r.heardAt
	}
	if r.unsynced {
		offset = 1
	}
	line(t, "role:slave")
	line(t, "master_host:%s", r.masterHost)
	line(t, "master_port:%d", r.masterPort)
	line(t, "master_link_status:%s", link)
	line(t, "master_last_io_seconds_ago:%d", heard)
	line(t, "master_sync_in_progress:%d", flag(r.link == LinkSync))
	line(t, "slave_read_repl_offset:%d", offset)
	line(t, "slave_repl_offset:%d", offset)
	if r.link == LinkSync {
		line(t, "master_sync_total_bytes:0")
		line(t, "master_sync_read_bytes:0")
		line(t, "master_sync_left_bytes:0")
		line(t, "master_sync_perc:0.00")
		line(t, "master_sync_last_io_seconds_ago:%d", n.unixSeconds()-r.heardAt)
	}
	if r.link != LinkConnected {
		down := int64(-1)
		if r.downSince != 0 {
			down = n.unixSeconds() - r.downSince
		}
		line(t, "master_link_down_since_seconds:%d", down)
	}
	line(t, "slave_priority:%s", n.conf.get("replica-priority"))
	line(t, "slave_read_only:%d", flag(!n.conf.writable))
	line(t, "replica_announced:%d", flag(n.conf.yes("replica-announced")))
}

// infoCPU knows no processor time: a node has none of its own.
func (n *Node) infoCPU(t *strings.Builder) {
	for _, name := range []string{"sys", "user", "sys_children", "user_children", "sys_main_thread", "user_main_thread"} {
		line(t, "used_cpu_%s:0.000000", name)
	}
}

func (n *Node) infoCommandStats(t *strings.Builder) {
	for cmd := range eachRow(n.commands()) {
		if one := n.stats.of(cmd); one.calls+one.rejected+one.failed > 0 {
			line(t, "cmdstat_%s:calls=%d,usec=%d,usec_per_call=%.2f,rejected_calls=%d,failed_calls=%d",
				cmd.full, one.calls, one.taken.Microseconds(),
				float64(one.taken.Microseconds())/float64(max(one.calls, 1)), one.rejected, one.failed)
		}
	}
}

func (n *Node) infoLatencyStats(t *strings.Builder) {
	asked := strings.Fields(n.conf.get("latency-tracking-info-percentiles"))
	for cmd := range eachRow(n.commands()) {
		h := &n.stats.of(cmd).times
		if h.total == 0 {
			continue
		}
		shown := make([]string, len(asked))
		for i, percent := range asked {
			value, _ := strconv.ParseFloat(percent, 64)
			shown[i] = fmt.Sprintf("p%s=%.3f", percent, float64(h.percentile(value))/1000)
		}
		line(t, "latency_percentiles_usec_%s:%s", cmd.full, strings.Join(shown, ","))
	}
}

func (n *Node) infoErrorStats(t *strings.Builder) {
	for _, code := range slices.Sorted(maps.Keys(n.stats.perError)) {
		line(t, "errorstat_%s:count=%d", code, n.stats.perError[code])
	}
}

func (n *Node) infoCluster(t *strings.Builder) {
	line(t, "cluster_enabled:%d", flag(n.cfg.Topology != nil))
}

func (n *Node) infoKeyspace(t *strings.Builder) {
	for i := 0; i < n.keys.Databases(); i++ {
		db := n.keys.DB(i)
		if db.Len() == 0 {
			continue
		}
		expires, averageTTL := db.Expiring(n.nowMillis())
		line(t, "db%d:keys=%d,expires=%d,avg_ttl=%d", i, db.Len(), expires, averageTTL)
	}
}

func flag(set bool) int {
	if set {
		return 1
	}
	return 0
}
