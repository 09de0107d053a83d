-- Gives back one hold of the read side. Repeating it with the same
-- latch changes nothing.
-- KEYS[1] the lock   KEYS[2] its channel   KEYS[3] prefix of the owner's timers
-- KEYS[4] prefix of all timers of the lock   KEYS[5] the latch of this request
-- ARGV[1] message for waiters   ARGV[2] owner   ARGV[3] PUBLISH or SPUBLISH
-- ARGV[4] TTL of the latch in milliseconds
-- Replies nil when the owner does not hold the lock, 0 when somebody still does,
-- 1 when the lock is free. Readers without a running timer do not count; the lock
-- lives as long as the longest timer, also in write mode while one runs.
local before = redis.call('get', KEYS[5])
if before ~= false then
  return tonumber(before)
end
local mode = redis.call('hget', KEYS[1], 'mode')
if mode == false then
  redis.call(ARGV[3], KEYS[2], ARGV[1])
  redis.call('set', KEYS[5], 1, 'px', ARGV[4])
  return nil
end
if redis.call('hexists', KEYS[1], ARGV[2]) == 0 then
  return nil
end
local left = redis.call('hincrby', KEYS[1], ARGV[2], -1)
if left == 0 then
  redis.call('hdel', KEYS[1], ARGV[2])
end
redis.call('del', KEYS[3] .. ':' .. left + 1)
if redis.call('hlen', KEYS[1]) > 1 then
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
  if longest > 0 or mode == 'write' then
    redis.call('set', KEYS[5], 0, 'px', ARGV[4])
    return 0
  end
end
redis.call('del', KEYS[1])
redis.call(ARGV[3], KEYS[2], ARGV[1])
redis.call('set', KEYS[5], 1, 'px', ARGV[4])
return 1
