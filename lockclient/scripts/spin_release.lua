-- Gives back one hold and wakes nobody. Repeating it with the same latch changes
-- nothing.
-- KEYS[1] the lock   KEYS[2] the latch of this request
-- ARGV[1] lease in milliseconds while still held   ARGV[2] owner
-- ARGV[3] TTL of the latch in milliseconds
-- Replies nil when the owner does not hold the lock, 0 when it still does, 1 when
-- the lock is free.
local before = redis.call('get', KEYS[2])
if before ~= false then
  return tonumber(before)
end
if redis.call('hexists', KEYS[1], ARGV[2]) == 0 then
  return nil
end
local left = redis.call('hincrby', KEYS[1], ARGV[2], -1)
if left > 0 then
  redis.call('pexpire', KEYS[1], ARGV[1])
  redis.call('set', KEYS[2], 0, 'px', ARGV[3])
  return 0
end
redis.call('del', KEYS[1])
redis.call('set', KEYS[2], 1, 'px', ARGV[3])
return 1
