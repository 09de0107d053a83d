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
	args []argument
	at   *site
	flat bool // no argument is computed

	latest       string // the name that was resolved last, if the script computes it
	latestHandle Handle
}

// argument is one argument of a command, or the last ones. One that is known
// before the script runs, and one of the script's own, need not become a Lua value.
type argument struct {
	kind     argumentKind
	param           // of givenWord, without an index if that is known; of elementWord only which table
	word     []byte // of givenWord, if the script was given none; nil: no word
	variable int    // the slot of variableWord
	linear          // the index of elementWord
	push     pusher // of computedWord; of any other, what computes it in the general way; may be nil
}

type argumentKind uint8

const (
	givenWord argumentKind = iota // a literal KEYS[n] or ARGV[n], or what is known beforehand
	variableWord
	elementWord // KEYS[i] or ARGV[i], by a variable
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
	call := &commandCall{command: cmd, at: c.site(x), flat: true}
	for i, arg := range x.Args {
		unpack := c.callTo(c.r.e.sand.unpack, arg)
		if unpack != nil && i == len(x.Args)-1 && !unpack.AdjustRet {
			call.args = append(call.args, argument{kind: computedWord, push: c.unpack(unpack)})
		} else {
			call.args = append(call.args, c.argumentOf(arg))
		}
		call.flat = call.flat && call.args[i].kind != computedWord
	}
	return call
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
		if n, ok := x.Expr.(*ast.NumberExpr); ok {
			known.push(-literalNumber(n))
		}
	}
	if len(known.args) > 0 {
		return argument{kind: givenWord, word: append([]byte{}, known.args[0]...)} // not nil, even if it is empty
	}
	if choice, ok := x.(*ast.LogicalOpExpr); ok && choice.Operator == "or" {
		p, isParam := c.parameter(choice.Lhs)
		other, isText := choice.Rhs.(*ast.StringExpr)
		if isParam && isText {
			return argument{kind: givenWord, param: p, word: append([]byte{}, other.Value...)} // not nil, even if it is empty
		}
	}
	if p, ok := c.parameter(x); ok {
		return argument{kind: givenWord, param: p}
	}
	if slot, ok := c.local(x); ok {
		return argument{kind: variableWord, variable: slot}
	}
	if get, ok := x.(*ast.AttrGetExpr); ok {
		if keys, ok := c.argumentTable(get.Object); ok {
			arg := argument{kind: computedWord, param: param{keys: keys}, push: pushWord(keys, c.index(get.Key))}
			if l, ok := c.linear(get.Key); ok {
				arg.kind, arg.linear = elementWord, l
			}
			return arg
		}
	}
	value := c.expression(x)
	return argument{kind: computedWord, push: func(a *activation) (bool, *failure) {
		v, fault := value(a)
		return fault == nil && a.e.run.push(v), fault
	}}
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
	if !k.flat {
		return k.runAny(a)
	}
	r := &a.e.run
	digits := len(r.digits)
	words := k.words(a)
	switch {
	case words == nil:
		r.digits = r.digits[:digits]
		return k.runAny(a)
	case k.handle != NoCommand:
		r.host.Call(k.handle, words, r.proto, &a.reply)
	default:
		k.send(a, words, true)
	}
	r.digits = r.digits[:digits]
	return nil
}

// words are those of a flat command, behind the ones of commands that wait for
// their arguments; nil if one is missing or no text, or there is no room.
func (k *commandCall) words(a *activation) [][]byte {
	r := &a.e.run
	before := len(r.args)
	if cap(r.args)-before <= len(k.args) {
		return nil
	}
	words := r.args[before : before+len(k.args)]
	rest := words
	if k.word != nil {
		words = r.args[before : before+1+len(k.args)]
		words[0], rest = k.word, words[1:]
	}
	for i := range rest {
		arg := &k.args[i]
		word := arg.word
		if arg.kind != givenWord {
			word = k.wordOf(arg, a)
		} else if given, ok := a.word(arg.param); ok {
			rest[i] = given
			continue
		}
		if word == nil {
			return nil
		}
		rest[i] = word
	}
	return words
}

// wordOf is an argument of a variable or by one; nil if it is neither string nor
// number, or empty: the general way finds out.
func (k *commandCall) wordOf(arg *argument, a *activation) []byte {
	if arg.kind == elementWord {
		at, ok := arg.at(a)
		if list := a.given(arg.keys); ok && uint(at-1) < uint(len(list)) {
			return list[at-1]
		}
		return nil
	}
	r := &a.e.run
	switch v := a.slots[arg.variable].(type) {
	case lua.LString:
		return view(string(v))
	case lua.LNumber:
		start := len(r.digits)
		r.digits = formatNumber(r.digits, float64(v), 17)
		return r.digits[start:len(r.digits):len(r.digits)]
	}
	return nil
}

// runAny is run for any arguments.
func (k *commandCall) runAny(a *activation) *failure {
	r := &a.e.run
	// An argument may itself be a call, whose words go behind the ones so far.
	mark, digits := len(r.args), len(r.digits)
	all := r.args
	if k.word != nil {
		all = append(all, k.word)
	}
	good := true
	for i := range k.args {
		arg := &k.args[i]
		switch arg.kind {
		case givenWord:
			word, ok := a.word(arg.param)
			if !ok {
				word, ok = arg.word, arg.word != nil
			}
			all = append(all, word)
			good = good && ok
			continue
		case variableWord:
			r.args = all
			good = r.push(a.slots[arg.variable]) && good
			all = r.args
			continue
		}
		r.args = all
		ok, fault := arg.push(a)
		if fault != nil {
			return fault
		}
		all = r.args
		good = good && ok
	}
	r.args = all
	words := all[mark:]
	if good && k.handle != NoCommand {
		r.host.Call(k.handle, words, r.proto, &a.reply)
	} else {
		k.send(a, words, good)
	}
	r.args, r.digits = r.args[:mark], r.digits[:digits]
	return nil
}

// send calls the host for a command whose name is known only now, unless the
// words are none.
func (k *commandCall) send(a *activation, words [][]byte, good bool) {
	r := &a.e.run
	if len(words) == 0 && good {
		a.reply = resp.Err(errNoArguments)
		return
	}
	if !good {
		a.reply = resp.Err(errArgumentType)
		return
	}
	handle := k.handle
	if k.word == nil {
		if name := textView(words[0]); name != k.latest || name == "" {
			k.latest, k.latestHandle = strings.Clone(name), a.e.resolve(name)
		}
		handle = k.latestHandle
	}
	if handle == NoCommand {
		a.reply = resp.Err(errNoCommand)
		return
	}
	r.host.Call(handle, words, r.proto, &a.reply)
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
		return errorTable(a.e.main, a.reply.Str), nil
	}
	return nil, k.failure(a)
}

// failure is the reply as the error that redis.call raises.
func (k *commandCall) failure(a *activation) *failure {
	return k.at.raise(errorTable(a.e.main, a.reply.Str))
}
