-- Counts a latch down; at zero it opens, and its key goes. Repeating it as the same
-- request changes nothing but the TTL of its record.
-- KEYS[1] the latch: its count   KEYS[2] its channel   KEYS[3] the record of this request
-- ARGV[1] the message that says it is open   ARGV[2] TTL of the record in milliseconds
-- ARGV[3] PUBLISH or SPUBLISH; Redisson 3.16 sends none and publishes
-- Replies the count that is left, or -1 when there was no latch.
local before = redis.call('get', KEYS[3])
if before ~= false then
  redis.call('pexpire', KEYS[3], ARGV[2])
  return tonumber(before)
end
local left = redis.call('decr', KEYS[1])
redis.call('set', KEYS[3], left, 'px', ARGV[2])
if left <= 0 then
  redis.call('del', KEYS[1])
end
if left == 0 then
  redis.call(ARGV[3] or 'publish', KEYS[2], ARGV[1])
end
return left
