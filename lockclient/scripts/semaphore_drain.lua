-- Takes all free permits. Repeating it with the same latch takes none.
-- KEYS[1] the semaphore: the number of free permits   KEYS[2] the latch of this request
-- ARGV[1] TTL of the latch in milliseconds
-- Replies how many were taken.
local before = redis.call('get', KEYS[2])
if before ~= false then
  return tonumber(before)
end
local free = tonumber(redis.call('get', KEYS[1]) or 0)
if free <= 0 then
  return 0
end
redis.call('set', KEYS[2], free, 'px', ARGV[1])
redis.call('decrby', KEYS[1], free)
return free
