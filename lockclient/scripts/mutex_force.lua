-- Frees a lock, whoever holds it.
-- KEYS[1] the lock   KEYS[2] its channel
-- ARGV[1] message for waiters   ARGV[2] PUBLISH or SPUBLISH
-- Replies 1 when the lock was held, else 0.
if redis.call('del', KEYS[1]) == 1 then
  redis.call(ARGV[2], KEYS[2], ARGV[1])
  return 1
end
return 0
