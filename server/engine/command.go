package engine

import (
	"strings"

	"minikv/datastore"
	"minikv/internal/resp"
	"minikv/internal/slot"
)

// Flag is a property of a command, as COMMAND INFO names it.
type Flag uint32

// The flags of Redis 7.0.
const (
	Write Flag = 1 << iota
	ReadOnly
	DenyOOM
	Admin
	PubSub
	NoScript
	Blocking
	Loading
	Stale
	SkipMonitor
	SkipSlowlog
	Asking
	Fast
	NoAuth
	MayReplicate
	NoAsyncLoading
	NoMulti
	AllowBusy
	MovableKeys
	NoMandatoryKeys
	Protected // refused unless the configuration allows it: DEBUG, MODULE LOAD
)

// Command is one row of the command table. What every call needs stands
// together at its beginning.
type Command struct {
	Run     func(c *Call) resp.Value
	Fill    func(c *Call, reply *resp.Value) // instead of Run: sets the reply, which costs less
	Sub     []Command                        // subcommands of a container command; their names without the container's
	Arity   int                              // as Redis counts: the name included; negative: at least
	row     int                              // its number among all commands and subcommands
	Flags   Flag
	lookups lookups // made by lookupsOf

	script    bool // EVAL and its relatives
	plain     bool // scripts may call it, and it touches nothing but keys and channels; made by prepare
	anyKeys   bool // it may remove any key that has expired: SCAN
	uncounted bool // it counts its keys itself, or not at all: OBJECT

	letters uint64 // of its name, for isCalled; 0 for a subcommand

	Name   string // upper case
	full   string // lower case, with its container's name and '|' in front
	Keys   Keys
	specs  []keySpec
	Groups string // ACL categories as COMMAND INFO lists them, space-separated, without '@'
}

// Keys says where a command's keys stand. With a Find function the positions
// depend on the arguments; First, Last and Step are then what COMMAND INFO
// shows.
type Keys struct {
	First, Last, Step int // positions in the command, the name being 0; Last may be negative: from the end
	Find              func(args [][]byte) (keys [][]byte, ok bool)
}

// Call is one execution of a command. Handlers parse, check, apply and return
// their reply. Args are read-only and valid only during the call; the
// datastore clones what it keeps.
type Call struct {
	Node    *Node
	Session *Session // whose command it is; for a script, the session that runs it
	Cmd     *Command
	Args    [][]byte      // Args[0] is the name as sent
	DB      *datastore.DB // the session's selected database
	Proto   int           // 2 or 3: the form the reply will take
	Ready   []byte        // with Again: that key, which has the kind that was waited for

	reply   resp.Value // of a client's command
	changes int        // counted by Changed

	// These eight stand together, as they are cleared together.
	Script     bool // called by a script
	InTx       bool // called by EXEC, or by a script that EXEC called
	Again      bool // the session was blocked in this command, and a key of it has changed
	replicated bool // Replicate has replaced the command
	forced     bool // propagate although nothing has changed
	plain      bool // it runs a script, and took the shortest way
	quiet      bool // nobody takes note of a change but the counters
	counted    counting
}

// counting is what is not counted of a call that fails.
type counting uint8

const (
	errorCounted   counting = iota + 1 // the error: it is already, by the script's call that failed
	failureIgnored                     // anything
)

// NowMillis is the node's wall clock in Unix milliseconds, read now.
func (c *Call) NowMillis() int64 { return c.Node.nowMillis() }

// slotOf is the slot of the command's first key, or -1.
func slotOf(keys [][]byte) int {
	if len(keys) == 0 {
		return -1
	}
	return slot.Of(keys[0])
}

// oneKey is a single key at position first.
func oneKey(first int) Keys { return Keys{First: first, Last: first, Step: 1} }

// keyRange is keys from position first to last (negative: from the end), every step.
func keyRange(first, last, step int) Keys { return Keys{First: first, Last: last, Step: step} }

// container is the lower-case name of the command, or of that whose subcommand it is.
func (cmd *Command) container() string {
	name, _, _ := strings.Cut(cmd.full, "|")
	return name
}
