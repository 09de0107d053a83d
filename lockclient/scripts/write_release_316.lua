-- Gives back one hold of the write side, in the form of Redisson 3.16.
-- Repeating it counts again.
-- KEYS[1] the lock   KEYS[2] its channel
-- ARGV[1] message for waiters   ARGV[2] lease in milliseconds while still held
-- ARGV[3] owner on the write side
-- Replies nil when the owner does not hold the write side, 0 when it still does,
-- 1 when it is free. If the owner reads on, the lock turns to read mode, and
-- others are woken to read along: Redisson leaves them asleep.
local mode = redis.call('hget', KEYS[1], 'mode')
if mode == false then
  redis.call('publish', KEYS[2], ARGV[1])
  return nil
end
if mode ~= 'write' or redis.call('hexists', KEYS[1], ARGV[3]) == 0 then
  return nil
end
if redis.call('hincrby', KEYS[1], ARGV[3], -1) > 0 then
  if redis.call('pttl', KEYS[1]) < tonumber(ARGV[2]) then
    redis.call('pexpire', KEYS[1], ARGV[2])
  end
  return 0
end
redis.call('hdel', KEYS[1], ARGV[3])
if redis.call('hlen', KEYS[1]) == 1 then
  redis.call('del', KEYS[1])
else
  redis.call('hset', KEYS[1], 'mode', 'read')
end
redis.call('publish', KEYS[2], ARGV[1])
return 1
