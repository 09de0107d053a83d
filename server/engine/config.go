package engine

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"minikv/datastore"
	"minikv/internal/resp"
)

// configuration is a node's redis.conf.
type configuration struct {
	changed map[string]string // canonical values that differ from the defaults; nil until used
	numbers map[string]int64  // what Node.Number has read since a parameter was changed; nil until used

	// Derived from the above, because they are read for every command.
	notify         eventClass
	noExpire       bool          // DEBUG SET-ACTIVE-EXPIRE 0
	noCron         bool          // DEBUG PAUSE-CRON 1
	anyChecksum    bool          // DEBUG SET-SKIP-CHECKSUM-VALIDATION 1
	scriptsCallAll bool          // DEBUG SET-DISABLE-DENY-SCRIPTS 1
	maxIdle        time.Duration // timeout; 0: clients may be silent for ever
	writable       bool          // replica-read-only no
	notStale       bool          // replica-serve-stale-data no
	debug          bool          // enable-debug-command yes or local
	minGood        int           // min-replicas-to-write
	backlog        int           // repl-backlog-size, in bytes
	trackedKeys    int           // tracking-table-max-keys; 0: any number
	maxString      int64         // proto-max-bulk-len: bytes
	lazyDel        bool          // DEL counts as UNLINK does
	timesScripts   bool          // what scripts call is timed, since something would be noted
	untimed        bool          // latency-tracking no
	maxMemory      uint64        // maxmemory, in bytes; 0: no limit
	latencyFrom    int64         // latency-monitor-threshold, in milliseconds; 0: nothing is noted
	slowerThan     time.Duration // slowlog-log-slower-than; negative: nothing is logged
	replyPeakReset time.Duration // DEBUG REPLYBUFFER PEAK-RESET-TIME; negative: never
	fixedReplies   bool          // DEBUG REPLYBUFFER RESIZING 0
	hardNormal     int           // client-output-buffer-limit, in bytes: how much may wait for a client; 0: any
	hardPubSub     int           // the same for one that listens
	notedFrom      time.Duration // the shortest command that either of the two before notes
}

// parameterKind is how a parameter's value is written.
type parameterKind uint8

const (
	textParameter   parameterKind = iota
	boolParameter                 // yes or no
	numberParameter               // an integer from low to high
	memoryParameter               // bytes, with an optional unit
	enumParameter                 // one of choices
)

// parameter is one line of redis.conf.
type parameter struct {
	name      string
	def       string
	kind      parameterKind
	immutable bool // CONFIG SET refuses it
	protected bool // so it does unless enable-protected-configs allows it
	low, high int64
	choices   []string
	alias     string // the other name of the same parameter
	hidden    bool   // CONFIG GET shows it by its full name only
	unbounded bool   // of a memoryParameter: up to 2^64-1
	percent   bool   // of a memoryParameter: it may be a percentage
	binary    bool   // of a textParameter: a zero byte does not end it
}

// ValidateParameter checks a redis.conf parameter as redis-server does when it
// starts: an unknown name or a bad value is an error, in Redis's words.
func ValidateParameter(name, value string) error {
	p := findParameter(name)
	if p == nil {
		return fmt.Errorf("Bad directive or wrong number of arguments")
	}
	if _, bad := p.canonical(value); bad != "" {
		return fmt.Errorf("%s", bad)
	}
	return nil
}

// ParameterNames returns the main names of the redis.conf parameters that a node knows,
// in alphabetical order.
func ParameterNames() []string {
	names := make([]string, len(parameters))
	for i := range parameters {
		names[i] = parameters[i].name
	}
	return names
}

// ParameterName returns the main name of a parameter, which may have two; "" if there is
// no such parameter.
func ParameterName(name string) string {
	if p := findParameter(name); p != nil {
		return p.name
	}
	return ""
}

// DefaultParameter returns the value that a parameter has if nothing is configured; "" if
// there is no such parameter.
func DefaultParameter(name string) string {
	if p := findParameter(name); p != nil {
		return p.def
	}
	return ""
}

// Parameter is the value of a redis.conf parameter as CONFIG GET shows it, or
// "" if there is no such parameter.
func (n *Node) Parameter(name string) string {
	p := findParameter(name)
	if p == nil {
		return ""
	}
	_, changed := n.conf.changed[p.name]
	switch {
	case p.name == "replicaof" && n.repl.isReplica():
		return n.repl.masterHost + " " + decimal(int64(n.repl.masterPort))
	case p.name == "port" && !changed:
		return decimal(int64(n.cfg.Port))
	case p.name == "notify-keyspace-events":
		return n.conf.notify.shown()
	}
	return n.conf.get(p.name)
}

// load takes over the parameters a node starts with.
func (conf *configuration) load(values map[string]string) {
	conf.replyPeakReset = replyShrink
	for name, value := range values { //tidy:unordered each parameter is set by itself
		if err := conf.put(name, value); err != nil {
			panic(fmt.Sprintf("engine: parameter %s %q: %v", name, value, err))
		}
	}
	conf.derive()
}

// set changes one parameter, whether or not CONFIG SET may.
func (conf *configuration) set(name, value string) error {
	err := conf.put(name, value)
	if err == nil {
		conf.derive()
	}
	return err
}

// put is set without what follows from it.
func (conf *configuration) put(name, value string) error {
	if err := ValidateParameter(name, value); err != nil {
		return err
	}
	p := findParameter(name)
	text, _ := p.canonical(value)
	if p.name == outputLimits {
		text, _ = MergeOutputLimits(conf.get(p.name), separated(value))
	}
	if conf.changed == nil {
		conf.changed = make(map[string]string)
	}
	conf.changed[p.name] = text
	return nil
}

// applyLimits tells the keyspace up to what sizes values are compact, and
// whether new keys are to be told of, and has it be seen who is silent for too long.
func (n *Node) applyLimits() {
	n.idleAt = 0
	n.keys.Account(n.conf.maxMemory > 0)
	n.keys.CountUses(n.useCounting(), n.nowMillis())
	n.hearOfNew()
	if n.conf.changed == nil {
		return
	}
	limit := func(name string) int { return int(n.conf.number(name)) }
	n.keys.SetLimits(datastore.Limits{
		HashEntries: limit("hash-max-listpack-entries"), HashValue: limit("hash-max-listpack-value"),
		SetEntries:  limit("set-max-intset-entries"),
		ZSetEntries: limit("zset-max-listpack-entries"), ZSetValue: limit("zset-max-listpack-value"),
	})
}

// get is the value of a parameter, by its own name, in the form in which CONFIG
// GET shows it.
func (conf *configuration) get(name string) string {
	if value, ok := conf.changed[name]; ok {
		return value
	}
	return parametersByName[name].def
}

// derive brings the fields for quick reading up to date.
func (conf *configuration) derive() {
	clear(conf.numbers)
	conf.notify, _ = parseEvents(conf.get("notify-keyspace-events"))
	conf.maxIdle = time.Duration(conf.number("timeout")) * time.Second
	conf.writable = !conf.yes("replica-read-only")
	conf.notStale = !conf.yes("replica-serve-stale-data")
	conf.debug = conf.get("enable-debug-command") != "no"
	conf.minGood = int(conf.number("min-replicas-to-write"))
	conf.slowerThan = times(conf.number("slowlog-log-slower-than"), time.Microsecond)
	conf.latencyFrom = conf.number("latency-monitor-threshold")
	conf.maxMemory, _ = strconv.ParseUint(conf.get("maxmemory"), 10, 64)
	conf.untimed = !conf.yes("latency-tracking")
	conf.notedFrom = math.MaxInt64
	if conf.latencyFrom > 0 {
		conf.notedFrom = times(conf.latencyFrom, time.Millisecond)
	}
	if conf.slowerThan >= 0 {
		conf.notedFrom = min(conf.notedFrom, conf.slowerThan)
	}
	limits := strings.Fields(conf.get(outputLimits))
	conf.hardNormal, _ = strconv.Atoi(limits[1]) // the greatest int if it is out of range
	conf.hardPubSub, _ = strconv.Atoi(limits[9])
	conf.maxString = conf.number("proto-max-bulk-len")
	conf.lazyDel = conf.yes("lazyfree-lazy-user-del")
	conf.timesScripts = conf.latencyFrom > 0 || conf.slowerThan >= 0 && conf.slowerThan < time.Millisecond
	conf.trackedKeys = int(conf.number("tracking-table-max-keys"))
	conf.backlog = int(conf.number("repl-backlog-size"))
}

// Number returns the value of an integer parameter, by its main name. The value is
// cached, because timers of nodes ask for it all the time.
func (n *Node) Number(name string) int64 {
	number, known := n.conf.numbers[name]
	if !known {
		if n.conf.numbers == nil {
			n.conf.numbers = map[string]int64{}
		}
		number = n.conf.number(name)
		n.conf.numbers[name] = number
	}
	return number
}

// yes reports whether a parameter of the values yes and no has the first.
func (conf *configuration) yes(name string) bool { return conf.get(name) == "yes" }

func (conf *configuration) number(name string) int64 {
	n, _ := strconv.ParseInt(conf.get(name), 10, 64)
	return n
}

// times is n units, or the longest time if that is beyond it.
func times(n int64, unit time.Duration) time.Duration {
	return time.Duration(min(n, math.MaxInt64/int64(unit))) * unit
}

// findParameter finds a parameter by either of its names, in any case.
func findParameter(name string) *parameter {
	return parametersByName[lowerASCII(name)]
}

// canonical is the value in the form in which CONFIG GET shows it.
func (p *parameter) canonical(value string) (text, bad string) {
	if p.kind != numberParameter && !p.binary {
		value = resp.CString(value)
	}
	switch p.kind {
	case boolParameter:
		value = lowerASCII(value)
		if value != "yes" && value != "no" {
			return "", "argument must be 'yes' or 'no'"
		}
	case numberParameter:
		n, ok := parseInt([]byte(value))
		if !ok {
			return "", "argument couldn't be parsed into an integer"
		}
		return p.within(n)
	case memoryParameter:
		return p.memory(value)
	case enumParameter:
		return p.choose(value)
	case textParameter:
		return p.checkText(value)
	}
	return value, ""
}

func (p *parameter) within(n int64) (text, bad string) {
	if n < p.low || n > p.high {
		return "", fmt.Sprintf("argument must be between %d and %d inclusive", p.low, p.high)
	}
	if p.name == "hz" {
		n = min(max(n, leastHz), mostHz)
	}
	return strconv.FormatInt(n, 10), ""
}

// Calls of Redis's timer in a second: others are accepted and mended.
const leastHz, mostHz = 1, 500

func (p *parameter) choose(value string) (text, bad string) {
	for _, choice := range p.choices {
		if equalFold(choice, value) {
			return choice, ""
		}
	}
	return "", "argument(s) must be one of the following: " + strings.Join(p.choices, ", ")
}

// memory reads an amount of memory, or a percentage of maxmemory where the
// parameter may be one.
// Source: config.c, numericParseString and numericBoundaryCheck of Redis 7.0.
func (p *parameter) memory(value string) (text, bad string) {
	if n, ok := ParseMemory(value); ok {
		if p.unbounded {
			return strconv.FormatUint(n, 10), ""
		}
		if p.percent && int64(n) < 0 { // an amount so great is taken for a percentage
			if int64(n) < -mostPercent {
				return "", errPercent
			}
			return strconv.FormatInt(-int64(n), 10) + "%", ""
		}
		return p.within(int64(n))
	}
	if !p.percent {
		return "", "argument must be a memory value"
	}
	digits, isPercentage := strings.CutSuffix(value, "%")
	n, ok := parseInt([]byte(digits))
	switch {
	case !isPercentage || !ok || n < 0:
		return "", "argument must be a memory or percent value"
	case n > mostPercent:
		return "", errPercent
	case n == 0:
		return "0", ""
	}
	return digits + "%", ""
}

const (
	mostPercent = 100
	errPercent  = "percentage argument must be less or equal to 100"
)

// ParseMemory reads a number of bytes with an optional unit: k, kb, m, mb, g, gb, where
// those with b are powers of 1024. Without digits the number is 0. Digits beyond 64 bits
// give the greatest number; a unit may make the product overflow, which loses its upper
// bits. Source: util.c, memtoull of Redis 7.0.
func ParseMemory(text string) (n uint64, ok bool) {
	const mostDigits = 127
	text = resp.CString(text)
	unit := strings.TrimLeft(text, "0123456789")
	factor, known := memoryUnits[lowerASCII(unit)]
	digits := text[:len(text)-len(unit)]
	if !known || len(digits) > mostDigits {
		return 0, false
	}
	n, _ = strconv.ParseUint(digits, 10, 64) // 0 of nothing, the greatest if it is out of range
	return n * factor, true
}

var memoryUnits = map[string]uint64{
	"": 1, "b": 1, "k": 1e3, "kb": 1 << 10, "m": 1e6, "mb": 1 << 20, "g": 1e9, "gb": 1 << 30,
}

// permits reports whether a parameter of the values no, yes and local permits what
// the client wants.
func (c *Call) permits(name string) bool {
	switch c.Node.conf.get(name) {
	case "yes":
		return true
	case "local":
		return c.Session.isLocal()
	}
	return false
}

// isLocal reports whether the client is on the node's own computer. Whoever comes
// by a Unix socket has no port.
// Source: islocalClient of Redis 7.0.
func (s *Session) isLocal() bool {
	at := strings.LastIndexByte(s.Addr, ':')
	return at < 0 || s.Addr[:at] == "127.0.0.1" || s.Addr[:at] == "[::1]"
}
