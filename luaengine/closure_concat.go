package luaengine

import (
	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"
)

// part is an operand of ".." that can be read twice: a constant, a variable, or an
// argument of the script. A chain of such is put together as it is read.
type part struct {
	kind partKind
	text string // of a constant
	from int    // the slot of a variable
	param
	linear // of an element of KEYS or ARGV: its index
}

type partKind uint8

const (
	constantPart partKind = iota
	variablePart
	paramPart
	elementPart
)

// parts compiles the operands of a chain; nil if one of them is no part.
func (c *compiler) parts(operands []ast.Expr) []part {
	list := make([]part, len(operands))
	for i, x := range operands {
		p, ok := c.part(x)
		if !ok {
			return nil
		}
		list[i] = p
	}
	return list
}

func (c *compiler) part(x ast.Expr) (part, bool) {
	switch x := x.(type) {
	case *ast.StringExpr:
		return part{kind: constantPart, text: x.Value}, c.constantFunction(x) == nil
	case *ast.NumberExpr:
		return part{kind: constantPart, text: numberText(float64(literalNumber(x)))}, true
	case *ast.IdentExpr:
		if p, ok := c.parameter(x); ok {
			return part{kind: paramPart, param: p}, true
		}
		if slot, ok := c.local(x); ok {
			return part{kind: variablePart, from: slot}, true
		}
	case *ast.AttrGetExpr:
		keys, ok := c.argumentTable(x.Object)
		if !ok {
			break
		}
		if l, ok := c.linear(x.Key); ok {
			return part{kind: elementPart, param: param{keys: keys}, linear: l}, true
		}
	}
	return part{}, false
}

// join is a chain of parts. What does not fit into the memory of the run, or
// fails, is left to the general way, which reads the parts again.
func join(parts []part, general expression) expression {
	return func(a *activation) (lua.LValue, *failure) {
		if text, ok := a.joined(parts); ok {
			return a.e.run.boxes.bytes(text), nil
		}
		return general(a)
	}
}

// longestNumber is room for any number that formatNumber writes with 14 digits.
const longestNumber = len("-1.2345678901234e+100")

// joined is the parts as one text, which lives until the run ends.
func (a *activation) joined(parts []part) (text []byte, ok bool) {
	r := &a.e.run
	text = r.text[len(r.text):]
	room := cap(text)
	for i := range parts {
		p := &parts[i]
		s := p.text
		switch p.kind {
		case variablePart:
			switch v := a.slots[p.from].(type) {
			case lua.LString:
				s = string(v)
			case lua.LNumber:
				if room-len(text) < longestNumber {
					return nil, false
				}
				if digit := int(v); uint(digit) < 10 && lua.LNumber(digit) == v && digit > 0 {
					text = append(text, byte('0'+digit)) // as most are
					continue
				}
				text = formatNumber(text, float64(v), 14)
				continue
			default:
				return nil, false
			}
		case paramPart, elementPart:
			word, ok := a.argumentAt(p)
			if !ok {
				return nil, false
			}
			s = textView(word)
		}
		if len(s) > room-len(text) {
			return nil, false
		}
		text = append(text, s...)
	}
	r.text = r.text[:len(r.text)+len(text)]
	return text, true
}

// argumentAt is the argument of the script that p names; false if there is none.
func (a *activation) argumentAt(p *part) ([]byte, bool) {
	if p.kind == paramPart {
		return a.word(p.param)
	}
	if i, ok := p.at(a); ok {
		if list := a.given(p.keys); uint(i-1) < uint(len(list)) {
			return list[i-1], true
		}
	}
	return nil, false
}
