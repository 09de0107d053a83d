package luaengine

import (
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"minikv/internal/resp"
)

// Script is a compiled script. It belongs to the Engine that made it.
type Script struct {
	sha, text string
	header    Header
	chunk     *chunk // nil while it is put away: it is compiled again when it runs
	steps     *chunk // with a step before each statement; made on demand
	used      bool   // since its turn to be put away came last

	library  *shared // of a library's function; nil for a script
	function *lua.LFunction
}

// Header is what the first line of a script says if it begins with "#!".
type Header struct {
	Present bool
	Flags   ScriptFlag
}

// ScriptFlag is a flag of a script's first line.
type ScriptFlag uint8

// The flags of Redis 7.0.
const (
	NoWrites ScriptFlag = 1 << iota
	AllowOOM
	AllowStale
	NoCluster
	AllowCrossSlotKeys
)

var scriptFlags = []struct {
	name string
	flag ScriptFlag
}{
	{"no-writes", NoWrites},
	{"allow-oom", AllowOOM},
	{"allow-stale", AllowStale},
	{"no-cluster", NoCluster},
	{"allow-cross-slot-keys", AllowCrossSlotKeys},
}

// SHA1Hex returns the SHA1 of text in 40 lower-case hexadecimal digits.
func SHA1Hex(text string) string {
	sum := sha1.Sum([]byte(text))
	return hex.EncodeToString(sum[:])
}

// SHA returns the SHA1 of the script's text.
func (s *Script) SHA() string { return s.sha }

// Text returns the script as it was given.
func (s *Script) Text() string { return s.text }

// Header returns what the script's first line says.
func (s *Script) Header() Header { return s.header }

// Compile returns the script of this text, from the cache if it is there. The text of an
// error is the reply of EVAL and SCRIPT LOAD.
func (e *Engine) Compile(text string) (*Script, error) {
	sha := SHA1Hex(text)
	if s, ok := e.scripts[sha]; ok {
		return s, nil
	}
	header, body, err := parseHeader(text)
	if err != nil {
		return nil, err
	}
	c, err := e.compile(body, userScript, !e.noFast, 0)
	if err != nil {
		return nil, errors.New(compileError(err))
	}
	s := &Script{sha: sha, text: text, header: header, chunk: c}
	if len(e.scripts) >= maxCached {
		clear(e.scripts)
	}
	e.scripts[sha] = s
	e.keep(s)
	return s, nil
}

// maxCompiled is how many bytes all compiled scripts of an Engine may take, as
// far as they can be told. A node keeps every script that it was ever sent, as
// Redis does, and a compiled one takes a hundred times its text.
const maxCompiled = 128 << 20

// size is about what s takes while it is compiled, in bytes.
func (s *Script) size() int { return 16<<10 + 100*len(s.text) }

// keep notes that s has been compiled, and puts away scripts that were not used
// for long when all together take too much.
func (e *Engine) keep(s *Script) {
	e.compiled = append(e.compiled, s)
	e.compiledSize += s.size()
	for e.compiledSize > maxCompiled && len(e.compiled) > 1 {
		oldest := e.compiled[0]
		e.compiled = e.compiled[1:]
		if oldest.used || oldest == s {
			oldest.used = false
			e.compiled = append(e.compiled, oldest)
			continue
		}
		oldest.chunk, oldest.steps = nil, nil
		e.compiledSize -= oldest.size()
	}
}

// fetch returns the compiled form of s.
func (e *Engine) fetch(s *Script) (*chunk, error) {
	s.used = true
	if s.chunk == nil {
		_, body, err := parseHeader(s.text)
		if err != nil {
			return nil, err
		}
		if s.chunk, err = e.compile(body, userScript, !e.noFast, 0); err != nil {
			return nil, err
		}
		e.keep(s)
	}
	return s.chunk, nil
}

func compileError(err error) string {
	return "ERR Error compiling script (new function): " + oneLine(err.Error())
}

// ParseHeader reads the first line of a script.
func ParseHeader(text string) Header {
	h, _, _ := parseHeader(text)
	return h
}

// parseHeader splits a shebang line off. The line feed stays, so that line
// numbers do.
// Source: eval.c, evalExtractShebangFlags.
func parseHeader(text string) (h Header, body string, err error) {
	if !strings.HasPrefix(text, "#!") {
		return h, text, nil
	}
	line, _, found := strings.Cut(resp.CString(text), "\n")
	if !found {
		return h, "", errors.New("ERR Invalid script shebang")
	}
	words, ok := resp.SplitArgs([]byte(line))
	if !ok || len(words) == 0 {
		return h, "", errors.New("ERR Invalid engine in script shebang")
	}
	if engine := resp.CString(words[0]); engine != "#!lua" {
		return h, "", errors.New("ERR Unexpected engine in script shebang: " + engine)
	}
	for _, word := range words[1:] {
		option := resp.CString(word)
		names, ok := strings.CutPrefix(option, "flags=")
		if !ok {
			return h, "", errors.New("ERR Unknown lua shebang option: " + option)
		}
		if names == "" {
			continue
		}
		for name := range strings.SplitSeq(names, ",") {
			flag, ok := flagNamed(name)
			if !ok {
				return h, "", errors.New("ERR Unexpected flag in script shebang: " + name)
			}
			h.Flags |= flag
		}
	}
	h.Present = true // only now: a line with a fault says nothing
	return h, text[len(line):], nil
}

func flagNamed(name string) (ScriptFlag, bool) {
	for _, f := range scriptFlags {
		if f.name == name {
			return f.flag, true
		}
	}
	return 0, false
}
