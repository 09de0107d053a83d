-- Counts a latch down; at zero it opens, and its key goes. Repeating it counts again.
-- KEYS[1] the latch: its count   KEYS[2] its channel
-- ARGV[1] the message that says it is open   ARGV[2] PUBLISH or SPUBLISH; Redisson
-- 3.16 sends none and publishes
-- Replies the count that is left, or -1 when there was no latch.
local left = redis.call('decr', KEYS[1])
if left <= 0 then
  redis.call('del', KEYS[1])
end
if left == 0 then
  redis.call(ARGV[2] or 'publish', KEYS[2], ARGV[1])
end
return left
