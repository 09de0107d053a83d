package luaengine

import "fmt"

// What one function may have, in Lua 5.1's luaconf.h.
const (
	maxLocals   = 200
	maxUpvalues = 60
)

// functionScope is a function that is being read.
type functionScope struct {
	line     int // where it begins; 0: the text itself
	outer    int // the local variables outside of it
	loops    int // that are open
	vararg   bool
	declared []string     // its local variables that are seen from the end of their statement on
	upvalues map[int]bool // the variables outside that it uses
}

// localVariable is one that can be seen, or is hidden by another. They are counted from 1.
type localVariable struct {
	name  string
	hides int // the one of the same name around it, or 0
}

func (g *grammar) innermost() *functionScope { return &g.functions[len(g.functions)-1] }

// declare makes local variables, which are seen from show on.
func (g *grammar) declare(names ...string) {
	f := g.innermost()
	for _, name := range names {
		f.declared = append(f.declared, name)
		if len(g.variables)-f.outer+len(f.declared) > maxLocals {
			g.tooMany(f, maxLocals, "local variables")
		}
	}
}

// show has the declared variables seen.
func (g *grammar) show() {
	f := g.innermost()
	for _, name := range f.declared {
		g.variables = append(g.variables, localVariable{name, g.visible[name]})
		g.visible[name] = len(g.variables)
	}
	f.declared = f.declared[:0]
}

// hide has all but the first n variables seen no more.
func (g *grammar) hide(n int) {
	for last := len(g.variables) - 1; last >= n; last-- {
		v := g.variables[last]
		g.visible[v.name] = v.hides
		g.variables = g.variables[:last]
	}
}

// use counts the variable of a name, if it is a local one, among the upvalues of the
// functions between it and here.
func (g *grammar) use(name string) {
	v := g.visible[name]
	from := len(g.functions)
	for v != 0 && v <= g.functions[from-1].outer && !g.functions[from-1].upvalues[v] {
		from--
	}
	for i := from; i < len(g.functions); i++ {
		f := &g.functions[i]
		if f.upvalues == nil {
			f.upvalues = make(map[int]bool)
		}
		if f.upvalues[v] = true; len(f.upvalues) > maxUpvalues {
			g.tooMany(f, maxUpvalues, "upvalues")
			return
		}
	}
}

// tooMany says that a function has more than limit of something.
func (g *grammar) tooMany(f *functionScope, limit int, what string) {
	where := "main function"
	if f.line != 0 {
		where = fmt.Sprintf("function at line %d", f.line)
	}
	g.fail(fmt.Sprintf("%s has more than %d %s", where, limit, what))
	g.stop()
}
