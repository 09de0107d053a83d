package engine

import "minikv/internal/resp"

// keyNotes are what COMMAND INFO notes at specifications, by the command and the
// number of the specification.
var keyNotes = func() map[string]map[int]string {
	const assume = "We cannot tell how the keys will be used so we assume the worst, "
	const unknown = "It is marked 'unknown' because the key"
	weights := "For the optional BY/GET keyword. " + unknown + " names derive from the content of the key we sort"
	return map[string]map[int]string{
		"bitfield": {0: "This command allows both access and modification of the key"},
		"eval":     {0: assume + "RW and UPDATE"},
		"eval_ro":  {0: assume + "RO and ACCESS"},
		"fcall":    {0: assume + "RW and UPDATE"},
		"fcall_ro": {0: assume + "RO and ACCESS"},
		"getex":    {0: "RW and UPDATE because it changes the TTL"},
		"pfcount": {0: "RW because it may change the internal representation of the key, and propagate " +
			"to replicas"},
		"set": {0: "RW and ACCESS due to the optional `GET` argument"},
		"sort": {1: weights, 2: "For the optional STORE keyword. " + unknown + "word can appear anywhere in the " +
			"argument array"},
		"sort_ro": {1: weights},
		"xadd":    {0: "UPDATE instead of INSERT because of the optional trimming feature"},
	}
}()

// describeSpecs is the key specifications as COMMAND INFO shows them.
func (cmd *Command) describeSpecs() resp.Value {
	list := make([]resp.Value, len(cmd.specs))
	for i := range cmd.specs {
		list[i] = cmd.specs[i].describe(keyNotes[cmd.full][i])
	}
	return resp.Value{Kind: resp.Set, List: list}
}

func (spec *keySpec) describe(note string) resp.Value {
	var fields []resp.Value
	if note != "" {
		fields = append(fields, resp.Str("notes"), resp.Str(note))
	}
	fields = append(fields, resp.Str("flags"), spec.flags.reply())
	part := func(name, kind string, spec ...resp.Value) {
		fields = append(fields, resp.Str(name), resp.Pairs(resp.Str("type"), resp.Str(kind),
			resp.Str("spec"), resp.Pairs(spec...)))
	}
	number := func(name string, n int) []resp.Value { return []resp.Value{resp.Str(name), resp.Int(int64(n))} }
	switch {
	case spec.unknown:
		part("begin_search", "unknown")
	case spec.keyword != "":
		part("begin_search", "keyword", append([]resp.Value{resp.Str("keyword"), resp.Str(spec.keyword)},
			number("startfrom", spec.index)...)...)
	default:
		part("begin_search", "index", number("index", spec.index)...)
	}
	switch {
	case spec.unknown:
		part("find_keys", "unknown")
	case spec.numbered:
		part("find_keys", "keynum", append(append(number("keynumidx", 0), number("firstkey", 1)...),
			number("keystep", 1)...)...)
	default:
		part("find_keys", "range", append(append(number("lastkey", spec.last), number("keystep", spec.step)...),
			number("limit", spec.limit)...)...)
	}
	return resp.Pairs(fields...)
}
