// Package luaengine is the Redis 7.0 script environment on gopher-lua.
//
// An [Engine] owns the Lua states and the compiled scripts of one shell or
// search worker, and is handed to all of its nodes; it is not safe for
// concurrent use. A script reaches its node through [Host].
//
// A script's text is read once per SHA1 by a recogniser of Lua 5.1's grammar
// (grammar.go), as gopher-lua takes more for Lua and knows less of what is wrong.
// It is then parsed by gopher-lua and rewritten in two passes before that
// compiles it. The mending pass runs on every chunk: it counts ticks, coerces
// the bounds of numeric for loops as Lua 5.1 does, and knows the names that
// error texts need. The fast pass is an optimisation that no script can see:
// redis.call with a literal name becomes a call of a resolved function, literal
// KEYS[n] and ARGV[n] become parameters.
//
// Source: Redis 7.0.15, eval.c, script.c, script_lua.c.
package luaengine
