-- Gives back permits that were taken, to a semaphore that still exists. Repeating it
-- with the same latch changes nothing but the TTL of that.
-- KEYS[1] the semaphore: the number of free permits   KEYS[2] its channel
-- KEYS[3] the latch of this request
-- ARGV[1] how many to give back   ARGV[2] TTL of the latch in milliseconds
-- ARGV[3] PUBLISH or SPUBLISH; Redisson 3.16 sends none and publishes
-- Replies 1 when given back, 0 when there is no such semaphore.
if redis.call('pexpire', KEYS[3], ARGV[2]) == 1 then
  return 1
end
if redis.call('exists', KEYS[1]) == 0 then
  return 0
end
redis.call('set', KEYS[3], 1, 'px', ARGV[2])
local free = redis.call('incrby', KEYS[1], ARGV[1])
redis.call(ARGV[3] or 'publish', KEYS[2], free)
return 1
