package engine

import (
	"encoding/binary"
	"iter"
	"strings"

	"minikv/internal/resp"
	"minikv/luaengine"
)

// table is every command of the process, in the order of the families; a
// luaengine.Handle is an index into it. It is filled once, by init, because
// handlers read it.
var (
	table     []Command
	tableFind map[string]luaengine.Handle
	tableRows int // commands and subcommands together
)

func init() {
	families := [][]Command{
		connectionCommands,
		serverCommands,
		monitorCommands,
		saveCommands,
		scriptingCommands,
		functionCommands,
		pubsubCommands,
		transactionCommands,
		replicationCommands,
		clusterCommands,
		stringCommands,
		bitCommands,
		hashCommands,
		listCommands,
		blockingCommands,
		setCommands,
		zsetCommands,
		zsetAlgebraCommands,
		streamCommands,
		dumpCommands,
		hllCommands,
		geoCommands,
		scanCommands,
		genericCommands,
		databaseCommands,
		sortCommands,
		expireCommands,
	}
	tableFind = make(map[string]luaengine.Handle)
	for _, family := range families {
		for _, cmd := range family {
			tableFind[cmd.Name] = luaengine.Handle(len(table))
			table = append(table, cmd)
		}
	}
	for i := range table {
		prepare(&table[i], "")
	}
	aclTable = makeACLTable()
}

// prepare fills in what follows from a row as it is written, and from those of its
// subcommands. before is its container's name with '|', or "".
func prepare(cmd *Command, before string) {
	cmd.full = before + strings.ToLower(cmd.Name)
	if fill := cmd.Fill; fill != nil {
		cmd.Run = func(c *Call) (reply resp.Value) {
			fill(c, &reply)
			return reply
		}
	}
	cmd.specs = specsOf[cmd.full]
	cmd.placeKeys()
	cmd.groups = groupsOf(cmd.Groups) | cmd.impliedGroups()
	cmd.letters = lettersOf(cmd.full)
	cmd.lookups = lookupsOf(cmd)
	cmd.plain = cmd.Sub == nil && cmd.Flags&(NoScript|Admin) == 0 && (cmd.specs != nil || cmd.Flags&PubSub != 0)
	if tableRows == statsPages*len(statsPage{}) {
		panic("engine: more commands than counters: make statsPages greater")
	}
	cmd.row = tableRows
	tableRows++
	for i := range cmd.Sub {
		prepare(&cmd.Sub[i], cmd.full+"|")
	}
}

// eachRow visits the commands of a table, each before its subcommands.
func eachRow(rows []Command) iter.Seq[*Command] {
	return func(yield func(cmd *Command) bool) {
		for i := range rows {
			if !yield(&rows[i]) {
				return
			}
			for j := range rows[i].Sub {
				if !yield(&rows[i].Sub[j]) {
					return
				}
			}
		}
	}
}

// Resolve finds a command by name, in any case. It is the luaengine.Resolver of every
// node in the process.
func Resolve(name string) luaengine.Handle { return find(name) }

// maxName is longer than any command's name.
const maxName = 32

// isCalled reports whether name finds cmd, which may be nil, without the table:
// most clients send what they have sent before. A subcommand has a longer full
// name and is not found by its own.
func (cmd *Command) isCalled(name []byte) bool {
	switch {
	case cmd == nil || len(name) != len(cmd.full) || cmd.Sub != nil:
		return false
	case cmd.letters != 0:
		return packed(name) == cmd.letters
	}
	return len(cmd.full) == len(cmd.Name) && (string(name) == cmd.Name || string(name) == cmd.full)
}

// packed is a word of four to eight letters, in any case, as a number that no
// other word of its length has.
func packed[T ~string | ~[]byte](word T) uint64 {
	text, last := []byte(word), len(word)-4
	return uint64(binary.LittleEndian.Uint32(text)|anyCase)<<32 | uint64(binary.LittleEndian.Uint32(text[last:])|anyCase)
}

// anyCase is the bit that makes a letter lower case, for four of them.
const anyCase = 0x20202020

// lettersOf is a command's full name packed, 0 if it cannot be.
func lettersOf(full string) uint64 {
	notLetter := func(c rune) bool { return c < 'a' || c > 'z' }
	if len(full) < 4 || len(full) > 8 || strings.ContainsFunc(full, notLetter) {
		return 0
	}
	return packed(full)
}

// resolve returns cmd, or the subcommand of it that args name.
func (cmd *Command) resolve(args [][]byte) (*Command, string) {
	if cmd.Sub == nil || len(args) < 2 {
		return cmd, ""
	}
	if sub := cmd.sub(args[1]); sub != nil {
		return sub, ""
	}
	return nil, errUnknownSub(cmd.Name, args[1])
}

// sub is a subcommand by its name in any case, or nil.
func (cmd *Command) sub(name []byte) *Command {
	for i := range cmd.Sub {
		if one := &cmd.Sub[i]; len(name) == len(one.Name) && is(name, one.Name) {
			return one
		}
	}
	return nil
}

// accepts reports whether n words are a right number for cmd, its name included.
func (cmd *Command) accepts(n int) bool {
	if cmd.Run == nil {
		return false
	}
	return n == cmd.Arity || cmd.Arity < 0 && n >= -cmd.Arity
}

// byName finds a command by its name in any case, or nil; it does not allocate.
func byName(name []byte) *Command {
	handle := find(name)
	if handle == luaengine.NoCommand {
		return nil
	}
	return &table[handle]
}

func find[T ~string | ~[]byte](name T) luaengine.Handle {
	var buffer [maxName]byte
	if len(name) > len(buffer) {
		return luaengine.NoCommand
	}
	for i := range len(name) {
		buffer[i] = upper(name[i])
	}
	if handle, ok := tableFind[string(buffer[:len(name)])]; ok {
		return handle
	}
	return luaengine.NoCommand
}
