package luaengine

import (
	"strings"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"

	"minikv/internal/resp"
)

// callStatement is a call whose results nobody wants.
func (c *compiler) callStatement(s *ast.FuncCallStmt) statement {
	call, ok := s.Expr.(*ast.FuncCallExpr)
	if !ok {
		c.refuse()
		return nil
	}
	if name, ok := call.Func.(*ast.IdentExpr); ok {
		return c.callFunction(name.Value, call)
	}
	fn := c.constantFunction(call.Func)
	if fn == c.r.e.sand.tick {
		return c.tick(call)
	}
	if build, ok := c.r.e.sand.procedures[fn]; ok {
		return build(c, call)
	}
	if cmd := c.command(call); cmd != nil {
		return func(a *activation) (outcome, *failure) {
			fault := cmd.run(a)
			if fault == nil && a.reply.Kind == resp.Error && !cmd.protect {
				fault = cmd.failure(a)
			}
			return goesOn, fault
		}
	}
	value := c.call(call)
	return func(a *activation) (outcome, *failure) {
		_, fault := value(a)
		return goesOn, fault
	}
}

// call is a call for its first result.
func (c *compiler) call(x *ast.FuncCallExpr) expression {
	if cmd := c.command(x); cmd != nil {
		return cmd.value
	}
	f, ok := c.builtin(x)
	switch {
	case !ok:
		c.refuse()
		return nil
	case f.number != nil:
		return boxed(c.calculate(f, x))
	case c.constantFunction(x.Func) == c.r.e.sand.concat:
		if parts := c.parts(x.Args); parts != nil {
			return join(parts, f.build(c.expressions(x.Args), c.site(x)))
		}
	}
	return f.build(c.expressions(x.Args), c.site(x))
}

// builtin is the library function that x calls, if closures know it with so many
// arguments.
func (c *compiler) builtin(x *ast.FuncCallExpr) (builtin, bool) {
	f, ok := c.r.e.sand.builtins[c.constantFunction(x.Func)]
	return f, ok && len(x.Args) >= f.least && len(x.Args) <= f.most
}

// commandCall is a redis.call or redis.pcall.
type commandCall struct {
	*command
	args  []argument
	at    *site
	words [][]byte   // of the command, those that are known in their places; nil if an argument is computed
	open  []argument // the others

	latest       string // the name that was resolved last, if the script computes it
	latestHandle Handle
}

// argument is one argument of a command, or the last ones. One that is known
// before the script runs, and one of the script's own, need not become a Lua value.
type argument struct {
	kind   argumentKind
	place  int    // among the words of the command
	index  int    // of keyWord and argvWord, from 0
	word   []byte // of knownWord; of keyWord and argvWord, if the script was given none; nil: no word
	linear        // the variable of variableWord; the index of elementWord
	keys   bool   // of elementWord: it is one of KEYS
	parts  []part // of joinedWord
	push   pusher // what computes it in the general way; nil up to variableWord
}

type argumentKind uint8

const (
	keyWord  argumentKind = iota // a literal KEYS[n]
	argvWord                     // a literal ARGV[n]
	knownWord
	variableWord
	elementWord // KEYS[i] or ARGV[i], by a variable
	joinedWord  // a chain of ".." of which all is at hand
	computedWord
)

// pusher computes arguments and appends them to the words of the command; false
// if one is neither string nor number.
type pusher func(a *activation) (bool, *failure)

// command is the redis.call that x is; nil if it is none.
func (c *compiler) command(x *ast.FuncCallExpr) *commandCall {
	cmd, ok := c.r.e.sand.commandOf[c.constantFunction(x.Func)]
	if !ok || cmd.word == nil && len(x.Args) == 0 {
		return nil
	}
	call := &commandCall{command: cmd, at: c.site(x)}
	flat := true
	for i, arg := range x.Args {
		unpack := c.callTo(c.r.e.sand.unpack, arg)
		if unpack != nil && i == len(x.Args)-1 && !unpack.AdjustRet {
			call.args = append(call.args, argument{kind: computedWord, push: c.unpack(unpack)})
		} else {
			call.args = append(call.args, c.argumentOf(arg))
		}
		flat = flat && call.args[i].kind != computedWord
	}
	if flat {
		call.layOut()
	}
	return call
}

// layOut makes the words of a command none of whose arguments is computed.
func (k *commandCall) layOut() {
	if k.word != nil {
		k.words = append(k.words, k.word)
	}
	for _, arg := range k.args {
		arg.place = len(k.words)
		k.words = append(k.words, arg.word)
		if arg.kind != knownWord {
			k.open = append(k.open, arg)
		}
	}
}

// argumentOf compiles one argument.
func (c *compiler) argumentOf(x ast.Expr) argument {
	var known run
	switch x := x.(type) {
	case *ast.StringExpr:
		known.push(lua.LString(x.Value))
	case *ast.NumberExpr:
		known.push(literalNumber(x))
	case *ast.UnaryMinusOpExpr:
		if n, ok := c.negative(x); ok {
			known.push(n)
		}
	}
	if len(known.args) > 0 {
		return argument{kind: knownWord, word: append([]byte{}, known.args[0]...)} // not nil, even if it is empty
	}
	if choice, ok := x.(*ast.LogicalOpExpr); ok && choice.Operator == "or" {
		p, isParam := c.parameter(choice.Lhs)
		other, isText := choice.Rhs.(*ast.StringExpr)
		if isParam && isText {
			return givenArgument(p, append([]byte{}, other.Value...)) // not nil, even if it is empty
		}
	}
	if p, ok := c.parameter(x); ok {
		return givenArgument(p, nil)
	}
	if slot, ok := c.local(x); ok {
		return argument{kind: variableWord, linear: linear{slot: slot}}
	}
	if get, ok := x.(*ast.AttrGetExpr); ok {
		if keys, ok := c.argumentTable(get.Object); ok {
			arg := argument{kind: computedWord, keys: keys, push: pushWord(keys, c.index(get.Key))}
			if l, ok := c.linear(get.Key); ok {
				arg.kind, arg.linear = elementWord, l
			}
			return arg
		}
	}
	value := c.expression(x)
	arg := argument{kind: computedWord, push: func(a *activation) (bool, *failure) {
		v, fault := value(a)
		return fault == nil && a.e.run.push(v), fault
	}}
	if chain := c.callTo(c.r.e.sand.concat, x); chain != nil {
		if arg.parts = c.parts(chain.Args); arg.parts != nil {
			arg.kind = joinedWord
		}
	}
	return arg
}

// givenArgument is a literal KEYS[n] or ARGV[n], or other if the script was given none.
func givenArgument(p param, other []byte) argument {
	kind := argvWord
	if p.keys {
		kind = keyWord
	}
	return argument{kind: kind, index: p.index - 1, word: other}
}

// pushWord pushes KEYS[i] or ARGV[i].
func pushWord(keys bool, at index) pusher {
	return func(a *activation) (bool, *failure) {
		i, fault := at(a)
		list := a.given(keys)
		if fault != nil || i < 1 || i > len(list) {
			return false, fault
		}
		a.e.run.args = append(a.e.run.args, list[i-1])
		return true, nil
	}
}

// run has the host run the command, and puts the reply into a.reply, where an
// error of the script's own looks like one of the host's.
func (k *commandCall) run(a *activation) *failure {
	words, r := k.words, &a.e.run
	if words == nil {
		return k.runAny(a)
	}
	digits := len(r.digits)
	for i := range k.open {
		arg := &k.open[i]
		word := arg.word
		if arg.kind > argvWord {
			word = a.wordOf(arg)
		} else if list := a.lists[arg.kind]; uint(arg.index) < uint(len(list)) {
			word = list[arg.index]
		}
		if word == nil { // a missing one, or none at hand
			r.digits = r.digits[:digits]
			return k.runAny(a)
		}
		words[arg.place] = word
	}
	handle := k.handle
	if k.word == nil {
		handle = k.handleOf(textView(words[0]), a)
	}
	r.host.Call(handle, words, r.proto, &a.reply)
	r.digits = r.digits[:digits]
	return nil
}

// handleOf is the command of a name that the script computes.
func (k *commandCall) handleOf(name string, a *activation) Handle {
	if name != k.latest || name == "" {
		k.latest, k.latestHandle = strings.Clone(name), a.e.resolve(name)
	}
	return k.latestHandle
}

// wordOf is an argument by variables; nil if it is neither string nor number,
// or empty: the general way finds out.
func (a *activation) wordOf(arg *argument) []byte {
	switch arg.kind {
	case elementWord:
		at, ok := arg.at(a)
		if list := a.given(arg.keys); ok && uint(at-1) < uint(len(list)) {
			return list[at-1]
		}
		return nil
	case joinedWord:
		text, _ := a.joined(arg.parts)
		return text
	}
	switch v := a.slots[arg.slot].(type) {
	case lua.LString:
		return view(string(v))
	case lua.LNumber:
		return a.e.run.wordOf(float64(v))
	}
	return nil
}

// runAny is run for any arguments.
func (k *commandCall) runAny(a *activation) *failure {
	r := &a.e.run
	// An argument may itself be a call, whose words go behind the ones so far.
	mark, digits := len(r.args), len(r.digits)
	if k.word != nil {
		r.args = append(r.args, k.word)
	}
	good := true
	for i := range k.args {
		ok, fault := k.args[i].pushTo(a)
		if fault != nil {
			return fault
		}
		good = good && ok
	}
	words := r.args[mark:]
	handle := k.handle
	if good && k.word == nil && len(words) > 0 {
		handle = k.handleOf(textView(words[0]), a)
	}
	switch {
	case !good:
		a.reply = resp.Err(errArgumentType)
	case len(words) == 0:
		a.reply = resp.Err(errNoArguments)
	default:
		r.host.Call(handle, words, r.proto, &a.reply)
	}
	r.args, r.digits = r.args[:mark], r.digits[:digits]
	return nil
}

// pushTo appends the argument to the words of the command that is being called;
// false if it is none, or neither string nor number.
func (arg *argument) pushTo(a *activation) (bool, *failure) {
	r := &a.e.run
	word := arg.word
	switch arg.kind {
	case keyWord, argvWord:
		if list := a.lists[arg.kind]; uint(arg.index) < uint(len(list)) {
			r.args = append(r.args, list[arg.index])
			return true, nil
		}
	case knownWord:
	case variableWord:
		return r.push(a.slots[arg.slot]), nil
	default:
		return arg.push(a)
	}
	r.args = append(r.args, word)
	return word != nil, nil
}

// value is the call as an expression.
func (k *commandCall) value(a *activation) (lua.LValue, *failure) {
	if fault := k.run(a); fault != nil {
		return nil, fault
	}
	return k.result(a)
}

// result is a.reply as a value, or as the error that the call raises.
func (k *commandCall) result(a *activation) (lua.LValue, *failure) {
	switch {
	case a.reply.Kind == resp.Integer:
		return a.e.number(a.reply.Int), nil
	case a.reply.Kind == resp.Bulk:
		return a.e.run.boxes.string(a.reply.Str), nil
	case a.reply.Kind == resp.Array:
		return a.list(a.reply.List), nil
	case a.reply.Kind != resp.Error:
		return a.e.toLua(a.e.main, a.reply), nil
	case k.protect:
		return k.errorTable(a), nil
	}
	return nil, k.failure(a)
}

// errorTable is the reply as an error: that of the command, or of what has kept it
// from being called, which nobody has counted.
func (k *commandCall) errorTable(a *activation) *lua.LTable {
	switch text := a.reply.Str; text {
	case errArgumentType, errNoArguments:
		return field(a.e.main, "err", lua.LString(text))
	default:
		return errorTable(a.e.main, text)
	}
}

// failure is the reply as the error that redis.call raises.
func (k *commandCall) failure(a *activation) *failure {
	return k.at.raise(k.errorTable(a))
}
