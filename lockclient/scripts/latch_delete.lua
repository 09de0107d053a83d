-- Deletes a latch, which does not open it.
-- KEYS[1] the latch: its count   KEYS[2] its channel
-- ARGV[1] the message that says so   ARGV[2] PUBLISH or SPUBLISH; Redisson 3.16 sends
-- none and publishes
-- Replies 1 when there was a latch, else 0.
if redis.call('del', KEYS[1]) == 1 then
  redis.call(ARGV[2] or 'publish', KEYS[2], ARGV[1])
  return 1
end
return 0
