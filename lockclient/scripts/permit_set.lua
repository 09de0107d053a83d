-- Sets how many permits there are, free and taken together. When more are taken
-- than that, the free ones are below zero. A TTL of the semaphore stays.
-- KEYS[1] the semaphore: the number of free permits   KEYS[2] its permits: a sorted
-- set of id to deadline in Unix milliseconds   KEYS[3] its channel
-- ARGV[1] how many permits   ARGV[2] PUBLISH or SPUBLISH; Redisson 3.16 sends none
-- and publishes
-- Replies how many are free.
local more = ARGV[1] - redis.call('zcard', KEYS[2]) - (redis.call('get', KEYS[1]) or 0)
local free = redis.call('incrby', KEYS[1], more)
redis.call(ARGV[2] or 'publish', KEYS[3], ARGV[1])
return free
