-- Gives back one hold, in the form of Redisson 3.16. Repeating it counts again.
-- KEYS[1] the lock   KEYS[2] its channel
-- ARGV[1] message for waiters   ARGV[2] lease in milliseconds while still held
-- ARGV[3] owner
-- Replies nil when the owner does not hold the lock, 0 when it still does, 1 when
-- the lock is free.
if redis.call('hexists', KEYS[1], ARGV[3]) == 0 then
  return nil
end
local left = redis.call('hincrby', KEYS[1], ARGV[3], -1)
if left > 0 then
  redis.call('pexpire', KEYS[1], ARGV[2])
  return 0
end
redis.call('del', KEYS[1])
redis.call('publish', KEYS[2], ARGV[1])
return 1
