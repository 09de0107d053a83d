package engine

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"
)

// scriptGrammar is one line per statement. A capital letter that stands alone is
// a value of a kind (see scriptAtoms) or, half the time where the kind is V, an
// expression of scriptExpressions. What the design leaves out (the order of
// pairs, holes, addresses) does not reach a reply, and nothing lasts long: two
// values behind a table would make table.insert move 2^31 elements.
const scriptGrammar = `
return E
return E
return E
return E,E
local a,b=E,E return a,b,a==b
local a,b=V,V return a O b
local a=V return a.x
local a=V return a.x.y
local a=V return a[1]
local a=V a.x=1 return a.x
local a=V a[V]=V return type(a)
local a=V return a:len()
local a=V return a()
local a=T return a.x.y.z
local a=T return a.f()
local a=T return a:f()
local a={b={}} return a.b.c.d
local a={b={}} return a.b.c()
local a={b={}} return a.b:c()
local a={b={}} return a.b.c+1
local a={b={}} return a.b.c..'x'
local a={b={}} return -a.b
local a=V return #a
local a=V return -a
local a=V return not a
local a=V return a .. V
local a=V local function f() return a+V end return f()
local a=V local function f() return a..'x' end return f()
local a=V local function f() return a.x.y end return f()
local a=V local function f() a() end return f()
local n=0 for i=N,N,N do n=n+1 if n>9 then break end end return n
local n=0 for i=V,V,V do n=n+1 if n>9 then break end end return n
local s='' for i=I,I,I do s=s..i..' ' if #s>60 then break end end return s
local n=0 for i,v in ipairs(V) do n=n+1 end return n
local n=0 for k,v in pairs(V) do n=n+1 end return n
local n=0 for k,v in next,T do n=n+1 end return n
local n,t=0,T for k,v in next,t do t[k]=nil n=n+1 end return n,next(t)
local n,t=0,T for k,v in pairs(t) do t[k]=nil n=n+1 end return n,next(t)
local n=0 for k,v in next,T,V do n=n+1 end return n
local n=0 for x in coroutine.wrap(function() for i=1,3 do coroutine.yield(V) end end) do n=n+1 end return n
local n=0 for x in T do n=n+1 end return n
local s='' for w in string.gmatch(S,P) do s=s..w..';' if #s>60 then break end end return s
local t=T table.insert(t,(V)) return #t,t[#t]
local t={1,2,3} table.insert(t,1,V) return #t,t[1],t[4]
local t=T table.insert(t,I,V) return t[1]
local t=T table.insert(t,S,V) return t[1]
local t=T return table.remove(t),#t
local t=T return table.remove(t,I),#t
local t={S,S,S,S} table.sort(t) return table.concat(t,',')
local t={N,I,N,I} table.sort(t,function(x,y) return x>y end) return table.concat(t,',')
local t={V or 1,V or 2,V or 3} table.sort(t) return table.concat(t,',')
local t=setmetatable({},{__index=function(_,k) return k end}) return t[V],t.x
local t=setmetatable({},{__add=function(a,b) return type(a)..type(b) end}) return t+V
local t=setmetatable({},{__add=function(a,b) return type(a)..type(b) end}) return V+t
local t=setmetatable({},{__concat=function(a,b) return type(a)..type(b) end}) return t .. V
local t=setmetatable({},{__concat=function(a,b) return type(a)..type(b) end}) return V .. t
local t=setmetatable({},{__call=function(_,...) return select('#',...) end}) return t(V,V)
local t=setmetatable({},{__unm=function() return 'unm' end}) return -t
local m={__eq=function() return true end,__lt=function() return true end} local
  a,b=setmetatable({},m),setmetatable({},m) return a==b,a<b,a<=b,a>b
local t=setmetatable({},{__tostring=function() return V end}) return tostring(t)
local t=setmetatable({},{__metatable=V}) return getmetatable(t)
local t=setmetatable({},V) return type(t)
local t=T t.x=V return rawget(t,'x'),rawequal(t,t)
local t=T return rawset(t,V,V)==t
local co=coroutine.create(function(a,b) local c=coroutine.yield(a O b) return c O a end) local
  x,y=coroutine.resume(co,V,V) local z,w=coroutine.resume(co,V) return x,y,z,w,coroutine.status(co)
local f=coroutine.wrap(function(...) error(V) end) return f()
local f=coroutine.wrap(function() coroutine.yield(V) end) f() return f(),f()
return coroutine.resume(coroutine.create(function() return V O V end))
return select(V,V,V)
return select('#',E)
return unpack(T)
return unpack(T,I,I)
return unpack(V,V,V)
return pcall(E)
return pcall(error,V)
return pcall(error,S,I)
error(V)
error(V,I)
return xpcall(function() return V O V end,function(m) return 'h:'..tostring(m) end)
return assert(V)
return assert(V,V)
return assert(V,S,V)
local f=loadstring(S) return type(f)
local f=loadstring('return '..S) return type(f)
return loadstring([[return V O V]],'=x')()
return redis.call(V)
return redis.call('SET',V,V)
return redis.pcall('SET','k',V).ok
return redis.pcall('INCRBY','k',V)
return redis.call('APPEND','k',V)
return redis.call('GET','k')
return redis.call('LPUSH','l',V)
return redis.pcall('GET','l').err
redis.call('SET',S,S) return redis.call('GET',S)
redis.call('HSET','h',S,N,S,I) return {redis.call('HGET','h',S),redis.call('HLEN','h')}
if redis.call('EXISTS',S) == 0 then redis.call('SET',S,V) return V end return redis.call('STRLEN',S)
local n=redis.call('INCRBY','n',I) if n > I then return n O I end return -n
for i=1,3 do redis.call('RPUSH','q',i O I,S) end return redis.call('LRANGE','q',I,I)
local v=redis.call('HGET','h',S) if v then return v else return redis.call('HINCRBY','h',S,I) end
redis.call('RPUSH','l',V,V) return redis.call('LRANGE','l',0,-1)
return redis.call('DEL','k','l')
return redis.sha1hex(V)
return redis.error_reply(V)
return redis.status_reply(V)
return cjson.encode(V)
return cjson.encode({V,V})
return cjson.encode({x=V})
return cjson.decode(J)
return cjson.encode(cjson.decode(J))
return cmsgpack.pack(V)
return cmsgpack.pack({V,V},V)
return cmsgpack.unpack(cmsgpack.pack(V))
return cmsgpack.unpack(S)
return struct.pack(G,V,V)
return struct.unpack(G,S)
return struct.size(G)
local a,b=V,V a,b=b,a return a,b
local a,b,c=V,V,V a,b,c=E,a,b O a return a,b,c
local a,b=N,V a,b=-a,{a,b} return a,b
local a,b=V,V b,a=a and b,b or a return a,b
local a,t=V,{x=V} a,t.x=t.x,a return a,t.x
local a,t=V,{x=V} local u=t t.x,t=a,{x=t.x} return t.x,u.x
local i,t=1,{V,V} i,t[i]=i+1,V return i,t
local t={V,V,V} t[1],t[3]=t[3],t[1] return t
local function f() return V,V end local a,b,c=V,f() c,a,b=f() return a,b,c
local a,b=V,V local function f() a,b=b,a return a O b end return f(),a,b
local s='' local function f(x) s=s..tostring(x) return x end local t={} t[f(N)],t[f(S)]=f(I),f(S) return s
local t={} for i=1,3 do local j=i O 1 t[i]=function() j=j..'x' return i,j end end return t[1](),t[1](),t[3]()
local function f(n,...) if n<1 then return V,... end return f(n-1,n,...) end return f(I%9)
local function f(...) local a,b=... return select('#',...),a,b,arg end return f(E,E)
local i=0 repeat local x=i i=i+1 until x==V or i>5 return i
local i=0 while i<9 do i=i+1 if i O 2 then break end end return i
local x=V if x==V then return 1 elseif not x then return 2 elseif V then return 3 else return 4 end
local t=T for i,v in ipairs(t) do t[i]={v,i} end return #t,t[1]
return {V,E;E,x=E,[V or 1]=V}
return (E),(V),(function(...) return ... end)(E,E)
local x=V
return x
local x=E
  return (x
  or V) O
  V
return string.rep(S,
  I)
local t=T
  return t.a
  .b
local t=V
  t.x=
  E
for i=V,
  V do
  return i
  end
local t={x=T,
  y=V}
  return t.x.y.z,
  t.y
`

// scriptExpressions are expressions, of the same letters.
const scriptExpressions = `
(string.gsub(tostring(V),'0x%x+','ADDRESS'))
tonumber(V)
tonumber(S,B)
tonumber(V,V)
type(V)
V O V
V O V
N O N
N O N
(V) O (N) O (I)
V and V
V or V
not V
-N
#S
#T
S .. N
N .. N
string.format(F,V)
string.format(F,N)
string.format(F,S)
string.format(F,I)
string.format(F..F,V,V)
string.format('%5.2s|%-5s|%q',S,S,S)
string.format('%9s|%-9s|%-9.3s|','äö'..S,'äö'..S,'äö'..S)
string.format('%c%i%u%x%X%o',I,I,I,I,I,I)
string.format('%e %g %f %a',N,N,N,N)
string.rep(S,N%20)
string.rep(V,N%20)
string.rep(S,V==nil)
(S):rep(N%20)
(S):upper()
(S):lower()
(S):reverse()
(S):len()
string.sub(S,I,I)
string.sub(V,V,V)
(S):sub(N,N)
string.byte(S,I,I)
string.byte(V,V)
select('#',string.byte(string.rep('a',9000),1,7990+I))
string.char(I,I)
string.char(V)
string.find(S,P)
string.find(S,P,I)
string.find(S,S,I,true)
string.find(V,V,V)
string.match(S,P)
string.match(S,P,I)
string.gsub(S,P,R)
string.gsub(S,P,R,I)
string.gsub(S,P,V)
string.gsub(S,P,{a='x',b=1,['1']=false})
string.gsub(S,P,function(...) return V end)
string.gsub(V,V,V)
string.len(V)
string.upper(V)
string.reverse(V)
string.gmatch(V,V)
table.concat(T)
table.concat(T,S)
table.concat(T,S,I,I)
table.concat({V or 1,V or 2,V or 3},V)
table.concat(V)
table.getn(V)
table.maxn(T)
table.maxn(V)
table.insert(V,(V))
table.insert(V,I,V,V)
table.insert(V)
table.remove(V)
table.sort(V)
math.floor(V)
math.floor(N)
math.ceil(N)
math.abs(N)
math.max(N,N,N)
math.min(V,V)
math.max()
math.fmod(N,N)
math.fmod(V,V)
math.ldexp(V,V)
math.modf(N)
math.sqrt(N)
math.frexp(N)
math.ldexp(N,I)
bit.band(I,I)
bit.bor(V,V)
bit.bor(V,V,V)
bit.tohex(V,V)
bit.bxor(N,N)
bit.lshift(I,I)
bit.rshift(N,I)
bit.arshift(N,I)
bit.rol(N,I)
bit.bswap(N)
bit.tohex(N)
bit.tohex(N,I)
bit.tobit(N)
bit.bnot(V)
rawequal(V,V)
rawget(V,V)
type(rawset(V,V,V))
rawlen
next(V)
next(T,V)
next(V,V)
ipairs(V)
pairs(V)
type(getmetatable(V))
setmetatable(V,V)
unpack(V)
select(V)
select(I,V,V,V)
type((loadstring(V)))
coroutine.status(V)
coroutine.resume(V)
coroutine.create(V)
coroutine.wrap(V)
coroutine.running()
(coroutine.yield(V))
pcall()
pcall(V)
xpcall(V)
xpcall(V,V)
assert()
error()
undefinedname
undefinedname.x
string.nosuch(V)
redis.nosuch(V)
tostring()
tonumber()
type()
redis.call()
redis.pcall()
redis.log(V)
redis.setresp(V)
redis.sha1hex()
cjson.decode(V)
cjson.encode()
cmsgpack.pack()
#cmsgpack.pack(unpack({},1,3990+I))
cmsgpack.unpack_one(S,N)
struct.pack(G)
struct.unpack(G,S,I)
select('#',struct.unpack(string.rep('b',7990+I),string.rep('a',9000)))
struct.size(V)
redis.set_repl(S)
`

// scriptAtoms are the values of each kind, one in each word.
var scriptAtoms = map[string][]string{
	"N": strings.Fields("0 1 -1 2 3 10 0.5 -0.5 1.5 2.5 1e15 123456789012345 1e14 99999999999999 1e100 -1e100 " +
		"2^53 -2^53 " +
		"2^31 -2^31 2^32 2^63 -2^63 2^64 1/0 -1/0 0/0 -(0/0) 0.1 1/3 1e-5 0x10 1e16 1e21"),
	"I": strings.Fields("0 1 -1 2 3 4 -2 -3 5 10 65 97 255 256 -10 20 '2' 1.9"),
	"B": strings.Fields("2 8 10 16 36 1 37 0 -1 '16' 3.7"),
	"S": strings.Fields(`'' 'a' 'abc' 'hello_world' '10' '_10_' '0x10' '-0x1F' '1e2' '1e' '0x' 'inf' 'nan' ` +
		`'zz' 'Z' '7f' ` +
		`'\0' 'a\0b' 'a%b' '(x)' '[a]' '-' 'a.b.c' 'key=val,k2=v2' '\255\254' 'x\ny' '"q"' '\\' '.5' '5.' '+1' ` +
		`'--1' '1_' '0b1'`),
	"P": strings.Fields(`'' 'a' '.' '%a+' '%d+' '%w*' '.-' '(.)' '(.)(.)' '()' '^a' 'a$' '^' '$' '[a-c]' ` +
		`'[^a]' '[' '[]' '[^]' '[a' ` +
		`'%' '(' ')' '%1' '(%1' '()%1' '%b()' '%b' '%bx' '%f[%w]' '%f' '%fa' '[%w_]' '[%' '[a-' '[]a]' '*' '+' ` +
		`'?' '-' 'a-' '.*' '(a*(.)%w(%s*))' ` +
		`'%z' '%s' '%p' '%x' '%l%u' '%c' '%g' '%.' '%%' '(.)%1' '\0' '[\0-z]' 'l+' '(%w+)=(%w+)' 'o*' '((((a))))' '%2'`),
	"R": strings.Fields(`'' 'x' '%0' '%1' '%2' '%%' '%' '%x' '<%0>' '%1%1' '%9' 'a%' 1 1.5`),
	"F": strings.Fields(`'%d' '%5d' '%-5d|' '%05d' '%+d' '%.3d' '%i' '%u' '%x' '%X' '%#x' '%o' '%#o' '%c' '%e' ` +
		`'%.3e' '%E' '%f' '%.0f' '%5.1f' ` +
		`'%g' '%.3g' '%G' '%#g' '%s' '%10s|' '%-10s|' '%.2s' '%5.1s' '%q' '%%' '%' '%y' '%5' '%.' '%10.123f' ` +
		`'%123d' '%.20f' '%+_d' '%0d' '%_d' ` +
		`'%ld' '%p' '%a' '%-05d' '%+.3e' '%.14g' '%.17g' '%#.3x' '%5%' '%.0s' '%---5d' '%++++++d' ` +
		`'%02x' '%08X' '%#08x' '%#.3o' '%#.0o'`),
	"G": strings.Fields(`'b' 'B' 'h' 'H' 'i' 'I' 'l' 'L' 'f' 'd' 's' 'c3' 'c0' 'x' '>i4' '<I2' '!4bi' 'i3' ` +
		`'i16' 'i33' 'i9' 'dc0' '>d' 'bc0' '!3' 'I8' 'T' '_b'`),
	"J": strings.Fields(`'[]' '{}' '[1,2]' '{"a":1}' '[1,' '{"a"' '1' 'null' 'true' 'nul' '"a"' '"\\u0041"' ` +
		`'"\\ud83d\\ude00"' '"\\x"' '[[[]]]' ` +
		`'-1.5e3' '01' '0x1F' 'nan' '-' '[1.0,1e2]' '{"1":2}' '[null,false]' '"' '' '__1_' '[1]x' '{1:2}'`),
	"T": strings.Fields("{} {1} {1,2,3} {'a','b','c'} {x=1} {1,x=2} {{1}} {1,'a',true} {'b','a'} {f=1} {{},{}}"),
	"O": strings.Split("+|-|*|/|%| .. |==|~=|<|<=|>|>=| and | or ", "|"),
	"V": strings.Fields("nil true false N N N I S S S S T T 0 '' {} function()_end E E E E string.len " +
		"cjson.null coroutine.create(type)"),
}

// scriptMaker makes random programs.
type scriptMaker struct {
	random      *rand.Rand
	statements  []string
	expressions []string
}

func (m *scriptMaker) pick(list []string) string { return list[m.random.Intn(len(list))] }

// fill replaces the letters of a template; depth bounds expressions in expressions.
func (m *scriptMaker) fill(template string, depth int) string {
	var b strings.Builder
	isWord := func(i int) bool {
		if i < 0 || i >= len(template) {
			return false
		}
		c := template[i] | 0x20
		return 'a' <= c && c <= 'z' || template[i] == '_' || '0' <= template[i] && template[i] <= '9'
	}
	for i := range len(template) {
		letter := template[i : i+1]
		switch {
		case !strings.Contains("NIBSPRFGJTOVE", letter) || isWord(i-1) || isWord(i+1):
			b.WriteString(letter)
		case letter == "E" && depth > 0:
			b.WriteString(m.fill(m.pick(m.expressions), depth-1))
		case letter == "E":
			b.WriteString(m.atom("N"))
		case letter == "V":
			b.WriteString(m.fill(m.atom("V"), depth))
		default:
			b.WriteString(m.atom(letter))
		}
	}
	return b.String()
}

// atom is a value of a kind; _ stands for a blank, but in names.
func (m *scriptMaker) atom(kind string) string {
	atom := m.pick(scriptAtoms[kind])
	if strings.HasPrefix(atom, "'") || strings.HasPrefix(atom, "function") {
		atom = strings.ReplaceAll(atom, "_", " ")
	}
	return atom
}

// scriptPrelude shows results without what the two servers may not share.
const scriptPrelude = `local out={}
local function one(v)
  local k=type(v)
  if k=='number' then return string.format('%.17g',v)..'/'..tostring(v) end
  if k=='string' then return '"'..string.gsub(v,'0x%x%x%x%x%x%x+','ADDRESS')..'"' end
  if k=='table' then
    local s='{'
    for i=1,4 do
      local x=rawget(v,i)
      if x~=nil then s=s..(type(x)=='table' and 'table' or one(x))..',' end
    end
    return s..'}'
  end
  if k=='nil' or k=='boolean' then return tostring(v) end
  return k
end
local function show(...)
  local s=''
  for i=1,math.min(select('#',...),20) do s=s..one((select(i,...)))..' ' end
  out[#out+1]=s
end
`

// scriptLines is a program of statements of scriptGrammar. Each but the last one is
// protected, and the last one is too unless bare is set.
type scriptLines struct {
	statements []string
	bare       bool
}

// newScriptMaker returns a maker of programs of scriptGrammar, whose lines that begin
// with a blank it joins to the ones before.
func newScriptMaker(random *rand.Rand) *scriptMaker {
	return &scriptMaker{
		random:      random,
		statements:  strings.Split(strings.ReplaceAll(strings.TrimSpace(scriptGrammar), "\n ", "\r "), "\n"),
		expressions: strings.Split(strings.TrimSpace(scriptExpressions), "\n"),
	}
}

// program makes a program of one to six statements.
func (m *scriptMaker) program() *scriptLines {
	p := &scriptLines{statements: make([]string, 1+m.random.Intn(6))}
	for i := range p.statements {
		p.statements[i] = m.fill(m.pick(m.statements), 2)
	}
	p.bare = m.random.Intn(3) == 0 && !raisesValues(p.statements[len(p.statements)-1])
	return p
}

func (p *scriptLines) String() string {
	if p.bare && len(p.statements) == 1 {
		return p.statements[0] + "\n" // nothing else, as locks are: that runs in another way
	}
	var b strings.Builder
	b.WriteString(scriptPrelude)
	for i, s := range p.statements {
		if p.bare && i == len(p.statements)-1 {
			fmt.Fprintf(&b, "%s\n", s)
			return b.String()
		}
		fmt.Fprintf(&b, "show(pcall(function() %s end))\n", s)
	}
	b.WriteString("return out\n")
	return b.String()
}

// shrink drops statements as long as what is left still differs.
func (p *scriptLines) shrink(differs func() bool) {
	for i := 0; i < len(p.statements) && len(p.statements) > 1; {
		before := p.statements
		p.statements = slices.Delete(slices.Clone(before), i, i+1)
		if !differs() {
			p.statements = before
			i++
		}
	}
}
