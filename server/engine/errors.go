package engine

import (
	"bytes"
	"strings"
)

// Error texts of redis-server 7.0.15, byte for byte. Those of one family only
// stand with the family.
const (
	errSyntax       = "ERR syntax error"
	errNotInt       = "ERR value is not an integer or out of range"
	errNotFloat     = "ERR value is not a valid float"
	errWrongType    = "WRONGTYPE Operation against a key holding the wrong kind of value"
	errNoKey        = "ERR no such key"
	errOutOfRange   = "ERR index out of range"
	errNegTimeout   = "ERR timeout is negative"
	errTimeoutInt   = "ERR timeout is not an integer or out of range"
	errTimeoutFloat = "ERR timeout is not a float or out of range"
	errNoAuth       = "NOAUTH Authentication required."
	errReadOnly     = "READONLY You can't write against a read only replica."
	errNoReplicas   = "NOREPLICAS Not enough good replicas to write."
	errMasterDown   = "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'."
	errNoMulti      = "ERR Command not allowed inside a transaction"
	errExecAbort    = "EXECABORT Transaction discarded because of previous errors."
	errClusterOff   = "ERR This instance has cluster support disabled"
	errCrossSlot    = "CROSSSLOT Keys in request don't hash to the same slot"
	errTryAgain     = "TRYAGAIN Multiple keys request during rehashing of slot"
	errClusterDown  = "CLUSTERDOWN The cluster is down"
	errClusterRO    = "CLUSTERDOWN The cluster is down and only accepts read commands"
	errSlotUnbound  = "CLUSTERDOWN Hash slot not served"
	errNoScript     = "NOSCRIPT No matching script. Please use EVAL."
	errNotBusy      = "NOTBUSY No scripts in execution right now."
	errBusy         = "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE."
	errBusyFunction = "BUSY Redis is busy running a script. You can only call FUNCTION KILL or SHUTDOWN NOSAVE."
	errUnkillable   = "UNKILLABLE Sorry the script already executed write commands against the dataset. " +
		"You can either wait the script termination or kill the server in a hard way " +
		"using the SHUTDOWN NOSAVE command."
	errScriptKilled  = "ERR Script killed by user with SCRIPT KILL..."
	errScriptUnknown = "ERR Unknown Redis command called from script"
	errScriptArity   = "ERR Wrong number of args calling Redis command from script"
	errScriptDenied  = "ERR This Redis command is not allowed from script"
	errScriptRO      = "ERR Write commands are not allowed from read-only scripts."
)

// errDenied is the error of DEBUG and MODULE where they are not allowed.
func errDenied(name string) string {
	return "ERR " + strings.ToUpper(name) + " command not allowed. If the enable-" + name + "-command option is set to " +
		"\"local\", you can run it from a local connection, otherwise you need to set this option in the configuration " +
		"file, and then restart the server."
}

// errArity is the error of a wrong number of arguments; name is lower case,
// with its container's and '|' in front.
func errArity(name string) string {
	return "ERR wrong number of arguments for '" + name + "' command"
}

// errUnknown is the error of a name that is no command. Name and arguments are
// shortened to 128 bytes each way, as Redis does.
func errUnknown(args [][]byte) string {
	const limit = 128
	text := []byte("ERR unknown command '")
	text = append(text, clip(args[0], limit)...)
	text = append(text, "', with args beginning with: "...)
	room := limit
	for _, arg := range args[1:] {
		if room <= 0 {
			break
		}
		arg = clip(arg, room)
		text = append(text, '\'')
		text = append(text, arg...)
		text = append(text, "' "...)
		room -= len(arg) + len("'' ")
	}
	return oneLine(text)
}

// errUnknownSub is the error of a name that is no subcommand of container.
func errUnknownSub(container string, sub []byte) string {
	return oneLine([]byte("ERR unknown subcommand '" + string(clip(sub, 128)) + "'. Try " + container + " HELP."))
}

// errSubSyntax is the error of a subcommand that finds its arguments wrong itself.
func errSubSyntax(container string, sub []byte) string {
	return oneLine([]byte("ERR unknown subcommand or wrong number of arguments for '" + string(clip(sub, 128)) +
		"'. Try " + container + " HELP."))
}

// clip returns at most n bytes of arg, ended at a NUL as C does.
func clip(arg []byte, n int) []byte {
	arg, _, _ = bytes.Cut(arg, []byte{0})
	return arg[:min(n, len(arg))]
}

// oneLine makes text fit into an error reply: a line end in it would end the
// reply, and those at its end are dropped.
func oneLine(text []byte) string { return blanked(bytes.TrimRight(text, "\r\n")) }

// blanked is text with a blank for each character of a line end.
func blanked(text []byte) string {
	text = bytes.Clone(text)
	for i, b := range text {
		if b == '\r' || b == '\n' {
			text[i] = ' '
		}
	}
	return string(text)
}
