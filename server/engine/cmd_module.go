package engine

import "minikv/internal/resp"

// MODULE and its subcommands, https://redis.io/docs/latest/commands/module-list/
// Modules are C libraries: none is ever loaded.

const moduleLoad = Admin | NoScript | NoAsyncLoading | Protected

var moduleCommands = []Command{
	{Name: "LIST", Arity: 2, Flags: Admin | NoScript, Run: runModuleList},
	{Name: "LOAD", Arity: -3, Flags: moduleLoad, Run: runModuleLoad},
	{Name: "LOADEX", Arity: -3, Flags: moduleLoad, Run: runModuleLoad},
	{Name: "UNLOAD", Arity: 3, Flags: moduleLoad, Run: runModuleUnload},
	help("MODULE", "", moduleHelp),
}

// runModuleList is MODULE LIST.
func runModuleList(*Call) resp.Value { return resp.List() }

// runModuleLoad is MODULE LOAD path [arg ...] or LOADEX path [CONFIG name value ...] [ARGS arg ...].
func runModuleLoad(*Call) resp.Value {
	return resp.Err("ERR Error loading the extension. Please check the server logs.")
}

// runModuleUnload is MODULE UNLOAD name.
func runModuleUnload(*Call) resp.Value {
	return resp.Err("ERR Error unloading module: no such module with that name")
}

// runLolwut is LOLWUT [VERSION version [argument ...]]. It tells the version of the
// server, and does not draw what VERSION 5 and 6 draw.
func runLolwut(c *Call) resp.Value {
	if len(c.Args) > 2 && is(c.Args[1], "VERSION") {
		if _, ok := parseInt(c.Args[2]); !ok {
			return resp.Err(errNotInt)
		}
	}
	return resp.Value{Kind: resp.Verbatim, Str: "Redis ver. " + Version + "\n"}
}
