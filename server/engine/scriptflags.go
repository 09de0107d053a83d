package engine

import "minikv/luaengine"

// scriptFlags are the flags of a command that runs a script or a function, as what
// the script declares of itself makes them; those of any other command are its own.
// Source: evalGetCommandFlags, fcallGetCommandFlags and scriptFlagsToCmdFlags of
// Redis 7.0.
func (c *Call) scriptFlags(flags Flag) Flag {
	header, known := c.declared()
	if !known {
		return flags
	}
	flags &^= Stale | DenyOOM | Write | MayReplicate
	if header.Flags&luaengine.NoWrites == 0 {
		flags |= Write
	}
	if header.Flags&(luaengine.AllowOOM|luaengine.NoWrites) == 0 {
		flags |= DenyOOM
	}
	if header.Flags&luaengine.AllowStale != 0 {
		flags |= Stale
	}
	return flags
}

// declared is what the script of a command says of itself, if there is one that does.
func (c *Call) declared() (header luaengine.Header, known bool) {
	if len(c.Args) < 3 || c.Cmd.Flags&SkipMonitor == 0 { // as all that run scripts have
		return header, false
	}
	switch c.Cmd.Name {
	case "EVAL", "EVAL_RO":
		header = luaengine.ParseHeader(string(c.Args[1]))
	case "EVALSHA", "EVALSHA_RO":
		if script := c.Node.scripts.cache.find(c.Args[1]); script != nil {
			header = script.Header()
		}
	case "FCALL", "FCALL_RO":
		if f := c.Node.functions.member(string(c.Args[1])); f != nil {
			return f.Script.Header(), true
		}
	}
	return header, header.Present
}
