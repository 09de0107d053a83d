package tidy

import (
	"go/ast"
	"go/token"
	"go/types"
	"path"
	"strconv"
)

// freedom is what a place may do although it could be seen from outside a
// replay. The zero freedom is pure.
type freedom uint

const (
	floats     freedom = 1 << iota // floating point, which may differ per architecture
	mutexes                        // sync and sync/atomic
	channels                       // to make and close them, never to wait on them
	randomness                     // to draw random numbers from nowhere
	coroutines                     // iter.Pull
	contexts                       // context.WithCancel and its kin, over a parent that is never done

	everything = ^freedom(0)
)

// freedoms says what is allowed where. The longest place wins; tests may do
// everything.
var freedoms = map[string]freedom{
	".":                           floats,
	"bench":                       everything,
	"cluster":                     0,
	"cmd":                         everything,
	"internal/certificates":       everything,
	"internal/memory":             everything,
	"internal/tidy":               everything,
	"interop":                     everything,
	"lockclient":                  floats | mutexes | channels,
	"lockclient/goredis":          everything,
	"lockclient/internal/adapter": everything,
	"lockclient/rueidis":          everything,
	"lockclient/slogobserver":     everything,
	"lockclient/synclocker":       everything,
	"internal/redisserver":        everything,
	// The real Runtime.
	"lockclient/system.go": everything,
	"luaengine/step.go":    floats | coroutines,
	"minikvtest":           everything,
	"server":               everything,
	"server/engine":        floats,
	"sim":                  0,
	"sim/chooser.go":       randomness,
	"sim/coroutine.go":     coroutines,
	// The context of virtual time: std finds a cause only in its own contexts.
	"sim/context.go": channels | contexts,
	// Runs many worlds at once, each on its own.
	"sim/explore/pool.go": everything,
	"sim/simtest":         everything,
	"topology":            everything,
}

// ban forbids a package or a name unless the place has the freedom it needs.
type ban struct {
	needs  freedom
	advice string
}

const (
	adviceRandom = "take a source from the caller"
	adviceClock  = "use Clock"
	adviceWait   = "give NextDeadline, or wait through Runtime"
	adviceAlone  = "one caller at a time; wait through Runtime"
	adviceCtx    = "derive contexts from Runtime"
)

// bannedImports forbids packages together with all that are below them.
var bannedImports = map[string]ban{
	"crypto/rand":  {randomness, adviceRandom},
	"hash/maphash": {randomness, adviceRandom},
	"log":          {everything, "return an error, or trace an event"},
	"math/rand":    {randomness, adviceRandom},
	"net":          {everything, "leave sockets to the shell"},
	"os":           {everything, "leave files and processes to cmd"},
	"sync":         {mutexes, adviceAlone},
}

// pureImports are below a forbidden package, and harmless.
var pureImports = map[string]bool{"net/netip": true} // addresses as values

// bannedNames forbids names of the standard library.
var bannedNames = map[string]ban{
	"context.AfterFunc":         {contexts, adviceCtx},
	"context.WithCancel":        {contexts, adviceCtx},
	"context.WithCancelCause":   {contexts, adviceCtx},
	"context.WithDeadline":      {contexts, adviceCtx},
	"context.WithDeadlineCause": {contexts, adviceCtx},
	"context.WithTimeout":       {contexts, adviceCtx},
	"context.WithTimeoutCause":  {contexts, adviceCtx},
	"context.WithValue":         {contexts, adviceCtx},
	"iter.Pull":                 {coroutines, "write a loop, or use a task of sim"},
	"iter.Pull2":                {coroutines, "write a loop, or use a task of sim"},
	"time.After":                {everything, adviceWait},
	"time.AfterFunc":            {everything, adviceWait},
	"time.NewTicker":            {everything, adviceWait},
	"time.NewTimer":             {everything, adviceWait},
	"time.Now":                  {everything, adviceClock},
	"time.Since":                {everything, adviceClock},
	"time.Sleep":                {everything, adviceWait},
	"time.Tick":                 {everything, adviceWait},
	"time.Ticker":               {everything, adviceWait},
	"time.Timer":                {everything, adviceWait},
	"time.Until":                {everything, adviceClock},
}

// freedomOf returns what the file may do.
func freedomOf(f *file) freedom {
	if f.isTest() {
		return everything
	}
	place := f.path
	for {
		if free, ok := freedoms[place]; ok {
			return free
		}
		place = path.Dir(place)
	}
}

// checkPureImports needs no types, so it also sees what does not compile yet.
func checkPureImports(f *file, report reporter) {
	free := freedomOf(f)
	for _, spec := range f.syntax.Imports {
		name := importPath(spec)
		for banned, b := range bannedImports {
			if within(name, banned) && !pureImports[name] && free&b.needs != b.needs {
				report(f.line(spec.Pos()), "import "+name+": "+b.advice)
			}
		}
	}
}

func importPath(spec *ast.ImportSpec) string {
	name, _ := strconv.Unquote(spec.Path.Value) // the parser has seen that it is a string
	return name
}

// checkPurity looks at what statements and expressions do.
func checkPurity(f *file, report reporter) {
	free := freedomOf(f)
	if free == everything {
		return
	}
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		if n == nil {
			return false
		}
		if what := impurity(f.info, free, n); what != "" {
			report(f.line(n.Pos()), what)
		}
		return true
	})
	if free&floats == 0 {
		checkFloats(f, report)
	}
	checkOrder(f, report)
}

// impurity says what is wrong with one node, or "".
func impurity(info *types.Info, free freedom, n ast.Node) string {
	switch n := n.(type) {
	case *ast.Ident:
		return bannedName(info.Uses[n], free)
	case *ast.GoStmt:
		return "go: " + adviceAlone
	case *ast.SelectStmt:
		return "select: " + adviceAlone
	case *ast.SendStmt:
		return "send: " + adviceAlone
	case *ast.UnaryExpr:
		if n.Op == token.ARROW {
			return "receive: " + adviceAlone
		}
	case *ast.RangeStmt:
		if isUnder[*types.Chan](info.TypeOf(n.X)) {
			return "receive: " + adviceAlone
		}
	case *ast.ChanType:
		if free&channels == 0 {
			return "chan: " + adviceAlone
		}
	}
	return ""
}

func bannedName(used types.Object, free freedom) string {
	if used == nil || used.Pkg() == nil || used.Parent() != used.Pkg().Scope() {
		return ""
	}
	name := used.Pkg().Path() + "." + used.Name()
	if b, ok := bannedNames[name]; ok && free&b.needs != b.needs {
		return name + ": " + b.advice
	}
	return ""
}

// checkFloats finds floating point by its type, so also where a call returns it.
func checkFloats(f *file, report reporter) {
	for expr, value := range f.info.Types {
		inFile := f.syntax.FileStart <= expr.Pos() && expr.Pos() < f.syntax.FileEnd
		if inFile && isFloat(value.Type) {
			report(f.line(expr.Pos()), "floating point: use integers, such as parts per billion")
		}
	}
}

func isFloat(t types.Type) bool {
	if t == nil {
		return false
	}
	basic, ok := t.Underlying().(*types.Basic)
	return ok && basic.Info()&(types.IsFloat|types.IsComplex) != 0
}

// isUnder reports whether t, by whatever name, is a T. A nil t is not: it does
// not compile, which is reported elsewhere.
func isUnder[T types.Type](t types.Type) bool {
	if t == nil {
		return false
	}
	_, ok := t.Underlying().(T)
	return ok
}

// unbuilt finds the files whose purity cannot be checked. Where something does
// not compile that is no news, so it asks for files that all compile.
func unbuilt(files []*file) []Violation {
	var found []Violation
	for _, f := range files {
		if f.syntax != nil && f.info == nil && freedomOf(f) != everything {
			what := "not built on this machine: a pure package is the same everywhere"
			found = append(found, Violation{File: f.path, Line: 1, What: what})
		}
	}
	return found
}
