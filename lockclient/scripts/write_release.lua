-- Gives back one hold of the write side. Repeating it with the same
-- latch changes nothing.
-- KEYS[1] the lock   KEYS[2] its channel   KEYS[3] the latch of this request
-- KEYS[4] prefix of all its timers
-- ARGV[1] message for waiters   ARGV[2] lease in milliseconds while still held
-- ARGV[3] owner on the write side   ARGV[4] PUBLISH or SPUBLISH
-- ARGV[5] TTL of the latch in milliseconds
-- Replies nil when the owner does not hold the write side, 0 when it still does,
-- 1 when it is free. If the owner reads on, the lock turns to read mode, lives as
-- long as the longest timer, and others are woken to read along: Redisson leaves it
-- the writer's lease, and them asleep.
local before = redis.call('get', KEYS[3])
if before ~= false then
  return tonumber(before)
end
local mode = redis.call('hget', KEYS[1], 'mode')
if mode == false then
  redis.call(ARGV[4], KEYS[2], ARGV[1])
  return nil
end
if mode ~= 'write' or redis.call('hexists', KEYS[1], ARGV[3]) == 0 then
  return nil
end
if redis.call('hincrby', KEYS[1], ARGV[3], -1) > 0 then
  if redis.call('pttl', KEYS[1]) < tonumber(ARGV[2]) then
    redis.call('pexpire', KEYS[1], ARGV[2])
  end
  redis.call('set', KEYS[3], 0, 'px', ARGV[5])
  return 0
end
redis.call('hdel', KEYS[1], ARGV[3])
if redis.call('hlen', KEYS[1]) == 1 then
  redis.call('del', KEYS[1])
else
  redis.call('hset', KEYS[1], 'mode', 'read')
  local longest = 0
  for _, owner in ipairs(redis.call('hkeys', KEYS[1])) do
    for hold = tonumber(redis.call('hget', KEYS[1], owner)) or 0, 1, -1 do
      local timer = KEYS[4] .. ':' .. owner .. ':rwlock_timeout:' .. hold
      longest = math.max(longest, redis.call('pttl', timer))
    end
  end
  if longest > 0 then
    redis.call('pexpire', KEYS[1], longest)
  end
end
redis.call(ARGV[4], KEYS[2], ARGV[1])
redis.call('set', KEYS[3], 1, 'px', ARGV[5])
return 1
