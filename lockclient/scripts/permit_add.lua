-- Adds permits, or removes them when the number is negative.
-- KEYS[1] the semaphore: the number of free permits   KEYS[2] its channel
-- ARGV[1] how many to add   ARGV[2] PUBLISH or SPUBLISH; Redisson 3.16 sends none
-- and publishes
-- Replies how many are free.
local free = redis.call('incrby', KEYS[1], ARGV[1])
if tonumber(ARGV[1]) > 0 then
  redis.call(ARGV[2] or 'publish', KEYS[2], ARGV[1])
end
return free
