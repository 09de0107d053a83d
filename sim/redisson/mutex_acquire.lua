-- Takes a lock, or takes it once more for its owner, also where the owner reads in that hash.
-- KEYS[1] the lock: a hash of owner to hold count
-- ARGV[1] lease in milliseconds   ARGV[2] owner
-- Replies nil when taken, else the lock's remaining TTL in milliseconds, -1 when it
-- has none.
if redis.call('exists', KEYS[1]) == 0 or redis.call('hexists', KEYS[1], ARGV[2]) == 1 then
  redis.call('hincrby', KEYS[1], ARGV[2], 1)
  redis.call('pexpire', KEYS[1], ARGV[1])
  return nil
end
return redis.call('pttl', KEYS[1])
