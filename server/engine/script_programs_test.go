package engine

import (
	"math/rand"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// luaTemplate is one line of luaGrammar.
type luaTemplate struct {
	weight int
	text   string
	deep   bool // holds statements
}

// luaRules are luaGrammar's lines by their kinds.
var luaRules = func() map[string][]luaTemplate {
	rules := map[string][]luaTemplate{}
	for _, line := range strings.Split(strings.TrimSpace(strings.ReplaceAll(luaGrammar, "\n ", " ")), "\n") {
		words := strings.SplitN(line, " ", 3)
		weight, err := strconv.Atoi(words[0])
		if err != nil {
			panic(line)
		}
		deep := regexp.MustCompile(`@[bwupy]`).MatchString(words[2])
		rules[words[1]] = append(rules[words[1]], luaTemplate{weight, words[2], deep})
	}
	return rules
}()

// luaNode is a part of a program: a text, or what a template was filled with.
type luaNode struct {
	kind string // of the template; "body" for a list of statements, "" for a text
	text string
	kids []*luaNode
}

func (n *luaNode) write(b *strings.Builder) {
	b.WriteString(n.text)
	for _, kid := range n.kids {
		kid.write(b)
		if n.kind == "body" {
			b.WriteString("\n")
		}
	}
}

// luaShortest are texts that may take the place of what is of a kind.
var luaShortest = map[string]string{"n": "1", "s": "'x'", "l": "{1}", "f": "many", "v": "1", "a": "nil", "c": "true"}

// shrink leaves statements out, or takes what they hold in their place, and makes
// expressions shorter, as long as the program differs.
func (n *luaNode) shrink(differs func() bool) (smaller bool) {
	try := func(text string, kids []*luaNode) bool {
		before := *n
		n.text, n.kids = text, kids
		if differs() {
			smaller = true
			return true
		}
		*n = before
		return false
	}
	if n.kind == "body" {
		for i := 0; i < len(n.kids); {
			s := n.kids[i]
			if !try("", slices.Delete(slices.Clone(n.kids), i, i+1)) &&
				(len(s.held()) == 0 || !try("", slices.Concat(n.kids[:i], s.held(), n.kids[i+1:]))) {
				i++
			}
		}
	} else if text, ok := luaShortest[n.kind]; ok && n.text == "" && !try(text, nil) {
		for _, kid := range n.kids {
			if len(n.kids) > 3 && kid.kind == n.kind && try("", []*luaNode{{text: "("}, kid, {text: ")"}}) {
				break
			}
		}
	}
	for _, kid := range n.kids {
		smaller = kid.shrink(differs) || smaller
	}
	return smaller
}

// held are the statements that n holds.
func (n *luaNode) held() (out []*luaNode) {
	for _, kid := range n.kids {
		if kid.kind == "body" {
			out = append(out, kid.kids...)
		} else {
			out = append(out, kid.held()...)
		}
	}
	return out
}

// luaProgram is a program: its statements, and whether nothing catches what they raise.
type luaProgram struct {
	body *luaNode
	bare bool
}

func (p *luaProgram) String() string {
	var b strings.Builder
	b.WriteString(scriptPrelude + luaPrelude)
	if !p.bare {
		b.WriteString("show(pcall(function(...)\n")
	}
	p.body.write(&b)
	if !p.bare {
		b.WriteString("end,1,'z'))\n")
	}
	b.WriteString("for i=1,math.min(#L,8) do show(pcall(L[i],i,'y')) end\nshow(T.n,T.s,T.l,T.a)\nreturn out\n")
	return b.String()
}

func (p *luaProgram) shrink(differs func() bool) {
	for p.body.shrink(differs) {
	}
}

// luaMaker makes programs of luaGrammar.
type luaMaker struct {
	random           *rand.Rand
	scope            []string // names that are visible, innermost last
	left             int      // statements that may still be made
	loop, proc, yard bool     // break, return and yield may stand here
}

// program makes a program of up to thirty statements.
func (m *luaMaker) program() *luaProgram {
	p := &luaProgram{body: &luaNode{kind: "body"}, bare: m.random.Intn(4) == 0}
	add := func(s *luaNode) { p.body.kids = append(p.body.kids, s) }
	m.scope, m.left, m.loop, m.proc, m.yard = nil, 30, false, !p.bare, false
	add(m.fill("do", "local @+n,@+s,@+l,@+f,@+a=@N,@t,{@N,@N},many,@N", 0, 0))
	for range 2 + m.random.Intn(6) {
		add(m.statement(3))
	}
	names := slices.Clone(m.scope)
	slices.Sort(names)
	add(&luaNode{kind: "do", text: "show(" + strings.Join(slices.Compact(names), ",") + ")"})
	p.bare = p.bare && !strings.Contains(p.String(), "error({") // redis-server 7.0.15 dies of it
	return p
}

// body makes the statements for one of the letters of bodies.
func (m *luaMaker) body(letter byte, depth int) *luaNode {
	mark, loop, proc, yard := len(m.scope), m.loop, m.proc, m.yard
	switch letter {
	case 'w', 'u':
		m.loop = true
	case 'p':
		m.loop, m.proc, m.yard = false, true, false
	case 'y':
		m.loop, m.proc, m.yard = false, true, true
	}
	n := &luaNode{kind: "body"}
	for range 1 + m.random.Intn(3) {
		n.kids = append(n.kids, m.statement(depth))
	}
	switch end := m.random.Intn(12); {
	case end < 2 && m.loop:
		n.kids = append(n.kids, m.fill("do", "if @c then break end", depth, luaLevels))
	case end == 2 && m.loop:
		n.kids = append(n.kids, m.fill("do", "do break end", depth, luaLevels))
	case end == 3 && m.proc:
		n.kids = append(n.kids, m.fill("do", "if @c then return @n,@a end", depth, luaLevels))
	}
	m.loop, m.proc, m.yard = loop, proc, yard
	if letter != 'u' {
		m.scope = m.scope[:mark]
	}
	return n
}

// statement makes a statement, which may hold others if depth is positive.
func (m *luaMaker) statement(depth int) *luaNode {
	m.left--
	kind := "do"
	switch {
	case m.yard && m.random.Intn(3) == 0:
		kind = "yield"
	case depth > 0 && m.left > 0 && m.random.Intn(2) == 0:
		kind = "block"
	}
	return m.fill("do", m.pick(kind, kind == "block"), depth, luaLevels)
}

// pick draws a template of a kind by weight, one that holds statements only if deep
// is set.
func (m *luaMaker) pick(kind string, deep bool) string {
	total := 0
	for _, t := range luaRules[kind] {
		if deep || !t.deep {
			total += t.weight
		}
	}
	at := m.random.Intn(total)
	for _, t := range luaRules[kind] {
		if deep || !t.deep {
			if at -= t.weight; at < 0 {
				return t.text
			}
		}
	}
	panic(kind)
}

// luaLevels is how deep the expressions of a statement nest.
const luaLevels = 3

// fill makes the node of a template. Statements in it may nest depth deep, and
// expressions levels.
func (m *luaMaker) fill(kind, template string, depth, levels int) *luaNode {
	n := &luaNode{kind: kind}
	add := func(text string) { n.kids = append(n.kids, &luaNode{text: text}) }
	mark := len(m.scope)
	var stays, inside []string
	last := ""
	for {
		text, rest, found := strings.Cut(template, "@")
		if add(text); !found {
			break
		}
		letter := rest[0]
		template = rest[1:]
		switch letter {
		case '+', '*', '-':
			name := template[:1] + strconv.Itoa(1+m.random.Intn(3))
			template = template[1:]
			add(name)
			switch letter {
			case '+':
				last, stays = name, append(stays, name)
			case '*':
				last, m.scope, mark = name, append(m.scope, name), mark+1
			case '-':
				inside = append(inside, name)
			}
		case '=':
			last, template = m.variable(template[:1]), template[1:]
			add(last)
		case '~':
			add(last)
		case '.':
			m.scope = append(m.scope[:mark], stays...)
		case '|':
			add([]string{" ", " ", " ", "\n"}[m.random.Intn(4)])
		case 'b', 'w', 'u', 'p', 'y':
			m.scope = append(m.scope, inside...)
			inside = nil
			n.kids = append(n.kids, m.body(letter, depth-1))
		default:
			n.kids = append(n.kids, m.expression(string(letter), depth, levels))
		}
	}
	m.scope = append(m.scope[:mark], stays...)
	return n
}

// variable is a visible name of a kind, or a field of T.
func (m *luaMaker) variable(kind string) string {
	var names []string
	for _, name := range m.scope {
		if strings.HasPrefix(name, kind) {
			names = append(names, name)
		}
	}
	if len(names) == 0 || m.random.Intn(8) == 0 {
		return "T." + kind
	}
	return names[m.random.Intn(len(names))]
}

// expression makes an expression of a kind, at the innermost level a short one.
func (m *luaMaker) expression(kind string, depth, levels int) *luaNode {
	short := map[string]string{"n": "@N", "s": "@t", "l": "{@N}", "f": "many", "v": "@N", "a": "@=a", "c": "@=a"}
	if template, ok := short[kind]; ok && levels == 0 {
		if m.random.Intn(2) == 0 && kind != "v" {
			template = "@=" + strings.Replace(kind, "c", "a", 1)
		}
		return m.fill(kind, template, depth, 0)
	}
	return m.fill(kind, m.pick(kind, depth > 1 && m.left > 0), depth, max(0, levels-1))
}
