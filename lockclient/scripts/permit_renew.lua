-- Renews the lease of a permit, after those that ended came back.
-- KEYS[1] the semaphore: the number of free permits   KEYS[2] its permits: a sorted
-- set of id to deadline in Unix milliseconds   KEYS[3] its channel
-- ARGV[1] id   ARGV[2] its new deadline   ARGV[3] now   ARGV[4] PUBLISH or SPUBLISH;
-- Redisson 3.16 sends none and publishes
-- Replies 1 when renewed, 0 when the lease had ended. A deadline that is later already
-- stays: a renewal that comes late must not take from one that was sent after it.
local ended = redis.call('zremrangebyscore', KEYS[2], 0, ARGV[3])
if ended > 0 then
  local back = redis.call('incrby', KEYS[1], ended)
  if back > 0 then
    redis.call(ARGV[4] or 'publish', KEYS[3], back)
  end
end
local deadline = redis.call('zscore', KEYS[2], ARGV[1])
if deadline == false then
  return 0
end
if tonumber(deadline) < tonumber(ARGV[2]) then
  redis.call('zadd', KEYS[2], ARGV[2], ARGV[1])
end
return 1
