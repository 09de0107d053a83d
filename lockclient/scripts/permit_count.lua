-- Counts permits, after those that ended came back.
-- KEYS[1] the semaphore: the number of free permits   KEYS[2] its permits: a sorted
-- set of id to deadline in Unix milliseconds   KEYS[3] its channel
-- ARGV[1] now   ARGV[2] PUBLISH or SPUBLISH; Redisson 3.16 sends none and publishes
-- Replies {how many are free, how many are taken}.
local ended = redis.call('zremrangebyscore', KEYS[2], 0, ARGV[1])
if ended > 0 then
  local back = redis.call('incrby', KEYS[1], ended)
  if back > 0 then
    redis.call(ARGV[2] or 'publish', KEYS[3], back)
  end
end
local free = redis.call('get', KEYS[1])
return {tonumber(free or 0), redis.call('zcard', KEYS[2])}
