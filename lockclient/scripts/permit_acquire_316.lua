-- Takes one permit with a lease, in the form of Redisson 3.16, after those that
-- ended came back.
-- KEYS[1] the semaphore: the number of free permits   KEYS[2] its permits: a sorted
-- set of id to deadline in Unix milliseconds   KEYS[3] its channel
-- ARGV[1] how many to take: 1   ARGV[2] deadline   ARGV[3] id, as text   ARGV[4] now
-- ARGV[5] the deadline that means none
-- Replies the id when taken; else the nearest deadline after a colon, or nil when
-- there is none.
local ended = redis.call('zrangebyscore', KEYS[2], 0, ARGV[4], 'limit', 0, ARGV[1])
if #ended > 0 then
  redis.call('zrem', KEYS[2], unpack(ended))
  local back = redis.call('incrby', KEYS[1], #ended)
  if back > 0 then
    redis.call('publish', KEYS[3], back)
  end
end
if redis.call('zscore', KEYS[2], ARGV[3]) ~= false then
  return ARGV[3]
end
local free = redis.call('get', KEYS[1])
if free ~= false and tonumber(free) >= tonumber(ARGV[1]) then
  redis.call('decrby', KEYS[1], ARGV[1])
  redis.call('zadd', KEYS[2], ARGV[2], ARGV[3])
  local ttl = redis.call('pttl', KEYS[1])
  if ttl > 0 then
    redis.call('pexpire', KEYS[2], ttl)
  end
  return ARGV[3]
end
local first = redis.call('zrange', KEYS[2], 0, 0, 'withscores')
if first[2] ~= nil and first[2] ~= ARGV[5] then
  return ':' .. first[2]
end
return nil
