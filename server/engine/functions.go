package engine

import (
	"bytes"
	"slices"
	"strings"

	"minikv/internal/resp"
	"minikv/luaengine"
)

// functions is the libraries of a node, in the order in which they came.
// Source: functions.c of Redis 7.0.
type functions struct {
	libraries []*functionLibrary
}

// functionLibrary is one library with its text, first line included.
type functionLibrary struct {
	name, code string
	members    []luaengine.Function
}

// find returns a library, nil if there is none of that name.
func (f *functions) find(name string) *functionLibrary {
	for _, library := range f.libraries {
		if library.name == name {
			return library
		}
	}
	return nil
}

// member returns a function, nil if there is none of that name in any case.
func (f *functions) member(name string) *luaengine.Function {
	for _, library := range f.libraries {
		for i := range library.members {
			if equalFold(library.members[i].Name, name) {
				return &library.members[i]
			}
		}
	}
	return nil
}

// count counts the functions of all libraries.
func (f *functions) count() (n int) {
	for _, library := range f.libraries {
		n += len(library.members)
	}
	return n
}

// remove deletes a library, if it is there.
func (f *functions) remove(name string) {
	f.libraries = slices.DeleteFunc(f.libraries, func(l *functionLibrary) bool { return l.name == name })
}

// load adds the library of a text to those in f, over one of the same name if
// replace. It returns its name or an error text; f is then as before.
func (f *functions) load(n *Node, code string, replace bool) (name, bad string) {
	name, body, bad := parseLibraryHeader(code)
	if bad != "" {
		return "", bad
	}
	if f.find(name) != nil && !replace {
		return "", oneLine([]byte("ERR Library '" + name + "' already exists"))
	}
	members, bad := n.cfg.Lua.LoadLibrary(body, &scriptHost{node: n, loading: true, started: n.cfg.Clock.Mono()})
	switch {
	case bad != "":
		return "", oneLine([]byte(bad))
	case len(members) == 0:
		return "", "ERR No functions registered"
	}
	return name, f.join(functions{[]*functionLibrary{{name, code, members}}}, replace)
}

// join adds other libraries, over those of the same names if replace, and
// returns an error text if that cannot be; f is then as before.
func (f *functions) join(other functions, replace bool) (bad string) {
	kept := functions{slices.Clone(f.libraries)}
	for _, library := range other.libraries {
		if kept.find(library.name) != nil {
			if !replace {
				return "ERR Library " + library.name + " already exists"
			}
			kept.remove(library.name)
		}
	}
	for _, library := range other.libraries {
		for i := range library.members {
			if name := library.members[i].Name; kept.member(name) != nil {
				return "ERR Function " + name + " already exists"
			}
		}
	}
	f.libraries = append(kept.libraries, other.libraries...)
	return ""
}

// parseLibraryHeader takes the first line off a library's text; the line feed
// stays, so that line numbers do.
func parseLibraryHeader(code string) (name, body, bad string) {
	if !bytes.HasPrefix([]byte(code), []byte("#!")) {
		return "", "", "ERR Missing library metadata"
	}
	end := strings.IndexByte(resp.CString(code), '\n')
	if end < 0 {
		return "", "", "ERR Invalid library metadata"
	}
	words, ok := resp.SplitArgs([]byte(code[:end]))
	if !ok || len(words) == 0 {
		return "", "", "ERR Invalid library metadata"
	}
	named := false
	for _, word := range words[1:] {
		const option = "NAME="
		switch {
		case len(word) < len(option) || !is(word[:len(option)], option):
			return "", "", oneLine([]byte("ERR Invalid metadata value given: " + resp.CString(word)))
		case named:
			return "", "", "ERR Invalid metadata value, name argument was given multiple times"
		}
		name, named = string(word[len(option):]), true
	}
	engine := string(words[0][2:])
	switch {
	case !named:
		return "", "", "ERR Library name was not given"
	case !luaengine.ValidName(name):
		return "", "", "ERR " + luaengine.InvalidName
	case !equalFold(engine, "lua"):
		return "", "", oneLine([]byte("ERR Engine '" + engine + "' not found"))
	}
	return name, code[end:], ""
}

// texts are the libraries as they were given.
func (f *functions) texts() []string {
	var list []string
	for _, library := range f.libraries {
		list = append(list, library.code)
	}
	return list
}

// loadAll replaces the libraries by those of texts that a node has loaded before.
func (f *functions) loadAll(n *Node, texts []string) {
	f.libraries = nil
	for _, code := range texts {
		if name, bad := f.load(n, code, false); bad != "" {
			panic("engine: library " + name + " does not load again: " + bad)
		}
	}
}

// reload loads the libraries anew, as a start does: what their functions kept
// in local variables is gone.
func (f *functions) reload(n *Node) { f.loadAll(n, f.texts()) }
