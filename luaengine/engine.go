package luaengine

import (
	lua "github.com/yuin/gopher-lua"

	"minikv/internal/resp"
)

// Stack sizes in Lua's own terms. A thread is made anew after each failed
// script, so it starts small and grows.
const (
	maxCalls      = 8000    // nested calls; Lua has 20000, but gopher-lua's stack traces take quadratic time
	startSlots    = 1024    // registers of a new thread
	maxSlots      = 1 << 18 // registers at most: scripts that need more overflow the stack
	slotsPerGrow  = 4096
	maxNesting    = 200 // nested calls from C into Lua: LUAI_MAXCCALLS
	maxHandling   = 225 // the same while an error is handled
	maxCached     = 4096
	reusableTable = 64 // KEYS and ARGV tables beyond this length are not kept
)

// Engine runs scripts. It owns the Lua state, which is made on first use, and
// the compiled scripts. It is not safe for concurrent use.
type Engine struct {
	resolve    Resolver
	noFast     bool
	noClosures bool
	maxReply   int                // bytes
	scripts    map[string]*Script // by SHA1

	compiled     []*Script // in the order in which they will be put away
	compiledSize int       // of all of these

	main       *lua.LState   // owns the globals; runs nothing
	thread     *lua.LState   // runs scripts; nil after one has failed
	spare      []*lua.LState // for protected calls
	sand       sandbox
	ids        int // chunks compiled so far
	run        run
	activation activation
	loading    *Script // the library that is being loaded
	numbers    [smallNumbers]lua.LValue
}

// run is the state of one execution.
type run struct {
	host      Host
	script    *Script
	step      func(Step)
	proto     int     // 2, or 3 after redis.setresp(3)
	ticks     int     // since the script began
	killed    killed  // why the host has ended the script
	replyLeft int     // bytes that the reply may take
	depth     int     // nested calls from Go into Lua
	guests    []guest // the protected calls, the innermost one last
	loaded    []*chunk
	args      [][]byte // of the command being called
	digits    []byte   // what the numbers among args are printed into
	boxes     boxes
	text      []byte // what closures have concatenated
}

// RunOptions are the settings of one execution.
type RunOptions struct {
	// Step, unless nil, is called before each statement of the script. Such a run is slower
	// and gives the same replies.
	Step func(Step)
}

// New returns an engine that finds commands by resolve. It costs next to
// nothing until the first script is compiled.
func New(resolve Resolver) *Engine {
	return &Engine{resolve: resolve, maxReply: maxReply, scripts: make(map[string]*Script)}
}

// SetFastPass turns the optimisation on or off, for scripts compiled from now on. It is
// on in a new engine. Tests and benchmarks compare the two.
func (e *Engine) SetFastPass(on bool) {
	e.noFast = !on
	clear(e.scripts)
}

// SetClosures turns the compilation to Go closures on or off, for scripts compiled from
// now on. It is on in a new engine, and has no effect without the fast pass.
func (e *Engine) SetClosures(on bool) {
	e.noClosures = !on
	clear(e.scripts)
}

// Run executes s on h and returns the reply for the client; an error is a value of kind
// resp.Error. keys and argv are read only during the call, and the reply does not refer
// to them. It is valid until the next run.
func (e *Engine) Run(s *Script, h Host, keys, argv [][]byte, opt RunOptions) (reply resp.Value) {
	own := &e.activation.own
	e.RunInto(own, s, h, keys, argv, opt)
	reply, *own = *own, resp.Value{}
	return reply
}

// RunInto is Run, but sets reply in place of returning it.
func (e *Engine) RunInto(reply *resp.Value, s *Script, h Host, keys, argv [][]byte, opt RunOptions) {
	c, err := s.chunk, error(nil)
	s.used = true
	if c == nil || opt.Step != nil {
		c, err = e.chunkToRun(s, opt)
	}
	switch {
	case err != nil:
		*reply = resp.Err(compileError(err))
	case c.program != nil && s.function == nil:
		e.run.host, e.run.script = h, s
		e.activation.lists[keyWord], e.activation.lists[argvWord] = keys, argv
		e.runProgram(c.program, reply)
	default:
		*reply = e.runMachine(c, s, h, keys, argv, opt)
	}
}

// chunkToRun is what of s runs now.
func (e *Engine) chunkToRun(s *Script, opt RunOptions) (*chunk, error) {
	if s.function != nil {
		return s.chunk, nil
	}
	c, err := e.fetch(s)
	if opt.Step != nil && err == nil {
		return e.stepping(s)
	}
	return c, err
}

// runMachine has gopher-lua run a chunk, or the function of a library.
func (e *Engine) runMachine(c *chunk, s *Script, h Host, keys, argv [][]byte, opt RunOptions) resp.Value {
	if s.function != nil {
		opt = RunOptions{}
	}
	e.begin(s, h, opt)
	defer e.end(c)
	if s.function != nil {
		return e.runFunction(s, keys, argv)
	}
	return e.execute(c, keys, argv)
}

func (e *Engine) begin(s *Script, h Host, opt RunOptions) {
	r := &e.run
	r.host, r.script, r.step = h, s, opt.Step
	r.proto, r.ticks, r.depth, r.killed = 2, 0, 0, killed{}
	r.args, r.digits, r.guests = r.args[:0], r.digits[:0], r.guests[:0]
}

// end drops what the run has kept, so that no value of one script is seen by
// the next.
func (e *Engine) end(c *chunk) {
	r := &e.run
	r.step = nil
	r.loaded = r.loaded[:0]
	r.forget()
	c.fn.Env = e.sand.globals
	if !c.tame {
		e.sand.dropTables()
	}
}

// forget drops the values of the run.
func (r *run) forget() {
	r.host, r.script = nil, nil
	r.boxes.reset()
	r.text = r.text[:0]
}

// execute calls the script's main function. A failure leaves the thread in the
// middle of its calls, so the thread is dropped: making one costs less than
// protecting every call.
func (e *Engine) execute(c *chunk, keys, argv [][]byte) (reply resp.Value) {
	if e.thread == nil {
		e.thread = e.newThread()
	}
	L := e.thread
	defer func() {
		if cause := recover(); cause != nil {
			reply = e.failed(L, cause)
			e.thread = nil
		}
	}()
	if c.tables {
		e.sand.setTables(&e.run.boxes, keys, argv)
	}
	L.Push(c.fn)
	for _, p := range c.params {
		L.Push(e.argument(p, keys, argv))
	}
	L.Call(len(c.params), 1)
	reply = e.reply(L.Get(-1))
	L.Pop(1)
	return reply
}

// argument is the value of one literal KEYS[n] or ARGV[n].
func (e *Engine) argument(p param, keys, argv [][]byte) lua.LValue {
	list := argv
	if p.keys {
		list = keys
	}
	if p.index > len(list) {
		return lua.LNil
	}
	return e.run.boxes.bytes(list[p.index-1])
}

func (e *Engine) newThread() *lua.LState {
	thread, _ := e.main.NewThread()
	thread.Panic = plainPanic
	e.main.G.MainThread, e.main.G.CurrentThread = thread, thread
	return thread
}

// plainPanic ends protected calls of the main thread without the cost of a
// stack trace.
func plainPanic(L *lua.LState) {
	panic(&lua.ApiError{Type: lua.ApiErrorRun, Object: L.Get(-1)})
}
