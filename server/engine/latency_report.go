package engine

import (
	"fmt"
	"strings"

	"minikv/internal/resp"
)

// runLatencyDoctor is LATENCY DOCTOR: what the events of this node tell, in the
// words of Redis. Only commands and the removal of expired keys take time here.
// Source: latency.c, createLatencyReport of Redis 7.0.
func runLatencyDoctor(c *Call) resp.Value {
	return resp.Value{Kind: resp.Verbatim, Str: c.Node.latencyReport()}
}

func (n *Node) latencyReport() string {
	if len(n.latency) == 0 {
		if n.conf.latencyFrom == 0 {
			return doctorDisabled
		}
		return doctorNothing
	}
	text := &strings.Builder{}
	text.WriteString(doctorGreeting)
	seen := map[string]bool{}
	for i := range n.latency {
		event := &n.latency[i]
		seen[event.name] = true
		n.describeEvent(text, i+1, event)
	}
	text.WriteString("\nI have a few advices for you:\n\n")
	slower := n.conf.number("slowlog-log-slower-than")
	switch micros := n.conf.latencyFrom * 1000; {
	case !seen["command"]:
	case slower < 0:
		fmt.Fprintf(text, doctorEnableSlowlog, micros)
	case slower/1000 > n.conf.latencyFrom:
		fmt.Fprintf(text, doctorTuneSlowlog, micros)
	}
	if seen["command"] {
		text.WriteString(doctorReadSlowlog)
	}
	if seen["fast-command"] {
		text.WriteString(doctorScheduler)
	}
	if seen["expire-cycle"] && n.conf.number("hz") < 100 {
		text.WriteString(doctorHz)
	}
	if seen["command"] || seen["expire-cycle"] {
		text.WriteString(doctorLargeObjects)
	}
	return text.String()
}

// describeEvent writes the statistics of one event.
func (n *Node) describeEvent(text *strings.Builder, number int, event *latencyEvent) {
	count := int64(len(event.samples))
	sum, deviation := int64(0), int64(0)
	for _, sample := range event.samples {
		sum += sample.millis
	}
	average := sum / count
	for _, sample := range event.samples {
		deviation += max(sample.millis-average, average-sample.millis)
	}
	period := max(n.unixSeconds()-event.samples[0].unixTime, 1)
	fmt.Fprintf(text, "%d. %s: %d latency spikes (average %dms, mean deviation %dms, period %.2f sec). "+
		"Worst all time event %dms.\n", number, event.name, count, average, deviation/count,
		float64(period)/float64(count), event.highest)
}

// What the doctor says.
const (
	doctorDisabled = "I'm sorry, Dave, I can't do that. Latency monitoring is disabled in this Redis instance. You " +
		"may use \"CONFIG SET latency-monitor-threshold <milliseconds>.\" in order to enable it. If we " +
		"weren't in a deep space mission I'd suggest to take a look at " +
		"https://redis.io/topics/latency-monitor.\n"
	doctorNothing = "Dave, no latency spike was observed during the lifetime of this Redis instance, not in the " +
		"slightest bit. I honestly think you ought to sit down calmly, take a stress pill, and think " +
		"things over.\n"
	doctorGreeting = "Dave, I have observed latency spikes in this Redis instance. You don't mind talking about it, " +
		"do you Dave?\n\n"
	doctorEnableSlowlog = "- There are latency issues with potentially slow commands you are using. Try to enable the " +
		"Slow Log Redis feature using the command 'CONFIG SET slowlog-log-slower-than %d'. If the Slow " +
		"log is disabled Redis is not able to log slow commands execution for you.\n"
	doctorTuneSlowlog = "- Your current Slow Log configuration only logs events that are slower than your configured " +
		"latency monitor threshold. Please use 'CONFIG SET slowlog-log-slower-than %d'.\n"
	doctorReadSlowlog = "- Check your Slow Log to understand what are the commands you are running which are too slow " +
		"to execute. Please check https://redis.io/commands/slowlog for more information.\n"
	doctorScheduler = "- The system is slow to execute Redis code paths not containing system calls. This usually " +
		"means the system does not provide Redis CPU time to run for long periods. You should try to:\n " +
		" 1) Lower the system load.\n  2) Use a computer / VM just for Redis if you are running other " +
		"software in the same system.\n  3) Check if you have a \"noisy neighbour\" problem.\n  4) " +
		"Check with 'redis-cli --intrinsic-latency 100' what is the intrinsic latency in your system.\n " +
		" 5) Check if the problem is allocator-related by recompiling Redis with MALLOC=libc, if you " +
		"are using Jemalloc. However this may create fragmentation problems.\n"
	doctorHz = "- In order to make the Redis keys expiring process more incremental, try to set the 'hz' " +
		"configuration parameter to 100 using 'CONFIG SET hz 100'.\n"
	doctorLargeObjects = "- Deleting, expiring or evicting (because of maxmemory policy) large objects is a blocking " +
		"operation. If you have very large objects that are often deleted, expired, or evicted, try to " +
		"fragment those objects into multiple smaller objects.\n"
)
