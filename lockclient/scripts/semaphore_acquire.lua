-- Takes permits, all or none.
-- KEYS[1] the semaphore: the number of free permits   ARGV[1] how many to take
-- Replies 1 when taken, else 0.
local free = redis.call('get', KEYS[1])
if free ~= false and tonumber(free) >= tonumber(ARGV[1]) then
  redis.call('decrby', KEYS[1], ARGV[1])
  return 1
end
return 0
