package engine

import (
	"fmt"
	"sort"
	"strconv"
	"strings"

	"minikv/internal/resp"
)

// section is one section of INFO.
type section struct {
	name      string // as it is asked for
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
		case is(name, strings.ToUpper(s.name)), is(name, "EVERYTHING"), is(name, "ALL"):
			return true
		case is(name, "DEFAULT"):
			if s.byDefault {
				return true
			}
		}
	}
	return false
}

func line(t *strings.Builder, format string, args ...any) {
	fmt.Fprintf(t, format, args...)
	t.WriteString("\r\n")
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
	line(t, "process_id:%d", n.cfg.ProcessID)
	line(t, "process_supervised:no")
	line(t, "run_id:%s", n.RunID())
	line(t, "tcp_port:%s", n.Parameter("port"))
	line(t, "server_time_usec:%d", now.UnixMicro())
	line(t, "uptime_in_seconds:%d", uptime)
	line(t, "uptime_in_days:%d", uptime/86400)
	line(t, "hz:%s", n.conf.get("hz"))
	line(t, "configured_hz:%s", n.conf.get("hz"))
	line(t, "lru_clock:%d", now.Unix()&(1<<24-1))
	line(t, "executable:%s", n.cfg.Executable)
	line(t, "config_file:%s", n.cfg.ConfigFile)
	line(t, "io_threads_active:0")
}

func (n *Node) infoClients(t *strings.Builder) {
	line(t, "connected_clients:%d", n.sessions.count)
	line(t, "cluster_connections:0")
	line(t, "maxclients:%s", n.conf.get("maxclients"))
	line(t, "client_recent_max_input_buffer:0")
	line(t, "client_recent_max_output_buffer:0")
	line(t, "blocked_clients:%d", n.blocking.count)
	line(t, "tracking_clients:%d", n.tracking.clients)
	line(t, "clients_in_timeout_table:%d", len(n.blocking.timed))
}

// infoMemory leaves out what only an allocator knows.
func (n *Node) infoMemory(t *strings.Builder) {
	used := n.usedMemory()
	peak := n.peakMemory(used)
	line(t, "used_memory:%d", used)
	line(t, "used_memory_human:%s", humanBytes(used))
	line(t, "used_memory_rss:%d", used)
	line(t, "used_memory_rss_human:%s", humanBytes(used))
	line(t, "used_memory_peak:%d", peak)
	line(t, "used_memory_peak_human:%s", humanBytes(peak))
	line(t, "used_memory_peak_perc:%.2f%%", 100*float64(used)/float64(peak))
	line(t, "used_memory_startup:%d", startupMemory)
	line(t, "used_memory_dataset:%d", used-startupMemory)
	line(t, "number_of_cached_scripts:%d", n.scripts.cache.count)
	line(t, "number_of_functions:%d", n.functions.count())
	line(t, "number_of_libraries:%d", len(n.functions.libraries))
	line(t, "maxmemory:%s", n.conf.get("maxmemory"))
	line(t, "maxmemory_human:%s", humanBytes(n.conf.number("maxmemory")))
	line(t, "maxmemory_policy:%s", n.conf.get("maxmemory-policy"))
	line(t, "mem_not_counted_for_evict:0")
	line(t, "mem_replication_backlog:%d", len(n.repl.log))
	line(t, "mem_total_replication_buffers:%d", len(n.repl.log))
	line(t, "mem_clients_slaves:0")
	line(t, "mem_clients_normal:0")
	line(t, "mem_cluster_links:0")
	line(t, "mem_aof_buffer:0")
	line(t, "active_defrag_running:0")
	line(t, "lazyfree_pending_objects:0")
	line(t, "lazyfreed_objects:0")
}

// humanBytes is an amount of memory as INFO shows it to humans.
func humanBytes(n int64) string {
	switch {
	case n < 1<<10:
		return decimal(n) + "B"
	case n < 1<<20:
		return fmt.Sprintf("%.2fK", float64(n)/(1<<10))
	case n < 1<<30:
		return fmt.Sprintf("%.2fM", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.2fG", float64(n)/(1<<30))
}

func (n *Node) infoPersistence(t *strings.Builder) {
	aof := 0
	if n.conf.get("appendonly") == "yes" {
		aof = 1
	}
	line(t, "loading:0")
	line(t, "async_loading:0")
	line(t, "rdb_changes_since_last_save:%d", n.stats.dirty)
	line(t, "rdb_bgsave_in_progress:0")
	line(t, "rdb_last_save_time:%d", n.lastSave())
	line(t, "rdb_last_bgsave_status:ok")
	line(t, "rdb_last_bgsave_time_sec:-1")
	line(t, "rdb_current_bgsave_time_sec:-1")
	line(t, "rdb_saves:%d", n.stats.saves)
	line(t, "aof_enabled:%d", aof)
	line(t, "aof_rewrite_in_progress:0")
	line(t, "aof_rewrite_scheduled:0")
	line(t, "aof_last_rewrite_time_sec:-1")
	line(t, "aof_current_rewrite_time_sec:-1")
	line(t, "aof_last_bgrewrite_status:ok")
	line(t, "aof_rewrites:0")
	line(t, "aof_last_write_status:ok")
	line(t, "module_fork_in_progress:0")
}

func (n *Node) infoStats(t *strings.Builder) {
	line(t, "total_connections_received:%d", n.stats.connections)
	line(t, "total_commands_processed:%d", n.stats.commands)
	line(t, "rejected_connections:0")
	line(t, "sync_full:%d", n.stats.fullSyncs)
	line(t, "sync_partial_ok:%d", n.stats.partSyncs)
	line(t, "sync_partial_err:%d", n.stats.failedSyncs)
	line(t, "expired_keys:%d", n.stats.expired)
	line(t, "evicted_keys:%d", n.stats.evicted)
	line(t, "evicted_clients:0")
	line(t, "keyspace_hits:%d", n.stats.hits)
	line(t, "keyspace_misses:%d", n.stats.misses)
	line(t, "pubsub_channels:%d", len(n.pubsub.channels))
	line(t, "pubsub_patterns:%d", len(n.pubsub.patterns))
	line(t, "pubsubshard_channels:%d", len(n.pubsub.shards))
	line(t, "latest_fork_usec:0")
	line(t, "total_forks:0")
	line(t, "tracking_total_keys:%d", len(n.tracking.keys))
	line(t, "tracking_total_items:%d", n.tracking.items)
	line(t, "tracking_total_prefixes:%d", len(n.tracking.prefixes))
	line(t, "total_error_replies:%d", n.stats.errors)
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
		if one.state == ReplicaOnline {
			lag = n.unixSeconds() - one.ackedAt
		}
		line(t, "slave%d:ip=%s,port=%d,state=%s,offset=%d,lag=%d", i, one.host, one.port, one.state, one.offset, lag)
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
	line(t, "replica_announced:%d", flag(n.conf.get("replica-announced") == "yes"))
}

// infoCPU counts the node's monotonic clock as its only CPU time is unknown.
func (n *Node) infoCPU(t *strings.Builder) {
	for _, name := range []string{"sys", "user", "sys_children", "user_children"} {
		line(t, "used_cpu_%s:0.000000", name)
	}
}

func (n *Node) infoCommandStats(t *strings.Builder) {
	show := func(cmd *Command) {
		if one := n.stats.of(cmd); one.calls+one.rejected > 0 {
			line(t, "cmdstat_%s:calls=%d,usec=%d,usec_per_call=%.2f,rejected_calls=%d,failed_calls=%d",
				cmd.full, one.calls, one.taken.Microseconds(),
				float64(one.taken.Microseconds())/float64(max(one.calls, 1)), one.rejected, one.failed)
		}
	}
	n.eachCommand(show)
}

// eachCommand visits all rows of the command table, subcommands included.
func (n *Node) eachCommand(visit func(cmd *Command)) {
	all := n.commands()
	for i := range all {
		visit(&all[i])
		for j := range all[i].Sub {
			visit(&all[i].Sub[j])
		}
	}
}

func (n *Node) infoLatencyStats(t *strings.Builder) {
	asked := strings.Fields(n.conf.get("latency-tracking-info-percentiles"))
	n.eachCommand(func(cmd *Command) {
		h := &n.stats.of(cmd).times
		if h.total == 0 {
			return
		}
		shown := make([]string, len(asked))
		for i, percent := range asked {
			value, _ := strconv.ParseFloat(percent, 64)
			shown[i] = fmt.Sprintf("p%s=%.3f", percent, float64(h.percentile(value))/1000)
		}
		line(t, "latency_percentiles_usec_%s:%s", cmd.full, strings.Join(shown, ","))
	})
}

func (n *Node) infoErrorStats(t *strings.Builder) {
	codes := make([]string, 0, len(n.stats.perError))
	for code := range n.stats.perError { //tidy:unordered sorted below
		codes = append(codes, code)
	}
	sort.Strings(codes)
	for _, code := range codes {
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
