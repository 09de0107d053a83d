package luaengine

import (
	"time"

	"minikv/internal/resp"
)

// Handle is a command resolved by name: its index in the process-wide command table. So
// all nodes of one Engine can share compiled scripts.
type Handle int32

// NoCommand is the handle of an unknown name.
const NoCommand Handle = -1

// Resolver finds a command by name, in any case. It is called when a script that has the
// name as a literal is compiled, and otherwise at each call.
type Resolver func(name string) Handle

// Host is the node on which a script runs. All calls come from within Engine.Run, on its
// goroutine.
type Host interface {
	// Call runs one command for the script and sets reply to its reply; an error is a value
	// of kind resp.Error with its full text ("WRONGTYPE …"). The host checks arity, flags
	// and keys, and replies the error for NoCommand. args[0] is the name as the script wrote
	// it. args and what they point to are valid only during the call. proto is 2, or 3 after
	// redis.setresp(3).
	//
	// reply is a pointer because a Value is seven words: handing it up from call to call is
	// a sixth of the cost of a lock script.
	Call(cmd Handle, args [][]byte, proto int, reply *resp.Value)

	// Limit is called after every ticksPerCheck ticks of a script; a tick is a turn of a loop
	// or a call of a function, and long strings count as some. A non-empty text ends the
	// script with that error, to which the place in the script is appended. It ends scripts
	// that are killed or over their budget.
	Limit() string

	// Mono returns the node's monotonic clock, for os.clock.
	Mono() time.Duration

	// State returns what the node's scripts leave behind for later ones. It is the node's
	// alone and lasts until the node restarts.
	State() *State

	// Log receives redis.log; level is 0 (debug) to 3 (warning).
	Log(level int, text string)

	// SetRepl receives redis.set_repl; flags are Redis's: AOF 1, REPLICA 2.
	SetRepl(flags int)

	// CheckACL answers redis.acl_check_cmd: whether the user may run a command, and whether
	// there is a command of that name.
	CheckACL(args [][]byte) (may, known bool)
}
