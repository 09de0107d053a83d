// Package luaengine is the Redis 7.0 script environment on gopher-lua.
//
// An [Engine] owns the Lua states and the compiled scripts of one shell or
// search worker, and is handed to all of its nodes; it is not safe for
// concurrent use. A script reaches its node through [Host].
//
// A script's text is compiled once per SHA1:
//
//   - A recogniser of Lua 5.1's grammar (grammar.go) reads it first, because
//     gopher-lua accepts texts that are not Lua 5.1, and says less about what
//     is wrong with a text.
//   - gopher-lua parses it.
//   - The mending pass, which runs on every chunk, counts ticks, coerces the
//     bounds of numeric for loops as Lua 5.1 does, and adds the names that
//     error texts need.
//   - The fast pass is an optimisation that no script can see: redis.call with
//     a literal name becomes a call of a resolved function, literal KEYS[n] and
//     ARGV[n] become parameters.
//   - gopher-lua compiles the result.
//
// Source: Redis 7.0.15, eval.c, script.c, script_lua.c.
package luaengine
