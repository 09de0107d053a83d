-- Gives back one hold of a fair lock and wakes the head of the queue, in the form
-- of Redisson 3.16. Repeating it counts again.
-- KEYS[1] the lock   KEYS[2] the queue   KEYS[3] the waiters' deadlines
-- KEYS[4] the lock's channel: a waiter's own is that, a colon and the owner
-- ARGV[1] message for the waiter   ARGV[2] lease in milliseconds while still held
-- ARGV[3] owner   ARGV[4] now in Unix milliseconds, by the caller's clock
-- ARGV[5] by how many milliseconds the others' deadlines move up if the owner does not hold the
-- lock and has a place in the queue, which goes; absent: its place stays
-- Replies nil when the owner does not hold the lock, 0 when it still does, 1 when
-- the lock is free. Of a lock that has vanished it wakes the head, too.

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

-- The owner left the queue when it took the lock, but a failover may have lost both: its
-- place is back then, and those behind it would wait for nobody. They move up.
local function leave()
  if not ARGV[5] then
    return
  end
  local passed = false
  for _, waiter in ipairs(redis.call('lrange', KEYS[2], 0, -1)) do
    if passed then
      redis.call('zincrby', KEYS[3], -tonumber(ARGV[5]), waiter)
    end
    passed = passed or waiter == ARGV[3]
  end
  redis.call('zrem', KEYS[3], ARGV[3])
  redis.call('lrem', KEYS[2], 0, ARGV[3])
end

local function wake()
  local head = redis.call('lindex', KEYS[2], 0)
  if head ~= false then
    redis.call('publish', KEYS[4] .. ':' .. head, ARGV[1])
  end
end

if redis.call('exists', KEYS[1]) == 0 then
  leave()
  wake()
  return nil
end
if redis.call('hexists', KEYS[1], ARGV[3]) == 0 then
  leave()
  return nil
end
local left = redis.call('hincrby', KEYS[1], ARGV[3], -1)
if left > 0 then
  redis.call('pexpire', KEYS[1], ARGV[2])
  return 0
end
redis.call('del', KEYS[1])
wake()
return 1
