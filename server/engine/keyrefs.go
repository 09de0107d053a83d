package engine

// keyAccess is what must be allowed for a key: to read it, to write it, both or nothing.
type keyAccess uint8

const (
	mayRead keyAccess = 1 << iota
	mayWrite
)

// keyRef is an argument that is a key.
type keyRef struct {
	at    int
	flags keyFlag // none: nothing is known
}

// access is what a user must be allowed.
func (flags keyFlag) access() (access keyAccess) {
	if flags&keyAccessed != 0 {
		access |= mayRead
	}
	if flags&(keyUpdate|keyInsert|keyDelete) != 0 {
		access |= mayWrite
	}
	return access
}

// refs are the keys among args and what happens to them, in the order in which
// Redis finds them: by the specifications, and where these do not tell, by what
// is known of the command.
// Source: getKeysFromCommandWithSpecs of Redis 7.0.
func (cmd *Command) refs(args [][]byte) []keyRef {
	variable := false
	for i := range cmd.specs {
		variable = variable || cmd.specs[i].flags&variableFlags != 0
	}
	if cmd.specifiesKeys() && !variable {
		if refs, ok := cmd.specifiedRefs(args); ok {
			return refs
		}
	}
	return cmd.otherRefs(args)
}

// keys are the keys among args, found in the shorter way of Redis: in their fixed places,
// or by what is known of the command. Of arguments that are not well-formed there are none.
// Source: getKeysFromCommand of Redis 7.0.
func (cmd *Command) keys(args [][]byte) (keys [][]byte) {
	switch {
	case cmd.Flags&MovableKeys == 0:
		return cmd.placedKeys(args)
	case cmd.keyCount > 0 && cmd.firstKey == 0:
		return countedKeys(args, cmd.keyCount)
	}
	for _, ref := range cmd.otherRefs(args) {
		keys = append(keys, args[ref.at])
	}
	return keys
}

// placedKeys are keys in fixed places.
func (cmd *Command) placedKeys(args [][]byte) (keys [][]byte) {
	first, last := cmd.firstKey, cmd.lastKey
	if last < 0 {
		last += len(args)
	}
	switch {
	case first == 0 || last >= len(args) || last < first:
		return nil
	case cmd.keyStep == 1:
		return args[first : last+1]
	}
	for at := first; at <= last; at += cmd.keyStep {
		keys = append(keys, args[at])
	}
	return keys
}

// countedKeys are as many keys as the argument at count says: what C's atoi makes of it.
// Source: genericGetKeys of Redis 7.0.
func countedKeys(args [][]byte, count int) [][]byte {
	if count >= len(args) {
		return nil
	}
	n := atoi(args[count])
	if n < 1 || n > len(args)-count-1 {
		return nil
	}
	return args[count+1 : count+1+n]
}

// specifiesKeys reports whether some arguments of the command are keys.
func (cmd *Command) specifiesKeys() bool {
	for i := range cmd.specs {
		if cmd.specs[i].flags&notKey == 0 {
			return true
		}
	}
	return false
}

// specifiedRefs are the keys by the specifications; ok is false when these do
// not tell, or the arguments are none that they fit.
// Source: getKeysUsingKeySpecs of Redis 7.0.
func (cmd *Command) specifiedRefs(args [][]byte) (refs []keyRef, ok bool) {
	for i := range cmd.specs {
		spec := &cmd.specs[i]
		if spec.flags&notKey != 0 {
			continue
		}
		first := spec.begin(args)
		if first == 0 && !spec.unknown {
			continue // its keyword is not there
		}
		first, last, ok := spec.span(args, first)
		if !ok || last >= len(args) || last < first || first >= len(args) {
			return nil, false
		}
		for at := first; at <= last; at += spec.step {
			refs = append(refs, keyRef{at, spec.flags})
		}
		if spec.flags&keysIncomplete != 0 {
			return nil, false
		}
	}
	return refs, true
}

// begin is where the keys begin, or 0.
func (spec *keySpec) begin(args [][]byte) int {
	if spec.keyword == "" {
		return spec.index
	}
	at, step := spec.index, 1
	if at < 0 {
		at, step = at+len(args), -1
	}
	for ; at > 0 && at < len(args)-1 && (step > 0 || at > 1); at += step { // not the last one, nor going back the first
		if is(args[at], spec.keyword) {
			return at + 1
		}
	}
	return 0
}

// span is the first and the last of the keys that begin at first.
func (spec *keySpec) span(args [][]byte, first int) (from, last int, ok bool) {
	switch {
	case spec.unknown:
		return 0, 0, false
	case spec.numbered:
		if first >= len(args) {
			return 0, 0, false
		}
		n, isInt := parseInt(args[first])
		if !isInt || n < 0 {
			return 0, 0, false
		}
		return first + 1, first + int(int32(n)), true
	case spec.last >= 0:
		return first, first + spec.last, true
	case spec.limit > 0:
		return first, first + (len(args)-first)/spec.limit + spec.last, true
	}
	return first, len(args) + spec.last, true
}

// otherRefs are the keys of commands whose specifications do not tell.
// Source: the functions GetKeys of db.c of Redis 7.0.
func (cmd *Command) otherRefs(args [][]byte) []keyRef {
	switch cmd.full {
	case "set":
		return setRefs(args)
	case "bitfield":
		return bitFieldRefs(args)
	case "sort_ro":
		return []keyRef{{1, keyRO | keyAccessed}}
	case "sort":
		return sortRefs(args)
	case "migrate":
		return migrateRefs(args)
	case "xread", "xreadgroup":
		return streamRefs(args)
	case "georadius", "georadiusbymember":
		return storedRadiusRefs(args)
	}
	return cmd.countedRefs(args)
}

// countedRefs are the keys that follow their count, and behind them the target if it
// stands in front of that.
func (cmd *Command) countedRefs(args [][]byte) (refs []keyRef) {
	if cmd.keyCount == 0 {
		return nil
	}
	for i := range countedKeys(args, cmd.keyCount) {
		refs = append(refs, keyRef{at: cmd.keyCount + 1 + i})
	}
	if refs != nil && cmd.firstKey > 0 {
		refs = append(refs, keyRef{at: cmd.firstKey})
	}
	return refs
}

func setRefs(args [][]byte) []keyRef {
	for i := 3; i < len(args); i++ {
		if is(args[i], "GET") {
			return []keyRef{{1, keyRW | keyAccessed | keyUpdate}}
		}
	}
	return []keyRef{{1, keyOW | keyUpdate}}
}

func bitFieldRefs(args [][]byte) []keyRef {
	for i := 2; i < len(args); i++ {
		left := len(args) - i - 1
		switch {
		case is(args[i], "GET") && left >= 2:
			i += 2
		case is(args[i], "OVERFLOW") && left >= 1:
			i++
		default: // it writes, or is wrong
			return []keyRef{{1, keyRW | keyAccessed | keyUpdate}}
		}
	}
	return []keyRef{{1, keyRO | keyAccessed}}
}

// sortRefs are the key, and the last that STORE names, which may be an option as well.
func sortRefs(args [][]byte) []keyRef {
	refs := []keyRef{{1, keyRO | keyAccessed}}
	for i := 2; i < len(args); i++ {
		switch {
		case is(args[i], "LIMIT"):
			i += 2
		case is(args[i], "GET"), is(args[i], "BY"):
			i++
		case is(args[i], "STORE") && i+1 < len(args):
			refs = append(refs[:1], keyRef{i + 1, keyOW | keyUpdate})
		}
	}
	return refs
}

// migrateRefs are the keys behind KEYS, or the one in its usual place.
func migrateRefs(args [][]byte) (refs []keyRef) {
	const flags = keyRW | keyAccessed | keyDelete
	for i := 6; i < len(args); i++ {
		switch {
		case is(args[i], "KEYS"):
			if len(args[3]) > 0 {
				return nil
			}
			for at := i + 1; at < len(args); at++ {
				refs = append(refs, keyRef{at, flags})
			}
			return refs
		case is(args[i], "AUTH"):
			i++
		case is(args[i], "AUTH2"):
			i += 2
		}
	}
	return []keyRef{{3, flags}}
}

// streamRefs are the first half of what follows STREAMS. Without it, or with halves that are
// unequal, there are none.
// Source: xreadGetKeys of Redis 7.0.
func streamRefs(args [][]byte) (refs []keyRef) {
	for i := 1; i < len(args); i++ {
		switch {
		case is(args[i], "STREAMS"):
			if more := len(args) - 1 - i; more%2 == 0 {
				for at := i + 1; at <= i+more/2; at++ {
					refs = append(refs, keyRef{at: at})
				}
			}
			return refs
		case is(args[i], "BLOCK"), is(args[i], "COUNT"):
			i++
		case is(args[i], "GROUP"):
			i += 2
		case !is(args[i], "NOACK"):
			return nil
		}
	}
	return nil
}

// storedRadiusRefs are the key, and the last that is stored into.
func storedRadiusRefs(args [][]byte) []keyRef {
	refs := []keyRef{{at: 1}}
	for i := 5; i+1 < len(args); i++ {
		if is(args[i], "STORE") || is(args[i], "STOREDIST") {
			i++
			refs = append(refs[:1], keyRef{at: i})
		}
	}
	return refs
}
