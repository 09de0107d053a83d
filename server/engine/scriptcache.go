package engine

import (
	"encoding/binary"
	"strings"

	"minikv/luaengine"
)

// scripting is a node's script cache, and the host of the script that runs.
type scripting struct {
	cache scriptCache
	state luaengine.State
	host  scriptHost
}

// load compiles a script and keeps it.
func (s *scripting) load(engine *luaengine.Engine, text string) (*luaengine.Script, error) {
	script, err := engine.Compile(text)
	if err == nil && s.cache.find([]byte(script.SHA())) == nil {
		s.cache.add(script)
	}
	return script, err
}

// scriptCache is scripts by their SHA1. Its zero value is empty.
type scriptCache struct {
	byStart map[uint64][]*luaengine.Script // by the first eight digits; most lists have one script
	count   int
	size    int64 // bytes of their texts

	latest [4]foundScript // last, by a digit
}

// foundScript is a script with its SHA1 as numbers. Its zero value is none.
type foundScript struct {
	script *luaengine.Script
	sha    [shaLen / 8]uint64
}

// is reports whether f is the script of a SHA1 of shaLen digits in lower case,
// without a call.
func (f *foundScript) is(sha []byte) bool {
	_ = sha[shaLen-1]
	return binary.LittleEndian.Uint64(sha) == f.sha[0] && binary.LittleEndian.Uint64(sha[8:]) == f.sha[1] &&
		binary.LittleEndian.Uint64(sha[16:]) == f.sha[2] && binary.LittleEndian.Uint64(sha[24:]) == f.sha[3] &&
		binary.LittleEndian.Uint64(sha[32:]) == f.sha[4]
}

func (c *scriptCache) add(script *luaengine.Script) {
	if c.byStart == nil {
		c.byStart = make(map[uint64][]*luaengine.Script)
	}
	start := startOf([]byte(script.SHA()))
	c.byStart[start] = append(c.byStart[start], script)
	c.count++
	c.size += int64(len(script.Text()))
}

// find returns the script of a SHA1 in any case, or nil.
func (c *scriptCache) find(sha []byte) *luaengine.Script {
	if len(sha) != shaLen {
		return nil
	}
	start := startOf(sha)
	latest := &c.latest[start/digitStep%uint64(len(c.latest))]
	if latest.is(sha) {
		return latest.script
	}
	for _, script := range c.byStart[start] {
		if strings.EqualFold(string(sha), script.SHA()) {
			latest.script = script
			for i, text := 0, []byte(script.SHA()); i < len(latest.sha); i++ {
				latest.sha[i] = binary.LittleEndian.Uint64(text[8*i:])
			}
			return script
		}
	}
	return nil
}

// digitStep is what the second digit counts in a number of startOf.
const digitStep = 1 << 8

// shaLen is the length of a SHA1 in hexadecimal digits.
const shaLen = 40

// startOf is the first digits of a SHA1, letters in lower case: the bit that
// makes them so is set in the digits 0 to 9 already.
func startOf(sha []byte) uint64 { return binary.LittleEndian.Uint64(sha) | 0x2020202020202020 }
