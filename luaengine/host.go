package luaengine

import (
	"time"

	"minikv/internal/resp"
)

// Handle is a command resolved by name: its index in the process-wide command
// table, so that compiled scripts can be shared by all nodes of one Engine.
type Handle int32

// NoCommand is the handle of a name that is no command.
const NoCommand Handle = -1

// Resolver finds a command by name, in any case. It is called when a script
// with a literal name is compiled, and at each call otherwise.
type Resolver func(name string) Handle

// Host is the node on which a script runs. All calls come from within
// Engine.Run, on its goroutine.
type Host interface {
	// Call runs one command for the script and sets reply to its reply, errors
	// as values of kind resp.Error with their full text ("WRONGTYPE …"). The
	// host checks arity, flags and keys, and tells of NoCommand. args[0] is the name as
	// the script wrote it. args and what they point to are valid only during the call. proto is
	// 2, or 3 after redis.setresp(3). (A Value is seven words: handing it up from
	// call to call is a sixth of the cost of a lock script.)
	Call(cmd Handle, args [][]byte, proto int, reply *resp.Value)

	// Limit is asked after every 4,096 ticks of a script, a tick being a loop
	// turn or a function call. A non-empty text ends the script with that
	// error, the place behind it: scripts that are killed, or over their budget.
	Limit() string

	// Mono is the node's monotonic clock: os.clock.
	Mono() time.Duration

	// State is what the node's scripts leave behind for the next ones. It is
	// the node's alone and lasts until it restarts.
	State() *State

	// Log receives redis.log; level is 0 (debug) to 3 (warning).
	Log(level int, text string)

	// SetRepl receives redis.set_repl; flags are Redis's: AOF 1, REPLICA 2.
	SetRepl(flags int)

	// CheckACL answers redis.acl_check_cmd: whether the user may run a command,
	// and whether there is one of that name.
	CheckACL(args [][]byte) (may, known bool)
}
