-- Gives back what an acquisition has taken; one that is still on its way takes nothing.
-- KEYS[1] the semaphore: the number of free permits   KEYS[2] its channel
-- KEYS[3] the latch of the acquisition
-- ARGV[1] TTL of the latch in milliseconds   ARGV[2] PUBLISH or SPUBLISH; Redisson
-- 3.16 sends none and publishes
-- Replies how many were given back.
local taken = tonumber(redis.call('get', KEYS[3]) or 0)
redis.call('set', KEYS[3], 0, 'px', ARGV[1])
if taken == 0 or redis.call('exists', KEYS[1]) == 0 then
  return 0
end
local free = redis.call('incrby', KEYS[1], taken)
redis.call(ARGV[2] or 'publish', KEYS[2], free)
return taken
