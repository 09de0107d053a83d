-- Gives back permits that were taken, to a semaphore that still exists.
-- KEYS[1] the semaphore: the number of free permits   KEYS[2] its channel
-- ARGV[1] how many to give back   ARGV[2] PUBLISH or SPUBLISH; Redisson 3.16 sends
-- none and publishes
-- Replies 1 when given back, 0 when there is no such semaphore.
if redis.call('exists', KEYS[1]) == 0 then
  return 0
end
local free = redis.call('incrby', KEYS[1], ARGV[1])
redis.call(ARGV[2] or 'publish', KEYS[2], free)
return 1
