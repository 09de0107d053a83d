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
	MovableKeys // where keys stand depends on the arguments; rows of the table get it from their key specifications
	NoMandatoryKeys
	Protected // refused unless the configuration allows it: DEBUG, MODULE LOAD
)

// Command is one row of the command table. The fields that every call needs come first.
// What a row leaves out is filled in when the table is prepared.
type Command struct {
	Run     func(c *Call) resp.Value
	Fill    func(c *Call, reply *resp.Value) // instead of Run: sets the reply, which costs less
	Sub     []Command                        // subcommands of a container command; their names without the container's
	Arity   int                              // as Redis counts: including the name; negative: at least so many
	row     int                              // its number among all commands and subcommands
	Flags   Flag
	lookups lookups // made by lookupsOf

	script    bool // EVAL and its relatives
	plain     bool // scripts may call it, and it touches nothing but keys and channels
	anyKeys   bool // it may remove any key that has expired: SCAN
	uncounted bool // it counts its keys itself, or not at all: OBJECT

	letters uint64 // of its name, for isCalled; 0 for a subcommand

	Name   string // upper case
	full   string // lower case, with its container's name and '|' in front
	Groups string // ACL categories that do not follow from the flags, space-separated, without '@'
	groups commandGroups
	specs  []keySpec // where its keys stand, and what it does with them

	firstKey, lastKey, keyStep int // what they say of keys in fixed places; firstKey 0: of none
	keyCount                   int // where one says how many keys follow; 0: nowhere
}

// Call is one execution of a command. Handlers parse, check, apply and return their
// reply. Args are read-only and valid only during the call; the datastore clones what it
// keeps.
type Call struct {
	Node    *Node
	Session *Session // whose command it is; of a script, the session that runs it
	Cmd     *Command
	Args    [][]byte      // Args[0] is the name as sent
	DB      *datastore.DB // the session's selected database
	Proto   int           // 2 or 3: the form the reply will take
	Ready   []byte        // with Again: the key, which has the kind that was waited for

	reply   resp.Value // of a client's command
	changes int        // counted by Changed

	// These fields, and those below that are not exported, stand together as they are cleared together.
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

// administering is the flags of most commands that are an administrator's.
const administering = Admin | NoScript | Loading | Stale

// container is the lower-case name of the command, or of that whose subcommand it is.
func (cmd *Command) container() string {
	name, _, _ := strings.Cut(cmd.full, "|")
	return name
}
