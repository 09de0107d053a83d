package engine

import (
	"fmt"
	"strings"
)

// INFO's section on memory. Redis's structures are estimated; of the allocator,
// whose size classes the estimates follow, nothing is lost to fragmentation.

// allocator is that of Debian's redis-server 7.0.15.
const allocator = "jemalloc-5.3.0"

func (n *Node) infoMemory(t *strings.Builder) {
	used := n.usedMemory()
	peak := n.peakMemory(used)
	overhead := n.overhead()
	amount(t, "used_memory", used)
	amount(t, "used_memory_rss", used)
	amount(t, "used_memory_peak", peak)
	line(t, "used_memory_peak_perc:%.2f%%", 100*float64(used)/float64(peak))
	line(t, "used_memory_overhead:%d", overhead)
	line(t, "used_memory_startup:%d", n.startup())
	line(t, "used_memory_dataset:%d", used-overhead)
	line(t, "used_memory_dataset_perc:%.2f%%", 100*float64(used-overhead)/float64(max(used-n.startup(), 1)))
	for _, name := range []string{"allocated", "active", "resident"} {
		line(t, "allocator_%s:%d", name, used)
	}
	amount(t, "total_system_memory", n.cfg.SystemMemory)
	n.infoScriptMemory(t)
	line(t, "maxmemory:%s", n.conf.get("maxmemory"))
	line(t, "maxmemory_human:%s", humanBytes(n.conf.number("maxmemory")))
	line(t, "maxmemory_policy:%s", n.conf.get("maxmemory-policy"))
	for _, name := range []string{"allocator_frag", "allocator_rss", "rss_overhead", "mem_fragmentation"} {
		line(t, "%s_ratio:1.00", name)
		line(t, "%s_bytes:0", name)
	}
	line(t, "mem_not_counted_for_evict:0")
	line(t, "mem_replication_backlog:%d", len(n.repl.log))
	line(t, "mem_total_replication_buffers:%d", len(n.repl.log))
	line(t, "mem_clients_slaves:0")
	line(t, "mem_clients_normal:%d", n.clientMemory())
	line(t, "mem_cluster_links:0")
	line(t, "mem_aof_buffer:0")
	line(t, "mem_allocator:%s", allocator)
	line(t, "active_defrag_running:0")
	line(t, "lazyfree_pending_objects:0")
	line(t, "lazyfreed_objects:%d", n.stats.lazyFreed)
}

// infoScriptMemory is what redis-server's two interpreters use before any script
// has run; the texts of scripts are counted.
func (n *Node) infoScriptMemory(t *strings.Builder) {
	const evalVM, functionVM, libraries = 32768, 33792, 200
	scripts := n.scripts.cache.size
	line(t, "used_memory_lua:%d", evalVM)
	line(t, "used_memory_vm_eval:%d", evalVM)
	line(t, "used_memory_lua_human:%s", humanBytes(evalVM))
	line(t, "used_memory_scripts_eval:%d", scripts)
	line(t, "number_of_cached_scripts:%d", n.scripts.cache.count)
	line(t, "number_of_functions:%d", n.functions.count())
	line(t, "number_of_libraries:%d", len(n.functions.libraries))
	line(t, "used_memory_vm_functions:%d", functionVM)
	amount(t, "used_memory_vm_total", evalVM+functionVM)
	line(t, "used_memory_functions:%d", libraries)
	amount(t, "used_memory_scripts", scripts+libraries)
}

// amount writes so many bytes as they are, and as they are shown to humans.
func amount(t *strings.Builder, name string, bytes int64) {
	line(t, "%s:%d", name, bytes)
	line(t, "%s_human:%s", name, humanBytes(bytes))
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
