-- Gives back one hold of the read side, in the form of Redisson 3.16.
-- Repeating it counts again.
-- KEYS[1] the lock   KEYS[2] its channel   KEYS[3] prefix of the owner's timers
-- KEYS[4] prefix of all timers of the lock
-- ARGV[1] message for waiters   ARGV[2] owner
-- Replies nil when the owner does not hold the lock, 0 when somebody still does,
-- 1 when the lock is free. Readers without a running timer are gone and do not
-- count; the lock lives as long as the longest timer. In write mode it belongs to
-- the owner's write side, whose lease stays as it is.
local mode = redis.call('hget', KEYS[1], 'mode')
if mode == false then
  redis.call('publish', KEYS[2], ARGV[1])
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
if mode == 'write' then
  return 0
end
local longest = 0
for _, owner in ipairs(redis.call('hkeys', KEYS[1])) do
  for hold = tonumber(redis.call('hget', KEYS[1], owner)) or 0, 1, -1 do
    local timer = KEYS[4] .. ':' .. owner .. ':rwlock_timeout:' .. hold
    longest = math.max(longest, redis.call('pttl', timer))
  end
end
if longest > 0 then
  redis.call('pexpire', KEYS[1], longest)
  return 0
end
redis.call('del', KEYS[1])
redis.call('publish', KEYS[2], ARGV[1])
return 1
