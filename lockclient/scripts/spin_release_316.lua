-- Gives back one hold and wakes nobody, in the form of Redisson 3.16. Repeating it
-- counts again.
-- KEYS[1] the lock   ARGV[1] lease in milliseconds while still held   ARGV[2] owner
-- Replies nil when the owner does not hold the lock, 0 when it still does, 1 when
-- the lock is free.
if redis.call('hexists', KEYS[1], ARGV[2]) == 0 then
  return nil
end
local left = redis.call('hincrby', KEYS[1], ARGV[2], -1)
if left > 0 then
  redis.call('pexpire', KEYS[1], ARGV[1])
  return 0
end
redis.call('del', KEYS[1])
return 1
