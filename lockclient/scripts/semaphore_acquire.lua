-- Takes permits, all or none. Repeating it with the same latch takes none.
-- KEYS[1] the semaphore: the number of free permits   KEYS[2] the latch of this request
-- ARGV[1] how many to take   ARGV[2] TTL of the latch in milliseconds
-- Replies how many were taken.
local before = redis.call('get', KEYS[2])
if before ~= false then
  return tonumber(before)
end
local free = redis.call('get', KEYS[1])
if free ~= false and tonumber(free) >= tonumber(ARGV[1]) then
  redis.call('set', KEYS[2], ARGV[1], 'px', ARGV[2])
  redis.call('decrby', KEYS[1], ARGV[1])
  return tonumber(ARGV[1])
end
return 0
