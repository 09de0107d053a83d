-- Sets the count of a latch that has none.
-- KEYS[1] the latch: its count   KEYS[2] its channel
-- ARGV[1] the message that says so   ARGV[2] the count   ARGV[3] PUBLISH or SPUBLISH;
-- Redisson 3.16 sends none and publishes
-- Replies 1 when set, else 0.
if redis.call('exists', KEYS[1]) == 1 then
  return 0
end
redis.call('set', KEYS[1], ARGV[2])
redis.call(ARGV[3] or 'publish', KEYS[2], ARGV[1])
return 1
