-- Takes all free permits.
-- KEYS[1] the semaphore: the number of free permits
-- Replies how many were taken.
local free = tonumber(redis.call('get', KEYS[1]) or 0)
if free <= 0 then
  return 0
end
redis.call('decrby', KEYS[1], free)
return free
