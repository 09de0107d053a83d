package engine

import "strings"

// INFO's sections on files and on what was counted.

func (n *Node) infoPersistence(t *strings.Builder) {
	lastSave, lastRewrite := -1, -1
	if n.stats.saves > 0 {
		lastSave = 0
	}
	if n.stats.rewrites > 0 {
		lastRewrite = 0
	}
	line(t, "loading:0")
	line(t, "async_loading:0")
	line(t, "current_cow_peak:0")
	line(t, "current_cow_size:0")
	line(t, "current_cow_size_age:0")
	line(t, "current_fork_perc:0.00")
	line(t, "current_save_keys_processed:0")
	line(t, "current_save_keys_total:0")
	line(t, "rdb_changes_since_last_save:%d", n.stats.dirty)
	line(t, "rdb_bgsave_in_progress:0")
	line(t, "rdb_last_save_time:%d", n.lastSave())
	line(t, "rdb_last_bgsave_status:ok")
	line(t, "rdb_last_bgsave_time_sec:%d", lastSave)
	line(t, "rdb_current_bgsave_time_sec:-1")
	line(t, "rdb_saves:%d", n.stats.saves)
	line(t, "rdb_last_cow_size:0")
	line(t, "rdb_last_load_keys_expired:0")
	line(t, "rdb_last_load_keys_loaded:0")
	line(t, "aof_enabled:%d", flag(n.conf.yes("appendonly")))
	line(t, "aof_rewrite_in_progress:0")
	line(t, "aof_rewrite_scheduled:0")
	line(t, "aof_last_rewrite_time_sec:%d", lastRewrite)
	line(t, "aof_current_rewrite_time_sec:-1")
	line(t, "aof_last_bgrewrite_status:ok")
	line(t, "aof_rewrites:%d", n.stats.rewrites)
	line(t, "aof_rewrites_consecutive_failures:0")
	line(t, "aof_last_write_status:ok")
	line(t, "aof_last_cow_size:0")
	line(t, "module_fork_in_progress:0")
	line(t, "module_fork_last_cow_size:0")
}

func (n *Node) infoStats(t *strings.Builder) {
	s := &n.stats
	n.infoTraffic(t)
	line(t, "rejected_connections:%d", s.refused)
	line(t, "sync_full:%d", s.fullSyncs)
	line(t, "sync_partial_ok:%d", s.partSyncs)
	line(t, "sync_partial_err:%d", s.failedSyncs)
	line(t, "expired_keys:%d", s.expired)
	line(t, "expired_stale_perc:0.00")
	line(t, "expired_time_cap_reached_count:0")
	line(t, "expire_cycle_cpu_milliseconds:%d", s.expiring.Milliseconds())
	line(t, "evicted_keys:%d", s.evicted)
	line(t, "evicted_clients:0")
	line(t, "total_eviction_exceeded_time:0")
	line(t, "current_eviction_exceeded_time:0")
	line(t, "keyspace_hits:%d", s.hits)
	line(t, "keyspace_misses:%d", s.misses)
	line(t, "pubsub_channels:%d", len(n.pubsub.channels))
	line(t, "pubsub_patterns:%d", len(n.pubsub.patterns))
	line(t, "pubsubshard_channels:%d", len(n.pubsub.shards))
	line(t, "latest_fork_usec:0")
	line(t, "total_forks:%d", s.forks)
	line(t, "migrate_cached_sockets:0")
	line(t, "slave_expires_tracked_keys:0")
	for _, name := range []string{"hits", "misses", "key_hits", "key_misses"} {
		line(t, "active_defrag_%s:0", name)
	}
	line(t, "total_active_defrag_time:0")
	line(t, "current_active_defrag_time:0")
	line(t, "tracking_total_keys:%d", len(n.tracking.keys))
	line(t, "tracking_total_items:%d", n.tracking.items)
	line(t, "tracking_total_prefixes:%d", len(n.tracking.prefixes))
	line(t, "unexpected_error_replies:%d", s.unexpected)
	line(t, "total_error_replies:%d", s.errors)
	line(t, "dump_payload_sanitizations:0")
	line(t, "total_reads_processed:%d", s.reads)
	line(t, "total_writes_processed:%d", s.writes)
	line(t, "io_threaded_reads_processed:0")
	line(t, "io_threaded_writes_processed:0")
	line(t, "reply_buffer_shrinks:0")
	line(t, "reply_buffer_expands:0")
}

// infoTraffic is the beginning of the section on what was counted.
func (n *Node) infoTraffic(t *strings.Builder) {
	s := &n.stats
	n.sampleRates()
	rates := s.rates.perSecond()
	line(t, "total_connections_received:%d", s.connections)
	line(t, "total_commands_processed:%d", s.commands)
	line(t, "instantaneous_ops_per_sec:%d", rates[0])
	line(t, "total_net_input_bytes:%d", s.netIn)
	line(t, "total_net_output_bytes:%d", s.netOut)
	line(t, "total_net_repl_input_bytes:0")
	line(t, "total_net_repl_output_bytes:0")
	line(t, "instantaneous_input_kbps:%.2f", float64(rates[1])/1024)
	line(t, "instantaneous_output_kbps:%.2f", float64(rates[2])/1024)
	line(t, "instantaneous_input_repl_kbps:0.00")
	line(t, "instantaneous_output_repl_kbps:0.00")
}
