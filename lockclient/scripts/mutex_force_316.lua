-- Frees a lock, whoever holds it, in the form of Redisson 3.16.
-- KEYS[1] the lock   KEYS[2] its channel   ARGV[1] message for waiters
-- Replies 1 when the lock was held, else 0.
if redis.call('del', KEYS[1]) == 1 then
  redis.call('publish', KEYS[2], ARGV[1])
  return 1
end
return 0
