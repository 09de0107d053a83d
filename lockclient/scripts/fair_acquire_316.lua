-- Takes a fair lock, takes it once more for its owner, or joins its queue,
-- in the form of Redisson 3.16.
-- KEYS[1] the lock: a hash of owner to hold count; with a mode, what owners read
-- KEYS[2] the queue: a list of owners
-- KEYS[3] the waiters' deadlines: a sorted set, in Unix milliseconds
-- ARGV[1] lease in milliseconds   ARGV[2] owner
-- ARGV[3] how many milliseconds longer than its predecessor's a place is kept
-- ARGV[4] now in Unix milliseconds, by the caller's clock
-- ARGV[5] again if the owner has the lock: one that is gone stays so; or the error that a
-- holder gets who asks again; else absent
-- Replies nil when taken, else the milliseconds until the predecessor's deadline
-- or, for the first in the queue, the lock's TTL as it was when joining, less the
-- time since then: it can be negative.

-- Waiters whose deadline is over are dead, and so are those without one.
while true do
  local head = redis.call('lindex', KEYS[2], 0)
  if head == false then
    break
  end
  local deadline = redis.call('zscore', KEYS[3], head)
  if deadline ~= false and tonumber(deadline) > tonumber(ARGV[4]) then
    break
  end
  redis.call('zrem', KEYS[3], head)
  redis.call('lpop', KEYS[2])
end

local again = ARGV[5] == 'again'
local head = redis.call('lindex', KEYS[2], 0)
if not again and redis.call('exists', KEYS[1]) == 0 and (head == false or head == ARGV[2]) then
  redis.call('lpop', KEYS[2])
  redis.call('zrem', KEYS[3], ARGV[2])
  for _, waiter in ipairs(redis.call('zrange', KEYS[3], 0, -1)) do
    redis.call('zincrby', KEYS[3], -tonumber(ARGV[3]), waiter)
  end
  redis.call('hset', KEYS[1], ARGV[2], 1)
  redis.call('pexpire', KEYS[1], ARGV[1])
  return nil
end
if redis.call('hexists', KEYS[1], ARGV[2]) == 1 and redis.call('hexists', KEYS[1], 'mode') == 0 then
  if ARGV[5] and not again then
    return redis.error_reply(ARGV[5])
  end
  redis.call('hincrby', KEYS[1], ARGV[2], 1)
  redis.call('pexpire', KEYS[1], ARGV[1])
  return nil
end
if again then
  return -2
end
local mine = redis.call('zscore', KEYS[3], ARGV[2])
if mine ~= false then
  -- Who asks again is alive: its deadline is at least that of one who joined just
  -- now, in its place.
  local ttl, keep = math.max(0, redis.call('pttl', KEYS[1])), tonumber(ARGV[3])
  local queue, place = redis.call('lrange', KEYS[2], 0, -1), 0
  for i, waiter in ipairs(queue) do
    if waiter == ARGV[2] then
      place = i
      break
    end
  end
  local deadline = ARGV[4] + ttl + place * keep
  if place > 1 then
    deadline = math.max(deadline, (redis.call('zscore', KEYS[3], queue[place - 1]) or 0) + keep)
  end
  if deadline > tonumber(mine) then
    redis.call('zadd', KEYS[3], deadline, ARGV[2])
  end
  return math.max(deadline, tonumber(mine)) - keep - ARGV[4]
end

local last, deadline = redis.call('lindex', KEYS[2], -1), false
if last ~= false and last ~= ARGV[2] then
  deadline = redis.call('zscore', KEYS[3], last)
end
local ttl
if deadline ~= false then
  ttl = tonumber(deadline) - tonumber(ARGV[4])
else
  ttl = redis.call('pttl', KEYS[1])
end
if redis.call('zadd', KEYS[3], ttl + tonumber(ARGV[3]) + tonumber(ARGV[4]), ARGV[2]) == 1 then
  redis.call('rpush', KEYS[2], ARGV[2])
end
return ttl
