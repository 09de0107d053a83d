package engine

// luaGrammar makes programs of statements that build on each other, where
// scriptGrammar's say one thing each. A line is a weight, a kind and a template, and goes on where the next one
// begins with a blank; a
// statement's kind is "do" if it holds no others, else "block". In a template @ is
// followed by
//
//	n s l f v a c   an expression: number, text, list, function, one of the first
//	                three, anything, condition
//	N t T k         constants: a number, a text, either of them, that or a list of it
//	r i o g         what may fail, an index, an operator, what can be called
//	|               a line break, or nothing
//	=n              a variable of the kind, or a field of T
//	+n *n -n        a variable that is declared: behind the statement, here, or for the
//	                statements that come next in it
//	~               the one of +, * or = that was named last
//	.               here ends what those of - are visible in
//	b               statements: a block, w the body of a loop, u that of a repeat, whose
//	                variables the condition sees, p the body of a function, y of a coroutine
//
// A variable's name begins with its kind, and keeps it; there are so few names that
// they hide each other. Lists have no holes. Texts grow by a few bytes or are cut.
// Loops and functions ask over(), which ends them all after a while: before they nest so
// deep that Lua counts it, which docs/differences.md is about.
const luaGrammar = `
8 do local @+n=@n
4 do local @+s=@s
4 do local @+l=@l
5 do local @+a=@a
2 do local @+a
3 do local @+n,@+a=@n,@a
2 do local @+a,@+a=@g(@n,@a)
2 do local @+s,@+n=@s,@n,@a
2 do local @+a,@+a,@+a=@a,@g(@n)
8 do @=n=@n
3 do @=s=@s
2 do @=l=@l
4 do @=a=@a
2 do @=f=@f
4 do @=n=@~@o@=n
2 do @=n=@~*@=n+0
1 do @=n=@~/2
2 do @=n=@=n@o@=n
2 do @=s=@=s .. @T
2 do @=s=@T .. @=s
1 do @=a=@~ .. @T
3 do show(pcall(function() return @r end))
2 do show(pcall(function() @=a=@r end))
1 do @=a=@r
4 do @=n,@=n=@=n,@=n
4 do @=n,@=n=@n,@n
3 do @=a,@=a=@a,@a
3 do @=n,@=a,@=s=@n,@a,@s
2 do @=a,@=a=@g(@n,@a)
2 do @=a,@=n,@=a=@a,@n
2 do @=n,@=l[1]=@n,@v
3 do @=l[1],@~[2]=@~[2] or @k,@~[1] or @k
2 do @=l[1],@=l=@v,@l
2 do @=l,@=l[1]=@l,@v
3 do @=l[#@~+1]=@k
1 do @=l[#@~]=nil
2 do @=l[#@~%2+1]=@k
2 do @=l.x=@a
2 do T['x' .. @s]=@a
2 do T.a=@a
6 do show(@n,@s)
5 do show(@a)
3 do show(@l,@g(@n,@a))
2 do show(pcall(@f,@n,@a))
2 do @=f(@n,@a)
2 do table.insert(@=l,(@v))
1 do table.insert(@=l,1,@v)
2 do show(table.remove(@=l),#@~)
1 do show(table.remove(@=l,1))
1 do show(unpack(@=l,1,@i))
2 do L[#L+1]=@f
1 do redis.call('SET',KEYS[1],@T)
1 do @=a=redis.call('GET',KEYS[1])
1 do redis.call('RPUSH',KEYS[2],@T,@n)
1 do @=a=redis.call('LRANGE',KEYS[2],0,-1)
1 do @=n=redis.call('INCRBY',KEYS[1],@i)
1 do show(redis.pcall('HINCRBY',KEYS[1],ARGV[1],ARGV[@i]))
1 do if @c then error(@s) end
1 do if @c then error({@a}) end
1 do assert(@a,@s)
1 do show(coroutine.status(coroutine.create(@f)))
1 do local @+f=loadstring('local a,b=... b=b or a return a@ob,...')
1 do local @+f=load(function() local s=T.chunk T.chunk=nil return s end) or many
3 block do @b end
6 block if @c then @b end
4 block if @c then @b else @b end
3 block if @c then @b elseif @c then @b else @b end
1 block if @c then @b elseif @c then @b elseif @c then @b end
4 block for @-n=1,3 do @w end
2 block for @-n=3,1,-1 do @w end
2 block for @-n=@n,@n do if over() then break end @w end
1 block for @-n=@n,@n,@n do if over() then break end @w end
1 block for @-n=@i,#@=l do if over() then break end @w end
2 block for @-n,@-v in ipairs(@l) do if over() then break end @w end
1 block for @-n in pairs({@v,@v}) do @w end
1 block for @-a,@-a in next,{[@k]=@a} do @w end
1 block for @-s in (@s):gmatch('%w') do if over() then break end @w end
1 block for @-a in coroutine.wrap(function() @y end) do if over() then break end @w end
1 block local i=0 for @-a in function(...) i=i+1 if i<4 then return @v end end,@a do if over() then break end @w end
2 block while @c do if over() then break end @w end
2 block local @*n=0 while @~<3 do if over() then break end @w @~=@~+1 end
2 block repeat @u until over() or @c
2 block local @*n=3 repeat @~=@~-1 @u until @~<1 or over() or @c
6 block local function @*f(@-n,@-a) if over() then return 0 end @p return @n,@a end
3 block local @+f=function(@-n,...) if over() then return 0 end @p return @n,... end
2 block local function @*f(...) if over() then return 0 end local @-n,@-a=... @p return select('#',...),@a end
2 block local function @*f(@-n,...) if over() then return 0 end local @-a=@a @p @=a=(...) return @n,@a end
1 block local function @*f(@-n,...) if over() then return 0 end @p return #arg,arg.n,arg[1] end
1 block local function @*f(@-n,@-a) if over() then return 0 end @p return @g(@n,@a) end
2 block local function @*f(k,@-a) if k<1 or over() then return 0 end @p return @~(k-1,@a) end
2 block function T.f(@-n,@-a) if over() then return 0 end @p return @n,@a end
1 block @=f=function(@-n) if over() then return 0 end @p return @n end
4 block for @-n=1,2 do @w L[#L+1]=function() @p return @n,@a end end
2 block for @-n=1,2 do local @-n,@-a=@n,@a @w L[#L+1]=function() @=n=@n @=a=@a return @=n,@=a end @w end
5 block show(pcall(function(...) @p return @n,... end,@a))
1 block show(pcall(function() @p error(@a) end))
1 block show(xpcall(function() @p return @a end,function(m) return type(m),@n end))
2 block local @+a=coroutine.wrap(function(@-n,@-a) @y return @n,@a end@.) show(pcall(@~,@n,@a))
 show(pcall(@~,(@a))) show(pcall(@~,(@a)))
1 block local co=coroutine.create(function(...) @y return @a end) @b show(coroutine.resume(co,@n,@a)) @b
 show(coroutine.resume(co,(@a)),coroutine.status(co))
1 block local @+a=setmetatable({x=@a},{__index=function(t,k) if over() then return 0 end @p return @a end@.})
 show(@~,pcall(function() return @~.x,@~[@v] end))
1 block local @+a=setmetatable({},{__newindex=function(t,k,v) if over() then return end @p rawset(t,k,@v)
 end@.}) @~.x=@a @~[@t],T.n=@a,@n show(@~.x,@n)
1 block local @+a=setmetatable({},{__call=function(t,@-n,...) if over() then return 0 end @p return @n,...
 end@.}) show(@~(@n,@a),(@~(@n)))
1 block local m={__add=function(x,y) if over() then return 0 end @p return @n end,__concat=function(x,y) if
 over() then return '' end return @s end,__unm=function(x) if over() then return end return @a end} local
 @+a=setmetatable({},m) show(pcall(function() return @~+@n,@n+@~,@~ .. @T,@T .. @~,-@~,@~+@~ end))
1 block local m={__eq=function(x,y) if over() then return true end return @c end,__lt=function(x,y) if over()
 then return true end return @c end,__le=function(x,y) if over() then return true end return @c end} local
 x,y=setmetatable({@a},m),setmetatable({@a},m) show(x==y,x~=y,x==@a) show(pcall(function() return x<y,x>=y,x>y
 end))
2 block local @+a={n=@n} function @~:add(@-n,@-a) if over() then return self end @p self.n=self.n+@n return
 self end show(pcall(function() return @~:add(@n,@a):add(@n).n end))
1 do table.sort(@=l,function(x,y) if over() then return false end return text(x)<text(y) end)
1 block @=s=cut((@s):gsub('%w',function(@-s) if over() then return end @p return @t end))
6 n @N
6 n @=n
4 n @n@o@|@n
3 n @=n@o@=n
2 n (@n)@o(@n)
2 n (0-@=n)
1 n (0-(@n))
2 n (@=n*@n+0)
1 n ((@n)*(@n)+0)
1 n (@=n*(@g(@n))+0)
1 n @=n%@n
1 n @n%3
2 n #@=l
1 n #@=s
1 n #{@v,@v}
1 n (@s):len()
1 n num(@a)
2 n (@g(@n,@a))
1 n select('#',@a,@g(@n,@a))
1 n select('#',@g(@n))
1 n math.max(@n,@n)
1 n math.floor(@n)
2 n ((@c) and @n or@|@n)
1 n (@=n and @=n or @=n)
1 n tonumber(@n)
1 n (tonumber(text(@a)) or @n)
1 n (function(@-n,...) @p return @n end@.)(@n,@a)
1 n #ARGV
1 n num(redis.pcall('INCR',KEYS[1]))
4 s @t
4 s @=s
2 s cut(@s .. @s)
2 s cut(@=s .. @n .. @|@=s)
1 s cut(@T .. @s .. @T)
1 s (@=s .. @T)
1 s text(@a)
1 s @=s:sub(@i,@i)
1 s (@s):upper()
1 s @=s:rep(2):sub(-9)
1 s cut(('%s|%d'):format(@s,@i))
1 s type(@a)
1 s ((@c) and @s or@|@s)
1 s cut(table.concat({@n,@s,@T},@T))
1 s ((@s):gsub('%d','%0x')):sub(1,20)
1 s tostring(@n)
3 l @=l
2 l {@v,@v}
2 l {@v}
1 l {}
2 l {@v,@|@n,@s}
1 l {@v,x=@a}
1 l {x=@a,@v,y=@g(@n),@v}
1 l {@n,['k' .. @T]=@a;@s}
1 l {@v,@v,(@g(@n,@a))}
1 l {@v;x=@g(@n,@a)}
4 f @=f
2 f many
1 f function() if over() then return 0 end return @n,@a end
1 f function(@-n,@-a) if over() then return 0 end @p return @n,@a end
1 f function(...) if over() then return 0 end return select('#',...),... end
1 f ((@c) and @f or @f)
4 g @=f
1 g many
1 g (@f)
4 v @n
2 v @s
1 v @l
1 k @N
1 k @t
1 k {@N}
4 a @=a
4 a @n
3 a @s
2 a @l
1 a @f
3 a nil
1 a true
1 a false
2 a @c
4 a (@a and @a)
4 a (@a or@|@a)
3 a @c and @a or @a
2 a @=a and @=a or @=a
2 a not @a
2 a @g(@n,@a)
1 a (@g(@n,@a))
1 a select(2,@g(@n,@a))
1 a (@l)[@i]
1 a ({@a,@a,@g(@n,@a)})[@i]
1 a ({x=@a,@g(@n,@a)}).x
1 a @=l.x
1 a T['x' .. @s]
1 a T.a
1 a ARGV[@i]
1 a KEYS[2]
1 a {@a,@a}
1 a {x=@a,@a}
1 a ((@s):find(@t,1,true))
1 a select(2,pcall(@f,@n))
1 a redis.call('GET',KEYS[1])
1 a (function(...) @p return @a,... end)(@a)
1 a (function(...) if ... then return ... end return @a end)(@a)
3 c @n<@n
2 c @n<=@n
2 c @n==@n
2 c @=n>@n
1 c @=n>=@n
2 c (@a)==(@a)
2 c (@a)~=(@a)
2 c @=a
1 c @s<@s
2 c not (@c)
2 c @c and @c
2 c @c or @|@c
1 c not @=a
3 N 0
4 N 1
3 N 2
2 N 3
1 N  -1
1 N 10
1 N 0.5
1 N 1e15
1 N 2^53
1 i 1
1 i 2
1 i 3
1 i  -1
1 i @=n%3
2 o +
2 o -
1 o %
2 t 'x'
2 t 'a'
1 t '5'
1 t ''
1 t 'x y'
4 T @t
1 T @N
1 yield coroutine.yield(@n,@a)
1 yield @=a=coroutine.yield(@a)
1 yield show(coroutine.yield(@s))
2 r @=a.x
1 r @=a.x.y
1 r @=a .. @T
1 r @T .. @=a .. @n
2 r @=a@o@=n
1 r @=l[1]@o@n
1 r @n@o@=a.x
1 r @=a.x*@=n+0
1 r @=n<@=a
1 r @=a<=@=n
1 r -@=l[1]
1 r #@=l[1]
1 r @=a(@n)
1 r @=a:add(@n)
1 r @=a.x(@n)
1 r @=l[1].x
1 r @=s@o@n
1 r @=a[@t]
1 r math.max(@a)
1 r (@s):sub(@a)
`

// luaPrelude is what programs have beside scriptPrelude.
const luaPrelude = `local L,T,calls={},{n=1,s='x',l={1,2},chunk='return ...'},0
local function over() calls=calls+1 return calls>30 end
local function many(...) if type((...))~='number' then return 0,... end return ... end
local function cut(s) return s:sub(1,30) end
local function num(v) return tonumber(v) or v and 7 or 4 end
local function text(v)
  local k=type(v)
  if k=='table' or k=='function' or k=='userdata' or k=='thread' then return k end
  return cut(tostring(v))
end
local show=function(...) if #out<100 then show(...) end end
T.f=many
`
