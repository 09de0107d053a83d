-- Gives back one permit. Repeating it changes nothing.
-- KEYS[1] the semaphore: the number of free permits   KEYS[2] its channel
-- KEYS[3] its permits: a sorted set of id to deadline in Unix milliseconds
-- ARGV[1] id   ARGV[2] 1   ARGV[3] now   ARGV[4] PUBLISH or SPUBLISH; Redisson 3.16
-- sends neither of these two, publishes, and takes the deadline for not yet over
-- Replies 1 when given back, 0 when its lease had ended.
local deadline = redis.call('zscore', KEYS[3], ARGV[1])
if redis.call('zrem', KEYS[3], ARGV[1]) ~= 1 then
  return 0
end
local free = redis.call('incrby', KEYS[1], ARGV[2])
redis.call(ARGV[4] or 'publish', KEYS[2], free)
if ARGV[3] and tonumber(deadline) <= tonumber(ARGV[3]) then
  return 0
end
return 1
