-- Replaces the lease of a lock.
-- KEYS[1] the lock   ARGV[1] lease in milliseconds   ARGV[2] owner
-- Replies 1 when the owner holds the lock, else 0.
if redis.call('hexists', KEYS[1], ARGV[2]) == 1 then
  redis.call('pexpire', KEYS[1], ARGV[1])
  return 1
end
return 0
